"""Golden numbers of the block formats: tests/golden/blocks/blocks.safetensors.

Needs, beside numpy and safetensors: gguf==0.19.0 (decoding), llama-cpp-python==0.3.36 (its ggml library quantises, and
must decode to the same bits). A tensor F.bytes holds blocks of format F as I8, F.values what they decode to. F.digest
is the SHA-256 of BLOCKS blocks of formula bytes, decoded (every NaN as 0x7FC00000). F.rmse holds, for each of KINDS,
the root mean square error of llama.cpp's quantiser without an importance matrix on COUNT numbers from a formula.
"""
import ctypes
import hashlib
import pathlib

import formula
import gguf
import llama_cpp
import numpy as np
import store

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/blocks/blocks.safetensors"
BLOCKS, COUNT, ROW = 512, 16384, 256
KINDS = ("gaussian", "cubed", "offset", "outliers", "varied")
# Name: where its half-precision (or 8-bit) scales stand in a block.
HALVES = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0], "Q2_K": [80, 82], "Q3_K": [108],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208], "IQ4_NL": [0], "IQ4_XS": [0], "MXFP4": [], "NVFP4": []}
BYTES = {"MXFP4": [0], "NVFP4": [0, 1, 2, 3]}
# Zeros, the smallest and largest subnormals, the smallest normal, 1, the largest, infinities, NaNs.
HALF_CODES = [0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01]
BYTE_CODES = [0, 1, 2, 7, 8, 0x38, 0x7E, 0x7F, 0x80, 0xFD, 0xFE, 0xFF]


def formula_bytes(name, count):
    return ((formula.values(name, [count], 1.0, 0.0).astype(np.float64) + 1.0) * 128.0).astype(np.uint8)


def numbers(kind):
    a = [formula.values(f"blocks.{i}", [COUNT], 1.0, 0.0).astype(np.float64) for i in range(4)]
    x = (a[0] + a[1] + a[2] + a[3]) * 2.0**-6
    i = np.arange(COUNT)
    if kind == "cubed":
        x = a[0] * a[0] * a[0]
    elif kind == "offset":
        x = x + 2.0**-5
    elif kind == "outliers":
        x = np.where(i % 97 == 0, x * 16.0, x)
    elif kind == "varied":
        x = x * 2.0 ** (i // 256 % 7 - 3)
    return x.astype(np.float32)


class Ggml:
    def __init__(self):
        folder = pathlib.Path(llama_cpp.__file__).parent / "lib"
        self.lib = ctypes.CDLL(str(folder / "libggml-base.so"))
        self.lib.ggml_quantize_chunk.restype = ctypes.c_size_t
        self.lib.ggml_quantize_chunk.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64,
                                                 ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]

    def quantize(self, qtype, x):
        block, size = gguf.GGML_QUANT_SIZES[qtype]
        out = np.zeros(x.size // block * size, np.uint8)
        wrote = self.lib.ggml_quantize_chunk(int(qtype), x.ctypes.data, out.ctypes.data, 0, x.size // ROW, ROW, None)
        assert wrote == out.size, (qtype, wrote, out.size)
        return out

    def decode(self, name, data, count):
        out = np.zeros(count, np.float32)
        row = getattr(self.lib, f"dequantize_row_{name.lower().replace('_k', '_K')}")
        row.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        row.restype = None
        data = np.ascontiguousarray(data)
        row(data.ctypes.data, out.ctypes.data, count)
        return out


def canonical(values):
    bits = values.view(np.uint32).copy()
    bits[np.isnan(values)] = 0x7FC00000
    return bits


def decode(ggml, name, data):
    """By the gguf package; ggml must agree bit for bit."""
    qtype = gguf.GGMLQuantizationType[name]
    block, size = gguf.GGML_QUANT_SIZES[qtype]
    with np.errstate(all="ignore"):
        values = gguf.quants.dequantize(data.reshape(1, -1), qtype).ravel().astype(np.float32)
    other = ggml.decode(name, data, data.size // size * block)
    differ = np.flatnonzero(canonical(values) != canonical(other))
    if differ.size:
        blocks = sorted({int(i) // block for i in differ})
        print(f"  {name}: ggml and gguf differ at {differ.size} numbers, first in block {blocks[0]}: "
              f"{values[differ[0]]} and {other[differ[0]]}, scale bytes {data[blocks[0] * size:][:4]}")
    return values


def crafted(name):
    """Eight blocks with ordinary scales, then every extreme scale once for each place of a scale."""
    qtype = gguf.GGMLQuantizationType[name]
    size = gguf.GGML_QUANT_SIZES[qtype][1]
    places = [(p, 2, HALF_CODES) for p in HALVES[name]] + [(p, 1, BYTE_CODES) for p in BYTES.get(name, [])]
    extreme = [(p, w, c) for p, w, codes in places for c in codes]
    blocks = formula_bytes(f"{name}.crafted", (8 + len(extreme)) * size).reshape(-1, size).copy()
    for i, block in enumerate(blocks):
        for p in HALVES[name]:  # sign and exponent of numbers between 2^-8 and 1
            block[p + 1] = (block[p + 1] & 0x80) | (0x1C + (block[p + 1] & 0x1F))
        if i >= 8:
            p, width, code = extreme[i - 8]
            block[p:p + width] = np.frombuffer(code.to_bytes(width, "little"), np.uint8)
    return blocks.ravel()


def main():
    ggml, out = Ggml(), {}
    for name in HALVES:
        qtype = gguf.GGMLQuantizationType[name]
        size = gguf.GGML_QUANT_SIZES[qtype][1]
        data = crafted(name)
        key = name.lower()
        out[f"{key}.bytes"] = data.view(np.int8)
        out[f"{key}.values"] = decode(ggml, name, data)
        many = decode(ggml, name, formula_bytes(f"{name}.many", BLOCKS * size))
        digest = hashlib.sha256(canonical(many).astype("<u4").tobytes()).digest()
        out[f"{key}.digest"] = np.frombuffer(digest, np.int8)
        rmse = []
        for kind in KINDS:
            x = numbers(kind)
            error = decode(ggml, name, ggml.quantize(qtype, x)).astype(np.float64) - x
            rmse.append(np.sqrt(np.mean(error * error)))
        out[f"{key}.rmse"] = np.array(rmse, np.float32)
        print(f"{key:7}", *(f"{r:.4e}" for r in rmse))
    OUT.parent.mkdir(parents=True, exist_ok=True)
    store.save(out, OUT)
    print(OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
