"""GGUF files written by the reference package: tests/golden/gguf/. Needs numpy and gguf==0.19.0.

  gguf_goldens.py           writes the files anew
  gguf_goldens.py --check   reads what the engine's own writer made (written.gguf, see tests/weights/gguf_write_test.cpp)
                            with the reference package, and compares every key and number with the formulas

Contents come from formulas (tests/golden/README.md), so that tests can rebuild them: a plain tensor holds the values of
its name with scale 1 and offset 0, a block tensor the bytes (value + 1) * 128 of its name.
"""
import math
import pathlib
import sys

import formula
import gguf
import numpy as np

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/gguf"
BLOCKS = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4",
          "NVFP4")
TYPE = gguf.GGMLQuantizationType
WORDS = ["<unk>", "▁the", "猫", "", "a\0b", "Ġhello", "é", "<|endoftext|>", "x" * 300]


def plain(name, shape):
    return formula.values(name, shape, 1.0, 0.0)


def blocks(name, qtype, shape):
    block, size = gguf.GGML_QUANT_SIZES[qtype]
    assert shape[-1] % block == 0
    values = plain(name, [math.prod(shape) // block * size]).astype(np.float64)
    return ((values + 1.0) * 128.0).astype(np.uint8).reshape(*shape[:-1], shape[-1] // block * size)


def writer(name, arch="test"):
    return gguf.GGUFWriter(OUT / name, arch)


def finish(w):
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def types():
    w = writer("types.gguf")
    w.add_tensor("f32", plain("f32", [3, 5]))
    w.add_tensor("f16", plain("f16", [2, 3, 4]).astype(np.float16))
    bf16 = plain("bf16", [4, 2])
    w.add_tensor("bf16", gguf.quants.quantize(bf16, TYPE.BF16), raw_dtype=TYPE.BF16)
    for kind in (np.int8, np.int16, np.int32, np.int64):
        w.add_tensor(np.dtype(kind).name, np.arange(-3, 4, dtype=kind))
    w.add_tensor("float64", np.array([1.5, -2.5]))
    w.add_tensor("one", plain("one", [1]))
    w.add_tensor("four", plain("four", [2, 1, 3, 2]))
    for name in BLOCKS:
        w.add_tensor(name, blocks(name, TYPE[name], [3, 256]), raw_dtype=TYPE[name])
    w.add_tensor("IQ2_XS", blocks("IQ2_XS", TYPE.IQ2_XS, [1, 256]), raw_dtype=TYPE.IQ2_XS)
    finish(w)


def metadata():
    w = writer("metadata.gguf", "llama")
    w.add_uint8("u8", 255)
    w.add_int8("i8", -128)
    w.add_uint16("u16", 65535)
    w.add_int16("i16", -32768)
    w.add_uint32("u32", 2**32 - 1)
    w.add_int32("i32", -2**31)
    w.add_float32("f32", 0.1)
    w.add_uint64("u64", 2**64 - 1)
    w.add_int64("i64", -2**63)
    w.add_float64("f64", 0.1)
    w.add_bool("yes", True)
    w.add_bool("no", False)
    w.add_string("text", "Ein Bär: 🐻\n\0end")
    w.add_array("integers", [1, -2, 3])
    w.add_array("numbers", [0.5, -1.5])
    w.add_array("flags", [True, False, True])
    w.add_token_list(WORDS)
    w.add_token_scores([-float(i) for i in range(len(WORDS))])
    w.add_token_types(list(range(len(WORDS))))
    w.add_token_merges(["h e", "l l", "he ll"])
    w.add_bos_token_id(7)
    w.add_add_bos_token(True)
    w.add_tensor("token_embd.weight", plain("token_embd.weight", [9, 4]))
    finish(w)


def city96():
    """As ComfyUI-GGUF's converter: rows that blocks of 256 do not divide are laid out anew, 5-D tensors are kept."""
    w = writer("city96.gguf", "sdxl")
    w.add_array("comfy.gguf.orig_shape.conv.weight", [64, 4, 3, 3])
    w.add_tensor("conv.weight", blocks("conv.weight", TYPE.Q4_K, [9, 256]), raw_dtype=TYPE.Q4_K)
    w.add_tensor("patch.weight", plain("patch.weight", [2, 3, 1, 2, 2]).astype(np.float16))
    w.add_tensor("attn.weight", blocks("attn.weight", TYPE.Q5_K, [2, 512]), raw_dtype=TYPE.Q5_K)
    w.add_tensor("bias", plain("bias", [5]))
    finish(w)


def aligned():
    w = writer("aligned.gguf")
    w.add_custom_alignment(256)
    w.add_tensor("a", plain("a", [3]))
    w.add_tensor("b", plain("b", [70]))
    finish(w)
    data = bytearray((OUT / "aligned.gguf").read_bytes())
    data[4] = 2  # version 2 has the same layout
    (OUT / "version2.gguf").write_bytes(data)


def check():
    reader = gguf.GGUFReader(OUT / "written.gguf")
    keys = {key: field.contents() for key, field in reader.fields.items() if not key.startswith("GGUF.")}
    expected = {"general.architecture": "test", "test.flag": True, "test.number": 0.25, "test.words": WORDS[:4] + WORDS[5:],
                "test.dims": [1, -2, 3], "comfy.gguf.orig_shape.five": [2, 3, 1, 2, 2]}
    assert keys == expected, keys
    names = set()
    for tensor in reader.tensors:
        names.add(tensor.name)
        shape = [int(d) for d in reversed(tensor.shape)]
        if tensor.name in BLOCKS:
            assert tensor.tensor_type == TYPE[tensor.name]
            assert np.array_equal(tensor.data, blocks(tensor.name, tensor.tensor_type, shape)), tensor.name
        else:
            assert np.array_equal(tensor.data.reshape(-1), plain(tensor.name, [tensor.n_elements])), tensor.name
    assert names == {"five", "f32", "scalar", *BLOCKS}, names
    print("written.gguf: the gguf package reads the same keys and numbers")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
    else:
        OUT.mkdir(parents=True, exist_ok=True)
        for make in (types, metadata, city96, aligned):
            make()
        print({p.name: p.stat().st_size for p in sorted(OUT.glob("*.gguf"))})
