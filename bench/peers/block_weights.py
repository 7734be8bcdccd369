#!/usr/bin/env python3
"""Products with weights in block formats against f16 weights of the same shape, in one run of bench_lines.

    python3 bench/peers/block_weights.py build/bench/bench/bench_lines [--threads 2] [--rounds 9] [--rows 1,8,256] [--json F]

Every round runs every type once, so that what else the machine does meets all of them alike. Prints the median over the rounds
of (time of the type) / (time of f16, packed once as plans do it) in processor time, and for one row of activations how much of
the machine's reading speed the weights' bytes took, likewise by processor time.
"""
import argparse
import json
import os
import statistics

from blocks import Ours

BITS = {"q8_0": 8.5, "q6_k": 6.5625, "q5_1": 6, "q5_k": 5.5, "q5_0": 5.5, "q4_1": 5, "q4_k": 4.5, "q4_0": 4.5, "iq4_nl": 4.5,
        "nvfp4": 4.5, "iq4_xs": 4.25, "mxfp4": 4.25, "q3_k": 3.4375, "q2_k": 2.625}
SHAPES = ((3072, 3072), (9728, 2560))  # columns, depth


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--rows", default="1,8,256")
    arguments.add_argument("--json", default="")
    args = arguments.parse_args()
    ours = Ours(args.program, args.threads, "cpu")
    print(f"{args.threads} threads, {args.rounds} rounds, load {os.getloadavg()[0]:.1f}")
    table = []
    for n, k in SHAPES:
        for m in (int(rows) for rows in args.rows.split(",")):
            lines = {name: f"gemm {m} {n} {k} {name}" for name in ("f16", *BITS)}
            lines["read"] = "read 100"
            repeat = max(1, 8 // m)  # a run of one row is short: many, so that its clock has enough ticks
            times = {name: [] for name in lines}
            for line in lines.values():
                ours.run(line)
            for _ in range(args.rounds):
                for name, line in lines.items():
                    times[name].append(sum(ours.run(line) for _ in range(repeat)) / repeat)
            f16 = times["f16"]
            gbs = 0.1 / statistics.median(times["read"])
            rate = 2e-9 * m * n * k / statistics.median(f16)
            print(f"m={m} {n}x{k}: f16 {1e3 * statistics.median(f16):.2f} ms, {rate:.0f} GFLOP/s, reading {gbs:.1f} GB/s a processor")
            for name, bits in {"f16": 16, **BITS}.items():
                ratio = statistics.median(t / f for t, f in zip(times[name], f16))
                share = n * k * bits / 8e9 / statistics.median(times[name]) / gbs
                table.append({"m": m, "n": n, "k": k, "type": name, "of_f16": ratio, "of_reading": share})
                print(f"  {name:7} {ratio:.2f} of f16's time" + (f", {100 * share:.0f} % of the reading speed" if m <= 8 else ""))
    if args.json:
        with open(args.json, "w") as out:
            json.dump(table, out, indent=1)


if __name__ == "__main__":
    main()
