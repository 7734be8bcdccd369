"""Writes tests/golden/safetensors/*.safetensors with the reference package (see requirements.txt).

Element i of every tensor is (i % 7) - 3 (booleans: i odd; unsigned: i % 7), exact in every dtype, so the tests know the
values without a second file.  `--check FILE...` instead reads files with the reference package and prints their tensors.
"""
import argparse
import pathlib

import torch
from safetensors import safe_open
from safetensors.torch import save_file

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "safetensors"


def tensor(dtype, shape):
    count = 1
    for d in shape:
        count *= d
    index = torch.arange(count, dtype=torch.int64)
    if dtype == torch.bool:
        values = index % 2 == 1
    elif dtype == torch.uint8:
        values = index % 7
    else:
        values = index % 7 - 3
    return values.to(torch.float32).to(dtype).reshape(shape)


def usable():
    return {
        "down.0.conv.weight": tensor(torch.float32, [4, 3, 3, 3]),
        "down.0.conv.bias": tensor(torch.float16, [4]),
        "proj.weight": tensor(torch.bfloat16, [5, 3]),
        "odd": tensor(torch.int8, [3]),
        "B": tensor(torch.float16, [3]),
        "ids": tensor(torch.int32, [1, 7]),
        "e4": tensor(torch.float8_e4m3fn, [2, 5]),
        "e5": tensor(torch.float8_e5m2, [9]),
        "scalar": tensor(torch.float32, []),
        "empty": tensor(torch.float32, [0, 4]),
        "rank6": tensor(torch.float16, [1, 2, 1, 2, 1, 2]),
        'ünï "quoted" \\ \t 猫': tensor(torch.float32, [2]),
    }


def mixed():
    tensors = usable()
    tensors |= {
        "z.double": tensor(torch.float64, [3]),
        "z.long": tensor(torch.int64, [1, 77]),
        "z.byte": tensor(torch.uint8, [5]),
        "z.bool": tensor(torch.bool, [3]),
        "z.short": tensor(torch.int16, [3]),
        "z.rank7": tensor(torch.float32, [1, 1, 2, 1, 1, 1, 2]),
    }
    return tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", nargs="+", metavar="FILE")
    args = parser.parse_args()
    if args.check:
        for name in args.check:
            with safe_open(name, "pt") as file:
                print(name, file.metadata())
                for key in sorted(file.keys()):
                    value = file.get_tensor(key)
                    print(f"  {key!r} {value.dtype} {list(value.shape)} {value.flatten()[:4].tolist()}")
        return
    GOLDEN.mkdir(parents=True, exist_ok=True)
    # One metadata key: the reference writes several in an order that differs from run to run.
    save_file(usable(), GOLDEN / "usable.safetensors", metadata={"format": "pt"})
    save_file(mixed(), GOLDEN / "mixed.safetensors", metadata={"title": 'ü "q" \\ \n'})
    save_file({}, GOLDEN / "no_tensors.safetensors")


if __name__ == "__main__":
    main()
