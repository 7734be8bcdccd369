"""Writes tests/golden/fp8/table.safetensors: every code of both FP8 formats, and the value that PyTorch gives it."""
import os
import pathlib

import torch
from safetensors.torch import save_file

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/fp8"


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    codes = torch.arange(256, dtype=torch.int64).to(torch.uint8)
    tensors = {}
    for name, dtype in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
        typed = codes.clone().view(dtype)
        tensors[name + ".codes"], tensors[name + ".values"] = typed, typed.to(torch.float32)
    save_file(tensors, OUT / "table.safetensors")
    os.chmod(OUT / "table.safetensors", 0o644)


if __name__ == "__main__":
    main()
