#!/usr/bin/env python3
"""Fits erfc(a) = exp(-a^2) * P(t), t = 2 / (2 + a), for a in [0, 9.3]: prints the coefficients of P, lowest first, as
they stand in src/gpu/activation.h, and the error of the f32 evaluation. Needs mpmath."""
import math
import struct

import mpmath

mpmath.mp.dps = 40
DEGREE, LONGEST = 11, 9.3


def target(t):
    a = 2 / mpmath.mpf(t) - 2
    return mpmath.exp(a * a) * mpmath.erfc(a)


def fit():
    low = mpmath.mpf(2) / (2 + LONGEST)
    count = 4 * DEGREE
    nodes = [(low + 1) / 2 + (1 - low) / 2 * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    # Least squares with weights for relative error; the nodes are Chebyshev's, so the fit is close to the best one.
    rows = mpmath.matrix(count, DEGREE + 1)
    right = mpmath.matrix(count, 1)
    for i, t in enumerate(nodes):
        value = target(t)
        for j in range(DEGREE + 1):
            rows[i, j] = t ** j / value
        right[i] = 1
    return [float(c) for c in mpmath.lu_solve(rows, right)]


def f(x):
    """x rounded to f32 (a double holds the exact product of two f32, so f(a * b + c) is nearly always the fma)."""
    return struct.unpack("f", struct.pack("f", x))[0]


def error(coefficients):
    worst = 0.0
    for i in range(4001):
        a = f(i * 9.0 / 4000)
        t = f(2 / f(2 + a))
        p = f(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            p = f(p * t + f(c))
        square = f(a * a)
        rest = f(a * a - square)
        got = f(p * f(f(math.exp(-square)) * f(1 - rest)))
        worst = max(worst, abs(got - math.erfc(a)) / math.erfc(a))
    return worst


if __name__ == "__main__":
    found = fit()
    for c in found:
        print(f"{c:.9g}f")
    print("largest relative error in f32:", error(found))
