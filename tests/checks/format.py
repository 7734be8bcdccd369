"""C++ files are as clang-format 14 writes them. Skipped where that version is not installed."""
import pathlib
import re
import shutil
import subprocess

from sources import CPP

NAMES = ("clang-format-14", "clang-format")
FOLDERS = ("src", "include", "apps", "tests", "bench", "softmetal")
STYLE = pathlib.Path(__file__).resolve().parents[2] / ".clang-format"


class Missing(Exception):
    """clang-format 14 is not here."""


def program():
    for name in NAMES:
        if shutil.which(name):
            version = subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout
            if re.search(r"version 14\.", version):
                return name
    raise Missing("clang-format 14 is not installed")


def candidates(root, files):
    return [str(pathlib.Path(root) / p) for p in files if p.suffix in CPP and p.parts[0] in FOLDERS]


def check(root, files):
    names = candidates(root, files)
    if not names:
        return
    command = [program(), f"--style=file:{STYLE}", "--dry-run", "-Werror"]
    done = subprocess.run(command + names, capture_output=True, text=True, check=False)
    for line in done.stderr.splitlines():
        if "clang-format-violations" in line:
            yield line.replace(str(root) + "/", "").replace(" [-Wclang-format-violations]", "")
    if done.returncode != 0 and "clang-format-violations" not in done.stderr:
        yield done.stderr.strip()


def fix(root, files):
    names = candidates(root, files)
    if names:
        subprocess.run([program(), f"--style=file:{STYLE}", "-i"] + names, check=True)


CLEAN = {"src/core/a.cpp": "int f(int n) {\n  return n + 1;\n}\n"}
PLANTS = [({"src/core/a.cpp": "int  f( int n ){return n+1;}\n"}, "src/core/a.cpp:1:")]
