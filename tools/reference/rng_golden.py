"""Writes tests/golden/rng: PyTorch's CPU normals, and CUDA numbers recorded on a real GPU and checked against philox.py.

The CUDA recording (philox.npz beside --cuda) was made with torch 2.11 on an NVIDIA H200; without --cuda that half is kept as it is.
"""
import argparse
import pathlib

import numpy as np
import torch

import store
from philox import CudaGenerator
from torch_cpu_rng import CpuGenerator

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/rng"
CPU_SEEDS = [0, 1, 42, 2**32 + 5, 2**63 - 1]
CPU_SIZES = [5, 15, 16, 17, 100, 4 * 32 * 32]
CUDA_SEEDS = [0, 1, 42, 1234567890123, 2**32, 2**32 + 5, 2**63 - 1, 2**64 - 1]
CUDA_SIZES = [4 * 32 * 32, 4 * 64 * 64, 7]


def near(ours, theirs, what, limit=2e-6):
    worst = float(np.abs(ours.astype(np.float64) - theirs).max())
    assert worst <= limit, (what, worst)
    return worst


def cpu():
    out, worst = {}, 0.0
    for seed in CPU_SEEDS:
        for n in CPU_SIZES:
            out[f"seed{seed}.n{n}"] = torch.randn(n, generator=torch.Generator().manual_seed(seed)).numpy()
            worst = max(worst, near(CpuGenerator(seed).randn(n), out[f"seed{seed}.n{n}"], (seed, n)))
        torch_gen, ours = torch.Generator().manual_seed(seed), CpuGenerator(seed)
        for k, n in enumerate([5, 17, 7, 64, 3]):      # one generator: the spare normal outlives the calls between
            out[f"seed{seed}.calls.{k}"] = torch.randn(n, generator=torch_gen).numpy()
            worst = max(worst, near(ours.randn(n), out[f"seed{seed}.calls.{k}"], (seed, "calls", k)))
    store.save(out, OUT / "torch_cpu.safetensors")
    print("torch cpu: ours against torch, largest difference", worst)


def cuda(path):
    rec, out, worst = np.load(path), {}, 0.0
    for seed in CUDA_SEEDS:
        ours = CudaGenerator(seed)
        for k, n in enumerate(CUDA_SIZES):
            r = ours.randn(n)
            head, tail = rec[f"seed{seed}_call{k}"], rec[f"seed{seed}_call{k}_tail"]
            worst = max(worst, near(r[:len(head)], head, (seed, k)), near(r[n - len(tail):], tail, (seed, k, "tail")))
            out[f"seed{seed}.call{k}.head"] = head[:512].copy()
            out[f"seed{seed}.call{k}.tail"] = tail
    words = CudaGenerator(42).words(1024)
    assert ((words & 0x7FFFFFFF).astype(np.int32) == rec["int31_seed42"]).all()
    x, y = CudaGenerator(42).words64(1024)
    assert (((x << np.uint64(32)) | y).view(np.int64) == rec["int64_seed42"]).all()
    assert (CudaGenerator(42).uniform(1024) == rec["uniform_seed42"]).all()
    for name in ("int31", "int64", "uniform"):
        out[f"seed42.{name}"] = rec[f"{name}_seed42"]
    store.save(out, OUT / "torch_cuda.safetensors")
    print("torch cuda: ours against an H200, largest difference", worst, "; integers and uniforms bit-equal")


def own():
    """Whole raw words for a C++ unit test: ten rounds on counters and keys with every word in use."""
    from philox import philox4x32
    r = np.random.default_rng(3)
    c = r.integers(0, 2**32, (4, 64), dtype=np.uint64)
    k = [(int(a), int(b)) for a, b in r.integers(0, 2**32, (64, 2))]
    w = np.stack([np.stack([int(v) & 0xFFFFFFFF for v in philox4x32([c[j, i] for j in range(4)], k[i])]) for i in range(64)])
    store.save({"counter": c.T.astype(np.uint32).view(np.int32).copy(), "key": np.array(k, np.uint32).view(np.int32),
               "words": w.astype(np.uint32).view(np.int32)}, OUT / "philox_words.safetensors")
    zero = philox4x32([np.uint64(0)] * 4, (0, 0))
    assert [int(v) for v in zero] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]     # Random123's known answer


if __name__ == "__main__":
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--cuda", help="philox.npz recorded on a GPU")
    args = args.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    cpu()
    own()
    if args.cuda:
        cuda(args.cuda)
