"""Writes the starting files of the GGUF fuzzer: tests/fuzz/corpus/gguf, some tens to hundreds of bytes each."""
import pathlib
import struct

ROOT = pathlib.Path(__file__).resolve().parent / "corpus/gguf"
U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, LIST, U64, I64, F64 = range(13)
PACK = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
BLOCKS = {2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 10: (256, 84), 11: (256, 110), 12: (256, 144),
          13: (256, 176), 14: (256, 210), 20: (32, 18), 23: (256, 136), 39: (32, 17), 40: (64, 36)}


def number(kind, value):
    return struct.pack("<" + PACK[kind], value)


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data)) + data


def value(kind, v):
    if kind == TEXT:
        return text(v)
    if kind == LIST:
        of, items = v
        return struct.pack("<IQ", of, len(items)) + b"".join(value(of, i) for i in items)
    return number(kind, v)


def gguf(keys=(), tensors=(), data=0, version=3, align=32):
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys))
    for name, kind, v in keys:
        out += text(name) + struct.pack("<I", kind) + value(kind, v)
    for name, dims, kind, offset in tensors:
        out += text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims)
        out += struct.pack("<IQ", kind, offset)
    return out + bytes(-len(out) % align) + bytes(i & 255 for i in range(data))


def main():
    ROOT.mkdir(parents=True, exist_ok=True)
    for old in ROOT.iterdir():
        old.unlink()
    scalars = [(PACK[k] + str(k), k, 1) for k in PACK] + [("t", TEXT, "ü")]
    lists = [("l" + str(k), LIST, (k, [1, 0, 1])) for k in PACK] + [("lt", LIST, (TEXT, ["a", "", "猫"]))]
    files = {
        "empty": gguf(), "version2": gguf(version=2), "version1": gguf(version=1), "big_endian": gguf(version=3 << 24),
        "scalars": gguf(scalars), "lists": gguf(lists), "one": gguf((), [("a", [4], 0, 0)], 16),
        "two": gguf((), [("a", [4], 0, 32), ("b", [2, 3], 1, 0)], 48), "scalar": gguf((), [("a", [], 0, 0)], 4),
        "five": gguf((), [("a", [1, 2, 1, 2, 1], 1, 0)], 8), "six": gguf((), [("a", [1] * 6, 1, 0)], 8),
        "zero": gguf((), [("a", [0, 5], 0, 0)], 0), "align1": gguf([("general.alignment", U32, 1)], [("a", [3], 24, 0)], 3, align=1),
        "align64": gguf([("general.alignment", U32, 64)], [("a", [3], 24, 0), ("b", [3], 24, 64)], 67, align=64),
        "align3": gguf([("general.alignment", U32, 3)]), "align_text": gguf([("general.alignment", TEXT, "32")]),
        "shape": gguf([("comfy.gguf.orig_shape.a", LIST, (I32, [16, 4, 2, 2]))], [("a", [256], 12, 0)], 144),
        "shape_wrong": gguf([("comfy.gguf.orig_shape.a", LIST, (I32, [16, -1]))], [("a", [16], 0, 0)], 64),
        "future": gguf((), [("a", [64], 99, 0), ("b", [4], 0, 128)], 144), "known": gguf((), [("a", [3], 27, 0)], 24),
        "overlap": gguf((), [("a", [16], 0, 0), ("b", [16], 0, 32)], 96), "gap": gguf((), [("a", [4], 0, 64)], 80),
        "cut": gguf((), [("a", [4], 0, 0)], 15), "longer": gguf((), [("a", [4], 0, 0)], 60),
        "row320": gguf((), [("a", [320], 12, 0)], 180), "key_twice": gguf([("k", U8, 1), ("k", U8, 2)]),
        "name_twice": gguf((), [("a", [1], 0, 0), ("a", [1], 0, 32)], 36), "bool2": gguf([("k", BOOL, 2)]),
        "nested": gguf([("k", LIST, (LIST, []))]), "picture": b"\x89PNG\r\n\x1a\n", "nothing": b"",
    }
    for kind, (block, size) in BLOCKS.items():
        files[f"type{kind}"] = gguf((), [("a", [block], kind, 0)], size)
    for name, data in files.items():
        (ROOT / name).write_bytes(data)


if __name__ == "__main__":
    main()
