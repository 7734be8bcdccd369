"""Writes the starting files of the fuzzers: tests/fuzz/corpus/{safetensors,json_config,qwen_tokenizer}, small and readable.

The safetensors fuzzer also reads its input as two bytes (the length of the data) and the JSON of a header; those files
are named json_*.
"""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent / "corpus"


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def one(dtype="F32", shape=(1,), begin=0, end=4):
    return {"a": tensor(dtype, list(shape), begin, end)}


HEADERS = {
    "empty": ({}, 0),
    "one": (one(), 4),
    "two": ({"a": tensor("F32", [2, 2], 0, 16), "b": tensor("F16", [3], 16, 22)}, 22),
    "metadata": ({"__metadata__": {"format": "pt", "ü": "\"\\\n\u0001"}, **one()}, 4),
    "metadata_null": ({"__metadata__": None}, 0),
    "metadata_number": ({"__metadata__": {"k": 1}}, 0),
    "scalar": (one(shape=()), 4),
    "zero": (one(shape=(0, 4), end=0), 0),
    "rank6": (one("I8", (1, 2, 1, 2, 1, 1)), 4),
    "rank7": (one("I8", (1, 2, 1, 2, 1, 1, 1)), 4),
    "rank33": (one("I8", (1,) * 33, end=1), 1),
    "all_dtypes": ({
        "f32": tensor("F32", [1], 0, 4), "f16": tensor("F16", [1], 4, 6), "bf16": tensor("BF16", [1], 6, 8),
        "e4": tensor("F8_E4M3", [1], 8, 9), "e5": tensor("F8_E5M2", [1], 9, 10), "i8": tensor("I8", [1], 10, 11),
        "i32": tensor("I32", [1], 11, 15), "f64": tensor("F64", [1], 15, 23), "i64": tensor("I64", [1], 23, 31),
        "u8": tensor("U8", [1], 31, 32), "bool": tensor("BOOL", [1], 32, 33), "f4": tensor("F4", [2], 33, 34),
        "c64": tensor("C64", [1], 34, 42), "odd": tensor("F6_E9", [1], 42, 43)}, 43),
    "gap": ({"a": tensor("F32", [1], 0, 4), "b": tensor("F32", [1], 12, 16)}, 16),
    "overlap": ({"a": tensor("F32", [16], 0, 64), "b": tensor("F32", [16], 32, 96)}, 96),
    "reversed": (one(shape=(16,), begin=64, end=0), 64),
    "too_large": (one(shape=(1000, 1000)), 4),
    "overflow": (one(shape=(2**32, 2**32)), 4),
    "offset_2_63": (one("F6_E9", begin=2**63, end=2**63 + 4), 4),
    "offset_2_64": (one(end=2**64), 4),
    "negative": (one(begin=-4, end=0), 4),
    "fraction": (one(shape=(1.5,)), 4),
    "one_offset": ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}, 4),
    "three_offsets": ({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4, 4]}}, 4),
    "no_shape": ({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, 4),
    "unknown_field": ({"a": {"dtype": "F32", "shape": [1], "sparse": {}, "data_offsets": [0, 4]}}, 4),
    "cut": (one(shape=(16,), end=64), 63),
    "long": (one(), 5),
    "list": ({"a": [0, 4]}, 4),
}
RAW_HEADERS = {
    "twice": ('{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}', 0),
    "field_twice": ('{"a":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}}', 0),
    "padded": ("{}      ", 0),
    "nul": ("{}\0junk", 0),
    "not_json": ('{"a" 1}', 0),
}
CONFIGS = {
    "unet": '{"_class_name":"UNet2DConditionModel","act_fn":"silu","attention_head_dim":8,"block_out_channels":[128,192],'
            '"center_input_sample":false,"norm_eps":1e-05,"down_block_types":["DownBlock2D","CrossAttnDownBlock2D"]}',
    "index": '{"_class_name":"P","safety_checker":[null,null],"unet":["diffusers","UNet2DConditionModel"]}',
    "nested": '{"a":{"b":{"c":[1,2,{"d":null}]}},"a.b":1}',
    "numbers": '{"a":18446744073709551615,"b":-9223372036854775808,"c":1e308,"d":-0.0,"e":2.0,"f":18446744073709551616}',
    "texts": '{"\\u00fc\\ud83c\\udfa8":"\\b\\f\\n\\r\\t\\"\\\\\\/\\u0000","":"ü猫🎨"}',
    "mixed_lists": '{"a":[1,"x",null,true,1.5,[]],"b":[],"c":[true],"d":["x",null]}',
    "shards": '{"metadata":{"total_size":8},"weight_map":{"a":"s-1.safetensors","b":"s-2.safetensors"}}',
    "twice": '{"a":1,"a":2}',
    "twice_escaped": '{"x":[{"a":1,"\\u0061":2}]}',
    "deep": '{"a":' * 63 + "{}" + "}" * 63,
    "too_deep": '{"a":' + "[" * 80,
    "list": "[]",
    "trailing_comma": '{"a":1,}',
    "nan": '{"a":NaN}',
    "too_large_number": '{"a":1e999}',
    "two_values": "{} {}",
    "nul": "{}\0x",
    "bom": "\ufeff{}",
    "html": "<html></html>",
    "lfs": "version https://git-lfs.github.com/spec/v1\n",
}

QWEN_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN_TEXTS = {
    "words": "don't THEY'RE x'lL a'\u017fb ..a _b\tc 12٣½",
    "spaces": "a \n \n  b   1\r\n\r\n ?!\r\n\n \u3000\u2028\n\u0085",
    "added": "<|im_start|>user\nhi<|im_end|><think>\n</think><|im_end|\u226f <<|im_end|>>",
    "scripts": "猫 é e\u0301 한 م क\u093c กำ 👩\u200d👩\u200d👧 \u0315\u0323\u0300",
}


def qwen_files():
    """A whole tokenizer.json in few bytes: the byte symbols, two rules, the tokens that templates need; and its faults."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    tokens = [chr(b) for b in kept] + [chr(256 + i) for i in range(256 - len(kept))] + ["ab", "abc"]
    def whole(**changes):
        model = {"type": "BPE", "vocab": {t: i for i, t in enumerate(tokens)}, "merges": changes.pop("merges", ["a b", ["ab", "c"]])}
        words = {"type": "Split", "pattern": {"Regex": QWEN_PATTERN}, "behavior": "Isolated", "invert": False}
        root = {"added_tokens": [{"id": 258 + i, "content": c} for i, c in enumerate(("<|endoftext|>", "<|im_start|>", "<|im_end|>"))],
                "normalizer": {"type": "NFC"}, "model": model,
                "pre_tokenizer": {"type": "Sequence", "pretokenizers": [words, {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}]}}
        return json.dumps(root | changes, separators=(",", ":"), ensure_ascii=False)
    added = lambda **more: [{"id": 258 + i, "content": c} for i, c in enumerate(("<|endoftext|>", "<|im_start|>", "<|im_end|>"))] + [{"id": 261, "content": "é"} | more]
    return {"whole": whole(), "merge_twice": whole(merges=["a b", "a b"]), "merge_number": whole(merges=[1]), "merge_unknown": whole(merges=["x y"]), "merge_missing": whole(merges=["a b"]),
            "normalized": whole(added_tokens=added(normalized=True)), "lstrip": whole(added_tokens=added(lstrip=True)), "added_far": whole(added_tokens=added(id=99999)),
            "added_taken": whole(added_tokens=added(id=7)), "added_none": whole(added_tokens=[]), "normalizer": whole(normalizer=None), "post": whole(post_processor={"type": "TemplateProcessing"}),
            "words_only": json.dumps({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}), "wordpiece": json.dumps({"model": {"type": "WordPiece"}})}


def main():
    safetensors, configs, qwen = ROOT / "safetensors", ROOT / "json_config", ROOT / "qwen_tokenizer"
    for folder in (safetensors, configs, qwen):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
    texts = {name: (json.dumps(header, separators=(",", ":"), ensure_ascii=False), size)
             for name, (header, size) in HEADERS.items()} | RAW_HEADERS
    for name, (text, size) in texts.items():
        header = text.encode()
        (safetensors / f"json_{name}").write_bytes(size.to_bytes(2, "little") + header)
        if name in ("one", "two", "all_dtypes", "cut", "padded"):
            (safetensors / name).write_bytes(len(header).to_bytes(8, "little") + header + bytes(size))
    for name, data in {"gguf": b"GGUF\3\0\0\0", "zip": b"PK\3\4", "pickle": b"\x80\2}q", "html": b"<!DOCTYPE html>",
                       "png": b"\x89PNG\r\n\x1a\n", "length_2_63": bytes(7) + b"\x80{}", "nothing": b""}.items():
        (safetensors / name).write_bytes(data)
    for name, text in CONFIGS.items():
        (configs / name).write_bytes(text.encode())
    for name, text in (QWEN_TEXTS | {f"json_{name}": text for name, text in qwen_files().items()}).items():
        (qwen / name).write_bytes(text.encode())


if __name__ == "__main__":
    main()
