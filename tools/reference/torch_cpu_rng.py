"""PyTorch's CPU torch.randn in plain Python: mt19937 and the two ways it makes normals. See tests/golden/rng/README.md."""
import math

import numpy as np


class CpuGenerator:
    """torch.Generator('cpu').manual_seed(seed)."""

    def __init__(self, seed):
        s = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            s.append((1812433253 * (s[-1] ^ (s[-1] >> 30)) + i) & 0xFFFFFFFF)
        self.state, self.at, self.spare = s, 624, None

    def word(self):
        if self.at == 624:
            self.twist()
        y = self.state[self.at]
        self.at += 1
        y ^= y >> 11
        y ^= (y << 7) & 0x9D2C5680
        y ^= (y << 15) & 0xEFC60000
        return y ^ (y >> 18)

    def twist(self):
        s = self.state
        for i in range(624):
            y = (s[i] & 0x80000000) | (s[(i + 1) % 624] & 0x7FFFFFFF)
            s[i] = s[(i + 397) % 624] ^ (y >> 1) ^ (0x9908B0DF if y & 1 else 0)
        self.at = 0

    def uniform24(self):
        return (self.word() & 0xFFFFFF) * 2.0**-24

    def uniform53(self):
        high = self.word()
        return (((high << 32) | self.word()) & (2**53 - 1)) * 2.0**-53

    def scalar(self):
        """One normal in double; pairs share a radius, the second of a pair waits in the generator."""
        if self.spare is not None:
            value, self.spare = self.spare, None
            return value
        u1 = self.uniform53()
        u2 = self.uniform53()
        radius, theta = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
        self.spare = radius * math.sin(theta)
        return radius * math.cos(theta)

    def sixteen(self, u):
        out = [0.0] * 16
        for j in range(8):
            radius, theta = math.sqrt(-2.0 * math.log(1.0 - u[j])), 2.0 * math.pi * u[j + 8]
            out[j], out[j + 8] = radius * math.cos(theta), radius * math.sin(theta)
        return out

    def randn(self, n):
        if n < 16:
            return np.array([self.scalar() for _ in range(n)]).astype(np.float32)
        u = [self.uniform24() for _ in range(n)]
        out = sum((self.sixteen(u[i:i + 16]) for i in range(0, n - 15, 16)), [])
        if n % 16:
            out = out[:n - n % 16] + [0.0] * (n % 16)
            out[n - 16:] = self.sixteen([self.uniform24() for _ in range(16)])
        return np.array(out).astype(np.float32)
