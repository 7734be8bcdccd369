#!/usr/bin/env python3
"""Checks of the source tree.

  run.py NAME ROOT              run one check (or `all`) on the tree at ROOT
  run.py NAME --self-test       plant each of the check's violations in an empty folder and see it found
  run.py format --fix ROOT      rewrite the C++ files

A check is a module with check(root, files), which yields one line per violation; CLEAN, a tree in which it must find
nothing; and PLANTS, pairs of a tree and a text that the violation found in it must hold.
Exit code: 0 clean, 1 violations, 2 usage, 77 skipped.
"""
import importlib
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import format as format_check  # noqa: E402
import sources  # noqa: E402

NAMES = ("layers", "lengths", "words", "format", "tree_size", "links", "deps", "c_interface")


def violations(name, root):
    return list(importlib.import_module(name).check(root, sources.tracked(root)))


def planted(tree):
    """A temporary folder that holds `tree`, a map of path to text."""
    folder = tempfile.TemporaryDirectory(prefix="chiaro-check-")
    for name, text in tree.items():
        path = pathlib.Path(folder.name) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def self_test(name):
    module = importlib.import_module(name)
    wrong = []
    with planted(module.CLEAN) as root:
        wrong += [f"a clean tree is accused: {line}" for line in violations(name, root)]
    for tree, expected in module.PLANTS:
        with planted(tree) as root:
            found = violations(name, root)
        if not any(expected in line for line in found):
            wrong.append(f"planted, not found: {expected!r} (found: {found})")
    print(f"{name}: {len(module.PLANTS)} planted violations, {len(wrong)} mistakes")
    return wrong


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in NAMES + ("all",):
        print(__doc__)
        return 2
    chosen = NAMES if arguments[0] == "all" else (arguments[0],)
    wrong = []
    try:
        if arguments[1] == "--fix":
            format_check.fix(arguments[2], sources.tracked(arguments[2]))
            return 0
        for name in chosen:
            wrong += self_test(name) if arguments[1] == "--self-test" else violations(name, arguments[1])
    except format_check.Missing as missing:
        print(f"skipped: {missing}")
        return 77
    print("\n".join(wrong) if wrong else f"{', '.join(chosen)}: clean")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
