#!/usr/bin/env python3
"""cuda_variants.py KERNEL.gpu OUT.cu: CUDA C++ with every variant of the file's kernels.

A variant's kernels end in its constants' values: group_norm_apply__1_0. The file is included once per variant, in a
namespace of its own; what it includes comes first, outside of them.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import kernel_text  # noqa: E402


def cuda(kernel):
    text = kernel.read_text(encoding="utf-8")
    lines = re.findall(r'^#include "[^"]+"', text, re.MULTILINE)
    out = [f"// Generated from {kernel.parent.name}/kernel.gpu by tools/gpu/cuda_variants.py.", *lines, ""]
    for values in kernel_text.variants(text, kernel):
        suffix = "__" + "_".join(str(v) for v in values) if values else ""
        out += [f"#define GPU_FC_{i} {v}" for i, v in enumerate(values)]
        out += [f"#define GPU_SUFFIX {suffix}", f"namespace variant{suffix or '__'} {{",
                f'#include "ops/{kernel.parent.name}/kernel.gpu"', "}", "#undef GPU_SUFFIX"]
        out += [f"#undef GPU_FC_{i}" for i in range(len(values))]
    return "\n".join(out) + "\n"


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    try:
        pathlib.Path(arguments[1]).write_text(cuda(pathlib.Path(arguments[0])), encoding="utf-8")
    except kernel_text.Wrong as wrong:
        print(wrong)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
