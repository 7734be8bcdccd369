"""Writes tests/golden/tokenizer/qwen with transformers' Qwen2TokenizerFast, or the same layout for the published vocabulary.

--train makes a small vocabulary of the strings and the project's pages; without it the one that is there is used.
--tiktoken FILE --out DIR --random N does it for the published vocabulary: qwen.tiktoken of the Python package dashscope 2.0.2 holds its 151,643 ranks.
CHIARO_QWEN_GOLDEN=DIR test_text --gtest_filter='QwenGolden*' then compares (see the README beside the golden files).
"""
import argparse
import ast
import base64
import importlib.util
import json
import pathlib
import tempfile

import gguf
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import AddedToken, Qwen2Tokenizer, Qwen2TokenizerFast

from qwen_tokenizer_strings import ADDED, strings
from tokenizer_golden import byte_symbols

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/tokenizer/qwen"
NOT_SPECIAL = {a for a in ADDED if "fim" in a or not a.startswith("<|")} | {"<|repo_name|>", "<|file_sep|>"}
UNUSED_ROWS = 8  # published embedding tables have rows without a token
# Of Qwen3's chat template the parts that one message of a user meets.
CHAT = ("{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
        "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}{% endif %}")


def split_of_pieces():
    """The pattern of transformers' own converter, kept as it is."""
    source = (pathlib.Path(importlib.util.find_spec("transformers").origin).parent / "models/qwen2/tokenization_qwen2.py").read_text()
    pattern = next(ast.literal_eval(n.value) for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Assign) and n.targets[0].id == "PRETOKENIZE_REGEX")
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), behavior="isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train(merges):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.NFC(), split_of_pieces()
    texts = strings() * 2 + [p.read_text() for p in sorted(ROOT.glob("docs/**/*.md"))] + [(ROOT / "README.md").read_text()]
    trainer = trainers.BpeTrainer(vocab_size=256 + merges, min_frequency=2, initial_alphabet=byte_symbols(), special_tokens=[], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(m) for m in model["merges"]]


def of_tiktoken(path):
    """Ranks of whole tokens as merges of pairs: each token's own merging, stopped before its last step."""
    ranks = {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in open(path, "rb"))}
    symbols = dict(zip([*range(33, 127), *range(161, 173), *range(174, 256), *[b for b in range(256) if not (33 <= b <= 126 or 161 <= b <= 172 or b >= 174)]], byte_symbols()))
    spell = lambda data: "".join(symbols[b] for b in data)
    merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            at = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], rank))
            assert ranks.get(parts[at] + parts[at + 1], rank) < rank
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            merges.append((spell(parts[0]), spell(parts[1])))
    return {spell(token): rank for token, rank in ranks.items()}, merges


def write_folder(out, vocab, merges):
    """The slow layout as transformers saves it, the fast one, and a GGUF file as llama.cpp's converter fills it."""
    slow, fast = out / "slow", out / "fast"
    for folder in (slow, fast):
        folder.mkdir(parents=True, exist_ok=True)
    (slow / "vocab.json").write_text(json.dumps(vocab, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
    (slow / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")
    added = {len(vocab) + i: AddedToken(a, special=a not in NOT_SPECIAL, normalized=False) for i, a in enumerate(ADDED)}
    made = Qwen2TokenizerFast(str(slow / "vocab.json"), str(slow / "merges.txt"), added_tokens_decoder=added)
    with tempfile.TemporaryDirectory() as saved:
        made.save_pretrained(saved)
        config = json.loads((pathlib.Path(saved) / "tokenizer_config.json").read_text())
        whole = json.loads((pathlib.Path(saved) / "tokenizer.json").read_text())
    config["tokenizer_class"] = "Qwen2Tokenizer"
    (slow / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
    (slow / "added_tokens.json").write_text(json.dumps({a.content: i for i, a in added.items()}, indent=1) + "\n")
    (fast / "tokenizer.json").write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")

    writer = gguf.GGUFWriter(str(out / "vocab.gguf"), "qwen3")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    by_id = sorted(vocab, key=vocab.get) + [a.content for a in added.values()] + [f"[PAD{len(vocab) + len(ADDED) + i}]" for i in range(UNUSED_ROWS)]
    kinds = gguf.TokenType
    writer.add_token_list(by_id)
    writer.add_token_types([kinds.NORMAL] * len(vocab) + [kinds.USER_DEFINED if a in NOT_SPECIAL else kinds.CONTROL for a in ADDED] + [kinds.UNUSED] * UNUSED_ROWS)
    writer.add_token_merges([f"{a} {b}" for a, b in merges])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return Qwen2TokenizerFast.from_pretrained(fast), Qwen2Tokenizer.from_pretrained(slow)


def qwen_image_constants():
    """The template, the length of its dropped prefix and the limits, read out of diffusers' own source."""
    source = pathlib.Path(importlib.util.find_spec("diffusers").submodule_search_locations[0]) / "pipelines/qwenimage/pipeline_qwenimage.py"
    found = {n.targets[0].attr: n.value for n in ast.walk(ast.parse(source.read_text())) if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Attribute)}
    return [ast.literal_eval(found[name]) for name in ("prompt_template_encode", "prompt_template_encode_start_idx", "tokenizer_max_length")]


def write_prompts(out, fast, published):
    template, start, longest = qwen_image_constants()
    prefix = template.split("{}")[0]
    drop = len(fast(prefix).input_ids)
    assert not published or drop == start, (drop, start)
    prompts = ["", "a cat", " a cat ", "\n\na cat", "ein Bär, «été»\n", "x<|im_end|>y", "(a:1.2) [b], <lora:x:1> {}", "猫😀\u0301", "<|endoftext|>" * 3, "word " * 600, "ab " * 1500, "\u0301e"]
    rows = []
    for prompt in prompts:
        chat = fast.apply_chat_template([{"role": "user", "content": prompt}], chat_template=CHAT, tokenize=False, add_generation_prompt=True, enable_thinking=True)
        image = template.format(prompt)
        rows.append({"prompt": prompt, "zimage": fast(chat, max_length=512, truncation=True).input_ids,
                     "qwen_image": fast(image, max_length=longest + drop, truncation=True).input_ids, "zimage_text": chat if len(chat) < 200 else None})
    (out / "prompts.json").write_text(json.dumps({"drop": drop, "reference_drop": start, "rows": rows}, separators=(",", ":")).replace("},{", "},\n{") + "\n")


def write_ids(out, fast, slow, random_count):
    rows, differ = [], []
    for text in strings(random_count):
        ids = fast(text).input_ids
        if slow(text).input_ids != ids:
            differ.append(text)
        rows.append(json.dumps({"text": text, "ids": ids}, separators=(",", ":")))
    (out / "ids.json").write_text("[\n" + ",\n".join(rows) + "\n]\n")
    print(len(rows), "strings; the slow tokenizer differs on", len(differ), [d[:40] for d in differ[:20]])


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--train", type=int, metavar="MERGES")
    args.add_argument("--tiktoken")
    args.add_argument("--out", type=pathlib.Path, default=OUT)
    args.add_argument("--random", type=int, default=300)
    args = args.parse_args()
    assert not args.tiktoken or args.out != OUT
    if args.tiktoken:
        vocab, merges = of_tiktoken(args.tiktoken)
    elif args.train:
        vocab, merges = train(args.train)
    else:
        vocab = json.loads((args.out / "slow/vocab.json").read_text())
        merges = [tuple(line.split(" ")) for line in (args.out / "slow/merges.txt").read_text().split("\n")[1:] if line]
    fast, slow = write_folder(args.out, vocab, merges)
    print(len(vocab), "tokens,", len(merges), "merges,", len(fast), "with the added ones")
    write_ids(args.out, fast, slow, args.random)
    write_prompts(args.out, fast, bool(args.tiktoken))


if __name__ == "__main__":
    main()
