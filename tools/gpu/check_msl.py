#!/usr/bin/env python3
"""Checks Metal text on a machine without Apple's compiler: clang reads it as C++ for OpenCL 2021, whose address spaces
are Metal's, against the declarations in tools/gpu/msl; then the syntax tree is searched for what Metal refuses.

  check_msl.py TEXT.metal [KERNEL.gpu]   one file; with the source it was made from, every variant of its constants
  check_msl.py --ops TEXTS OPS           every OPS/<op>/kernel.gpu with TEXTS/<op>.metal
  check_msl.py --corpus BAD GOOD         every file of BAD must fail for the reason in its first line, GOOD must pass

This is a model of Metal, not Metal: an Apple compiler has the last word. Exit code: 0 passes, 1 fails, 77 no clang.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import kernel_text  # noqa: E402
import msl_rules  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CLANGS = ("clang-14", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang")
PREFIX = "#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\nusing namespace metal;\n"
FUNCTION_CONSTANT = re.compile(r"\bconstant (\w+) (\w+) \[\[function_constant\((\d+)\)\]\];")


class Missing(Exception):
    """There is no clang that reads C++ for OpenCL 2021."""


def clang():
    for name in CLANGS:
        if shutil.which(name) is None:
            continue
        probe = subprocess.run([name, "-x", "cl", "-cl-std=clc++2021", "-target", "spir64", "-cl-no-stdinc", "-fsyntax-only", "-"],
                               input="kernel void k() {}", capture_output=True, text=True, check=False)
        if probe.returncode == 0:
            return name
    raise Missing("no clang here reads C++ for OpenCL 2021")


def command(program, path, more):
    return [program, "-x", "cl", "-cl-std=clc++2021", "-target", "spir64", "-cl-no-stdinc", "-Xclang",
            "-cl-ext=-all,+cl_khr_fp16,+__opencl_c_generic_address_space", "-fsyntax-only", "-fno-color-diagnostics",
            "-I", str(HERE / "msl"), *more, str(path)]


WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unknown-attributes", "-Wno-ignored-attributes", "-Wno-unused-parameter",
            "-Wno-unused-function", "-Wno-unused-const-variable", "-Wno-unused-variable", "-ferror-limit=3"]


def faults(text, program, tree=True):
    """What is wrong with one text without function constants; empty where nothing is. The tree is the same for all
    variants, so it is searched once."""
    with tempfile.TemporaryDirectory(prefix="chiaro-msl-") as folder:
        path = pathlib.Path(folder) / "text.metal"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(command(program, path, WARNINGS), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "error:" in line]
            return [re.sub(r"^.*?text\.metal:", "line ", line) for line in lines] or [done.stderr.strip()]
        if not tree:
            return []
        dump = subprocess.run(command(program, path, ["-w", "-Xclang", "-ast-dump=json"]), capture_output=True, text=True, check=False)
        return list(msl_rules.search_text(text)) + list(msl_rules.search(json.loads(dump.stdout)))


def with_constants(text, values):
    """The text with function constant n as a compile-time constant of value values[n] (0 where there is none)."""

    def value(match):
        kind, name, index = match.group(1), match.group(2), int(match.group(3))
        return f"constant constexpr {kind} {name} = {kind}({values[index] if index < len(values) else 0});"

    return FUNCTION_CONSTANT.sub(value, text)


def check_file(path, source, program):
    text = path.read_text(encoding="utf-8")
    if "<metal_stdlib>" not in text:
        text = PREFIX + text
    variants = [()]
    if source is not None:
        variants = kernel_text.variants(source.read_text(encoding="utf-8"), source)
    wrong = []
    for i, values in enumerate(variants):
        wrong += [f"{path.name} {values}: {fault}" for fault in faults(with_constants(text, values), program, tree=i == 0)]
    return wrong, len(variants)


def check_corpus(bad, good, program):
    wrong = []
    for path in sorted(bad.glob("*.metal")):
        expected = path.read_text(encoding="utf-8").splitlines()[0].removeprefix("// refused: ")
        found, _ = check_file(path, None, program)
        if not any(re.search(expected, fault) for fault in found):
            wrong.append(f"{path.name}: not refused for \"{expected}\" (found: {found})")
    for path in sorted(good.glob("*.metal")):
        found, _ = check_file(path, None, program)
        wrong += [f"{path.name} is right, and refused: {fault}" for fault in found]
    print(f"{len(list(bad.glob('*.metal')))} wrong texts, {len(list(good.glob('*.metal')))} right ones, {len(wrong)} mistakes")
    return wrong


def check_ops(texts, ops, program):
    wrong, total = [], 0
    for source in sorted(ops.glob("*/kernel.gpu")):
        try:
            found, count = check_file(texts / f"{source.parent.name}.metal", source, program)
        except (kernel_text.Wrong, FileNotFoundError) as broken:
            found, count = [str(broken)], 0
        wrong += found
        total += count
    print(f"{total} variants of {len(list(ops.glob('*/kernel.gpu')))} files by {program}, {len(wrong)} faults")
    return wrong


def main(arguments):
    if len(arguments) not in (1, 2, 3):
        print(__doc__)
        return 2
    try:
        program = clang()
        if arguments[0] == "--corpus":
            wrong = check_corpus(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]), program)
        elif arguments[0] == "--ops":
            wrong = check_ops(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]), program)
        else:
            source = pathlib.Path(arguments[1]) if len(arguments) > 1 else None
            wrong, count = check_file(pathlib.Path(arguments[0]), source, program)
            print(f"{arguments[0]}: {count} variants by {program}, {len(wrong)} faults")
    except Missing as missing:
        print(f"skipped: {missing}")
        return 77
    except kernel_text.Wrong as broken:
        wrong = [str(broken)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
