"""Writes tests/golden/tokenizer (and, with --clip FILE.gz, models/clip-vocab from OpenAI's merge list) with transformers' CLIPTokenizerFast."""
import argparse
import gzip
import hashlib
import json
import pathlib
import tempfile
import unicodedata

from tokenizers import Regex, normalizers
from transformers import CLIPTokenizer, CLIPTokenizerFast

from tokenizer_strings import strings

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/tokenizer"


def byte_symbols():
    """The 256 characters that stand for bytes, in the order of the vocabulary: printable ones first."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in kept]
    return [chr(b) for b in kept] + [chr(256 + k) for k in range(len(rest))]


def write_clip_merges(path):
    lines = gzip.open(path).read().decode("utf-8").split("\n")[1:49152 - 256 - 2 + 1]
    out = ROOT / "models/clip-vocab"
    out.mkdir(parents=True, exist_ok=True)
    data = ("#version: 0.2\n" + "".join(line + "\n" for line in lines)).encode("utf-8")
    (out / "merges.txt").write_bytes(data)
    (out / "SHA256SUMS").write_text(f"{hashlib.sha256(data).hexdigest()}  merges.txt\n")


def clip_folder(target):
    """A Hugging Face tokenizer folder from models/clip-vocab alone."""
    merges = (ROOT / "models/clip-vocab/merges.txt").read_text(encoding="utf-8")
    base = byte_symbols()
    tokens = base + [c + "</w>" for c in base] + ["".join(m.split(" ")) for m in merges.split("\n")[1:] if m] + ["<|startoftext|>", "<|endoftext|>"]
    assert len(tokens) == len(set(tokens)) == 49408
    (target / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}), encoding="utf-8")
    (target / "merges.txt").write_text(merges, encoding="utf-8")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        (target / name).write_text((ROOT / "models/tiny/tokenizer" / name).read_text())
    return target


def encode(folder, name):
    fast, slow = CLIPTokenizerFast.from_pretrained(folder), CLIPTokenizer.from_pretrained(folder)
    rows, differ = [], []
    for text in strings():
        ids = fast(text, add_special_tokens=False).input_ids
        if slow(text, add_special_tokens=False).input_ids != ids:
            differ.append(text)
        rows.append(json.dumps({"text": text, "ids": ids}))
    (OUT / f"{name}.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")
    print(name, len(rows), "strings; the slow tokenizer differs on", len(differ))
    return fast, differ


def ranges(values):
    """[[first, last, value], ...] of equal neighbours, without those of value None."""
    out = []
    for cp, v in values:
        if out and out[-1][2] == v and out[-1][1] == cp - 1:
            out[-1][1] = cp
        else:
            out.append([cp, cp, v])
    return [[f"{a:04X}", f"{b:04X}", v] for a, b, v in out if v is not None]


def matching(pattern, points):
    """The code points that the tokenizer's own regular expression engine says match."""
    found = set()
    for at in range(0, len(points), 4096):
        text = "".join("\x01" if cp == 0 else chr(cp) for cp in points[at:at + 4096])
        position = 0
        for piece in normalizers.Replace(Regex(pattern), "\x00").normalize_str(text).split("\x00")[:-1]:
            position += len(piece)
            found.add(points[at + position])
            position += 1
    return found


def mapped(normalizer, points):
    """The code points that a normalizer changes: {hex: "hex hex"}."""
    out = {}
    for cp in points:
        new = normalizer.normalize_str(chr(cp))
        if new != chr(cp):
            out[f"{cp:04X}"] = " ".join(f"{ord(c):04X}" for c in new)
    return out


def unicode_tables():
    """What the tokenizer's regular expressions, lower-casing and normal forms say of every code point."""
    points = [cp for cp in range(0x110000) if not 0xD800 <= cp < 0xE000]
    kind = {cp: k for k, pattern in (("L", r"\p{L}"), ("N", r"\p{N}"), ("S", r"\s")) for cp in matching(pattern, points)}
    plain = [cp for cp in points if not 0xAC00 <= cp < 0xD7A4]                     # Hangul syllables go by rule
    tables = {"classes": ranges((cp, kind.get(cp)) for cp in points), "lower": mapped(normalizers.Lowercase(), points),
              "nfd": mapped(normalizers.NFD(), plain), "nfc": mapped(normalizers.NFC(), points),
              "ccc": ranges((cp, unicodedata.combining(chr(cp)) or None) for cp in points)}
    rows = [f'"{name}": {json.dumps(table, separators=(",", ":"))}' for name, table in tables.items()]
    (OUT / "unicode.json").write_text("{" + ",\n".join(rows) + "}\n")
    print({name: len(table) for name, table in tables.items()})
    nfc = normalizers.NFC()
    print("NFC differs from Python's on", [t for t in strings() if nfc.normalize_str(t) != unicodedata.normalize("NFC", t)])


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--clip", help="bpe_simple_vocab_16e6.txt.gz, from the Python package open_clip_torch 3.3.0")
    args = args.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    if args.clip:
        write_clip_merges(args.clip)
    _, a = encode(ROOT / "models/tiny/tokenizer", "tiny")
    with tempfile.TemporaryDirectory() as folder:
        _, b = encode(clip_folder(pathlib.Path(folder)), "clip")
    (OUT / "slow_differs.json").write_text("[\n" + ",\n".join(json.dumps(t) for t in dict.fromkeys(a + b)) + "\n]\n")
    unicode_tables()


if __name__ == "__main__":
    main()
