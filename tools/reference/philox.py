"""PyTorch's CUDA random numbers in numpy: Philox4x32-10 with PyTorch's layout of threads and offsets.

See tests/golden/rng/README.md for the words. Nothing here needs a GPU.
"""
import numpy as np

MUL_A, MUL_B = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL_A, WEYL_B = 0x9E3779B9, 0xBB67AE85
MASK = np.uint64(0xFFFFFFFF)
BLOCK, UNROLL = 256, 4
INV32 = np.float32(2.3283064e-10)          # 2^-32
INV32_2PI = INV32 * np.float32(6.2831855)   # 2^-32 * 2 pi, the product rounded to f32


def philox4x32(counter, key):
    """counter: four u32 arrays (x, y, z, w); key: (lo, hi). Returns four u32 arrays after ten rounds."""
    c = [np.asarray(v, dtype=np.uint64) & MASK for v in counter]
    k0, k1 = key
    for _ in range(10):
        a, b = MUL_A * c[0], MUL_B * c[2]
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), b & MASK,
             (a >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), a & MASK]
        k0, k1 = (k0 + WEYL_A) & 0xFFFFFFFF, (k1 + WEYL_B) & 0xFFFFFFFF
    return [v.astype(np.uint32) for v in c]


class CudaGenerator:
    """torch.Generator('cuda').manual_seed(seed) for a GPU that holds max_threads resident threads."""

    def __init__(self, seed, max_threads=132 * 2048):
        self.seed, self.offset, self.max_blocks = seed & (2**64 - 1), 0, max_threads // BLOCK

    def blocks4(self, n, unroll=UNROLL):
        """The four words each element is made of, and which of a thread's `unroll` results it takes."""
        grid = min((n + BLOCK - 1) // BLOCK, self.max_blocks)
        threads = grid * BLOCK
        i = np.arange(n, dtype=np.uint64)
        thread, turn = i % np.uint64(threads), i // np.uint64(threads)
        call, lane = turn // np.uint64(unroll), turn % np.uint64(unroll)
        ctr = np.uint64(self.offset // 4) + call
        words = philox4x32((ctr & MASK, ctr >> np.uint64(32), thread & MASK, thread >> np.uint64(32)),
                           (self.seed & 0xFFFFFFFF, self.seed >> 32))
        self.offset += ((n - 1) // (threads * unroll) + 1) * 4
        return np.stack(words, 1), lane.astype(np.int64)

    def words(self, n):
        w, lane = self.blocks4(n)
        return w[np.arange(n), lane]

    def words64(self, n):
        w, lane = self.blocks4(n, 2)
        lo, hi = w[np.arange(n), lane * 2], w[np.arange(n), lane * 2 + 1]
        return lo.astype(np.uint64), hi.astype(np.uint64)

    def uniform(self, n):
        """[0, 1): cuRAND's (0, 1] with 1 sent to 0."""
        u = self.words(n).astype(np.float32) * INV32 + INV32 / np.float32(2)
        return np.where(u == np.float32(1), np.float32(0), u)

    def randn(self, n, dtype=np.float32):
        """Box-Muller on the word pairs (x, y) and (z, w); dtype is that of log, sqrt, sin and cos."""
        w, lane = self.blocks4(n)
        pair = (lane // 2) * 2
        a, b = w[np.arange(n), pair], w[np.arange(n), pair + 1]
        u = fma32(a, INV32, INV32 / np.float32(2)).astype(dtype)
        v = fma32(b, INV32_2PI, INV32_2PI / np.float32(2)).astype(dtype)
        s = np.sqrt(dtype(-2) * np.log(u))
        return np.where(lane % 2 == 0, s * np.sin(v), s * np.cos(v)).astype(np.float32)


def fma32(word, mul, add):
    """f32(word) * mul + add with one rounding, as the GPU's fused multiply-add."""
    return (word.astype(np.float32).astype(np.float64) * np.float64(mul) + np.float64(add)).astype(np.float32)
