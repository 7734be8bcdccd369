#!/usr/bin/env python3
"""Products with weights in block formats against f16 weights of the same shape, in one run of bench_lines.

    python3 bench/peers/block_weights.py build/bench/bench/bench_lines [--threads 2] [--rounds 9] [--rows 1,4,8,256]
        [--types q4_0,q4_k] [--clock cpu] [--json F]

Weights are packed once, as plans do it. Every round runs every type once, so that what else the machine does meets all of them
alike, and a type's weights have left the outer cache before its turn comes again. Prints per type the median over the rounds of
(time of the type) / (time of f16), and which share of the reading speed its bytes took: that of reading 100 MB by all threads in the
same round; beside both, what the best times give.
"""
import argparse
import json
import os
import statistics

from blocks import Ours

BITS = {"q8_0": 8.5, "q6_k": 6.5625, "q5_1": 6, "q5_k": 5.5, "q5_0": 5.5, "q4_1": 5, "q4_k": 4.5, "q4_0": 4.5, "iq4_nl": 4.5,
        "nvfp4": 4.5, "iq4_xs": 4.25, "mxfp4": 4.25, "q3_k": 3.4375, "q2_k": 2.625}
PLAIN = {"f16": 16, "f32": 32, "bf16": 16, "f8_e4m3": 8, "f8_e5m2": 8, "i8": 8}  # f16 is what the others are held against
SHAPES = ((9728, 2560), (4096, 11008))  # columns, depth


def rows_of(ours, m, n, k, types, rounds):
    lines = {name: f"gemm {m} {n} {k} {name}" for name in types}
    lines["read"] = "read 100"
    times = {name: [] for name in lines}
    for line in lines.values():
        ours.run(line)
    for _ in range(rounds):
        for name, line in lines.items():
            times[name].append(ours.run(line))
    read, f16 = times["read"], times["f16"]
    print(f"m={m} {n}x{k}: f16 {1e3 * min(f16):.2f} ms, {2e-9 * m * n * k / min(f16):.0f} GFLOP/s; "
          f"reading {0.1 / statistics.median(read):.1f} GB/s, at best {0.1 / min(read):.1f}")
    for name in types:
        ratio = statistics.median(t / f for t, f in zip(times[name], f16))
        best, gigabytes = min(times[name]), n * k * {**BITS, **PLAIN}[name] / 8e9
        share = statistics.median(gigabytes / t * r / 0.1 for t, r in zip(times[name], read))
        at_best = gigabytes / best * min(read) / 0.1
        print(f"  {name:7} {ratio:.2f} ({best / min(f16):.2f}) of f16's time"
              + (f", {100 * share:.0f} ({100 * at_best:.0f}) % of the reading speed" if m <= 8 else ""), flush=True)
        yield {"m": m, "n": n, "k": k, "type": name, "of_f16": ratio, "of_f16_best": best / min(f16), "of_reading": share,
               "of_reading_best": at_best}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--rows", default="1,4,8,256")
    arguments.add_argument("--types", default=",".join(BITS))
    arguments.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    arguments.add_argument("--json", default="")
    args = arguments.parse_args()
    ours = Ours(args.program, args.threads, args.clock)
    types = ["f16", *(name for name in args.types.split(",") if name != "f16")]
    print(f"{args.threads} threads, {args.rounds} rounds, {args.clock} clock, peak {ours.run('peak'):.0f} GFLOP/s, load {os.getloadavg()[0]:.1f}")
    table = []
    for n, k in SHAPES:
        for m in (int(rows) for rows in args.rows.split(",")):
            table.extend(rows_of(ours, m, n, k, types, args.rounds))
    if args.json:
        with open(args.json, "w") as out:
            json.dump(table, out, indent=1)


if __name__ == "__main__":
    main()
