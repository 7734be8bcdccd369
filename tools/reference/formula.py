"""Weights from a formula, so that golden networks need no weight files. tests/golden/README.md has the words."""
import math

import numpy as np

U64 = np.uint64
GAMMA = 0x9E3779B97F4A7C15


def fnv1a(text):
    h = 0xCBF29CE484222325
    for b in text.encode("utf-8"):
        h = ((h ^ b) * 0x100000001B3) & (2**64 - 1)
    return h


def values(name, shape, scale, offset):
    """f32 array of that shape; element i (row-major) depends on the name and i alone."""
    count = math.prod(shape)
    with np.errstate(over="ignore"):
        z = U64(fnv1a(name)) + np.arange(count, dtype=U64) * U64(GAMMA)
        z = (z ^ (z >> U64(30))) * U64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> U64(27))) * U64(0x94D049BB133111EB)
        z ^= z >> U64(31)
    u = (z >> U64(40)).astype(np.float64) * 2.0**-24
    return ((2.0 * u - 1.0) * scale + offset).astype(np.float32).reshape(shape)


def sixteenth_bits(x):
    """Scales are multiples of 2^-16: (2u - 1) * scale is then exact in double."""
    return round(x * 65536) / 65536


def recipe(name, shape):
    """scale and offset that keep activations near 1: weights of variance 1 / fan_in, norms about 1, small biases."""
    if name.endswith("bias"):
        return sixteenth_bits(0.1), 0.0
    if "embedding.weight" in name and "linear" not in name:
        return 1.0, 0.0
    if len(shape) == 1:
        return sixteenth_bits(0.2), 1.0
    return sixteenth_bits(math.sqrt(3.0 / math.prod(shape[1:]))), 0.0


def manifest(shapes):
    """{name: shape} -> {name: {shape, scale, offset}}, in the order of the state dict."""
    out = {}
    for name, shape in shapes.items():
        scale, offset = recipe(name, shape)
        out[name] = {"shape": list(shape), "scale": scale, "offset": offset}
    return out
