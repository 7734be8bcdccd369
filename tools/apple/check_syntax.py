#!/usr/bin/env python3
"""Reads the sources that a Mac would compile with clang on Linux, for the target arm64-apple-macos14: libc++, Apple's
platform macros, blocks, and metal-cpp's names. Nothing is linked and nothing runs. Apple's own headers are stood in for by
tools/apple/stubs and the C library of this machine, metal-cpp by softmetal's headers or by Apple's with --metal-cpp.

  check_syntax.py BUILD [--metal-cpp DIR] [PATH...]   PATHs are folders or files; all of src and apps without any

BUILD is a build folder that was configured: generated headers lie there. Exit code: 0 passes, 1 fails, 77 no clang
that has the target and libc++.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
STUBS = pathlib.Path(__file__).resolve().parent / "stubs"
CLANGS = ("clang++-14", "clang++-19", "clang++-18", "clang++-17", "clang++-16", "clang++-15", "clang++")
LLVM = pathlib.Path("/usr/lib/llvm-14/include/c++/v1")


def flags(metal_cpp, build):
    # The C library's headers are those of this machine, less what the stubs replace: its word size, its 64-bit types.
    # __nonnull is a macro of Apple's clang and a name of glibc's.
    system = [STUBS, LLVM, "/usr/include/x86_64-linux-gnu", "/usr/include", metal_cpp]
    more = [item for folder in system for item in ("-isystem", str(folder))]
    return ["--target=arm64-apple-macos14", "-std=c++20", "-fsyntax-only", "-fblocks", "-nostdinc++", *more,
            "-D_GNU_SOURCE", '-DCHIARO_VERSION="0"', '-DCHIARO_SHIPPED_MODELS=""', "-U__nonnull", "-U__LITTLE_ENDIAN__",
            "-I", str(ROOT / "src"), "-I", str(ROOT / "include"), "-I", str(ROOT / "apps" / "cli"), "-I", str(build / "generated"),
            "-DFMT_HEADER_ONLY=1", "-DSPDLOG_FMT_EXTERNAL", "-DCHIARO_ONE_TARGET=1",
            "-Wall", "-Wextra", "-Werror", "-Wno-unknown-attributes", "-ferror-limit=5"]


def sources(paths):
    for path in paths:
        if path.is_file():
            yield path
        else:
            yield from sorted(path.rglob("*.cpp"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("paths", nargs="*", type=pathlib.Path)
    parser.add_argument("--metal-cpp", type=pathlib.Path, default=ROOT / "softmetal" / "include")
    parser.add_argument("-j", type=int, default=os.cpu_count())
    args = parser.parse_intermixed_args()
    program = next((name for name in CLANGS if shutil.which(name)), None)
    if program is None or not LLVM.is_dir():
        print("there is no clang with libc++ here")
        return 77
    command = [program, *flags(args.metal_cpp.resolve(), args.build.resolve())]
    files = list(sources(args.paths or [ROOT / "src", ROOT / "apps"]))

    def read(path):
        done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)
        return path, done.returncode, done.stderr

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.j) as pool:
        for path, code, text in pool.map(read, files):
            if code != 0:
                failed += 1
                print(f"{path}:\n{text}")
    print(f"{len(files) - failed} of {len(files)} files pass for arm64-apple-macos14")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
