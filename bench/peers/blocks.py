#!/usr/bin/env python3
"""Products, 3x3 convolutions and attention against OpenBLAS (numpy), oneDNN and PyTorch, in one run.

    python3 bench/peers/blocks.py build/bench/bench/bench_lines [--threads 2] [--rounds 15] [--only conv] [--clock cpu] [--json F]

Every round runs each library once, one after the other, so that what else the machine does meets all of them alike. Of a
row it prints the best time of each, and the ratio peer / ours round by round: its median and its quartiles. With --clock cpu times
are processor time, summed over threads: what to take where the machine has other work to do, for arithmetic. Needs numpy
and torch. Convolutions and attention compare f32; in a row "f16 weights" ours reads weights as files have them, and the
peer its own f32 ones.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

ARGS = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ARGS.add_argument("program")
ARGS.add_argument("--threads", type=int, default=2)
ARGS.add_argument("--rounds", type=int, default=15)
ARGS.add_argument("--clock", choices=("wall", "cpu"), default="wall")
ARGS.add_argument("--only", default="", help="rows whose name contains this")
ARGS.add_argument("--json", default="", help="write the rows there too")

# Threads of a library that wait for work must not take the processors of the one whose turn it is.
PASSIVE = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "GOMP_SPINCOUNT": "0", "OPENBLAS_THREAD_TIMEOUT": "4"}


class Ours:
    """bench_lines, one line per run."""

    def __init__(self, program, threads, clock):
        self.column = 0 if clock == "wall" else 1
        self.process = subprocess.Popen([program, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"{line}: the program ended")
        numbers = [float(number) for number in answer.split()]
        return numbers[min(self.column, len(numbers) - 1)]


def timed(call, clock):
    now = time.perf_counter if clock == "wall" else time.process_time
    start = now()
    call()
    return now() - start


def gemm_peers(m, n, k):
    import numpy as np
    import torch
    from torch.utils import mkldnn

    a, b = np.random.rand(m, k).astype(np.float32) - 0.5, np.random.rand(n, k).astype(np.float32) - 0.5
    out = np.empty((m, n), np.float32)
    x = torch.from_numpy(a)
    peers = {"OpenBLAS": lambda: np.matmul(a, b.T, out=out)}
    if torch.backends.mkldnn.is_available():
        linear = mkldnn.to_mkldnn(torch.nn.Linear(k, n, bias=False))
        dense = x.to_mkldnn()
        peers["oneDNN"] = lambda: linear(dense)
    peers["PyTorch"] = lambda: torch.mm(x, torch.from_numpy(b).t())
    return peers


def conv_peers(side, c, n):
    import torch
    from torch.utils import mkldnn

    conv = torch.nn.Conv2d(c, n, 3, padding=1).eval()
    x = torch.randn(1, c, side, side)
    packed = mkldnn.to_mkldnn(torch.nn.Conv2d(c, n, 3, padding=1).eval())
    blocked = x.to_mkldnn()
    last = conv.to(memory_format=torch.channels_last)
    x_last = x.to(memory_format=torch.channels_last)
    return {"oneDNN, its own layouts": lambda: packed(blocked), "oneDNN, channels last": lambda: last(x_last)}


def attention_peers(batch, heads, length, depth, keys):
    import torch

    q, k, v = (torch.randn(batch, heads, rows, depth) for rows in (length, keys, keys))
    return {"PyTorch SDPA": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v)}


# Batch, heads, queries, channels of a head, keys: SD 1.5 (40, 80, 160; 77 keys of text), SDXL (64), DiT (128), a VAE (512).
ATTENTION = ((2, 8, 4096, 40, 4096), (1, 24, 4096, 128, 4096), (2, 10, 4096, 64, 4096), (2, 8, 1024, 80, 1024),
             (2, 8, 256, 160, 256), (1, 1, 4096, 512, 4096), (2, 8, 4096, 40, 77), (2, 8, 1024, 80, 77), (2, 10, 4096, 64, 77))


def rows():
    for m, n, k in ((2048, 2048, 2048), (4096, 320, 320)):
        flops = 2 * m * n * k
        yield f"gemm {m} x {n} x {k}", flops, {"f32": f"gemm {m} {n} {k} f32", "f16 weights": f"gemm {m} {n} {k} f16"}, \
            (gemm_peers, (m, n, k))
    for side, c, n in ((64, 320, 320), (64, 512, 512), (512, 128, 128)):
        flops = 2 * side * side * c * n * 9
        ours = {"Winograd": f"conv {side} {c} {n} f32 winograd", "direct": f"conv {side} {c} {n} f32 direct"}
        yield f"conv 3x3 {c} to {n} at {side}", flops, ours, (conv_peers, (side, c, n))
    for batch, heads, length, depth, keys in ATTENTION:
        flops = 4 * batch * heads * length * keys * depth
        yield f"attention [{batch},{heads},{length},{depth}]" + (f" on {keys} keys" if keys != length else ""), flops, \
            {"f32": f"attention {batch} {heads} {length} {depth} {keys}"}, \
            (attention_peers, (batch, heads, length, depth, keys))


def quartiles(values):
    q = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return q[0], statistics.median(values), q[2]


def main():
    args = ARGS.parse_args()
    for key, value in PASSIVE.items():
        os.environ.setdefault(key, value)
    for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[key] = str(args.threads)
    import torch

    torch.set_num_threads(args.threads)
    torch.set_grad_enabled(False)
    ours = Ours(args.program, args.threads, args.clock)
    peaks, table = [ours.run("peak")], []
    print(f"{args.threads} threads, {args.rounds} rounds, {args.clock} clock, load {os.getloadavg()[0]:.1f}, PyTorch {torch.__version__}")
    for name, flops, lines, (make, sizes) in rows():
        if args.only not in name:
            continue
        peers = make(*sizes)
        for call in peers.values():
            call()
        for line in lines.values():
            ours.run(line)
        times = {key: [] for key in [*lines, *peers]}
        for _ in range(args.rounds):
            for key, line in lines.items():
                times[key].append(ours.run(line))
            for key, call in peers.items():
                times[key].append(timed(call, args.clock))
        peaks.append(ours.run("peak"))
        peak = max(peaks)
        print(f"{name}: {flops * 1e-9:.1f} GFLOP")
        for key in lines:
            best = min(times[key])
            rate = flops / best * 1e-9 * (args.threads if args.clock == "cpu" else 1)
            share = f", {rate * 100 / peak:.0f} % of peak" if args.clock == "wall" else ""
            print(f"  ours, {key}: {best * 1e3:.2f} ms, {rate:.0f} GFLOP/s{share}")
        for key in peers:
            best = min(times[key])
            print(f"  {key}: {best * 1e3:.2f} ms")
            for own in lines:
                low, middle, high = quartiles([p / o for p, o in zip(times[key], times[own])])
                print(f"    / ours, {own}: {middle:.2f} ({low:.2f} to {high:.2f}), of the best times {best / min(times[own]):.2f}")
        table.append({"row": name, "flops": flops, "seconds": times})
    print(f"peak {max(peaks):.0f} GFLOP/s by the wall (best of {len(peaks)}), load {os.getloadavg()[0]:.1f}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({"threads": args.threads, "peak_gflops": max(peaks), "rows": table}, out, indent=1)


if __name__ == "__main__":
    main()
