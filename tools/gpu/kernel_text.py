"""What the tools read out of a kernel.gpu: its function constants with their values, and its kernels."""
import itertools
import re

CONSTANT = re.compile(r"^GPU_CONSTANT\((\w+), (\w+), (\d+)\);[ \t]*(?://[ \t]*values:[ \t]*(.*))?$", re.MULTILINE)
KERNEL = re.compile(r"^GPU_KERNEL\((\w+),", re.MULTILINE)
TYPES = {"GPU_F32": 0, "GPU_F16": 1, "GPU_BF16": 2, "GPU_E4M3": 3, "GPU_E5M2": 4, "GPU_I8": 5, "GPU_I32": 6}


class Wrong(Exception):
    """The file breaks a rule of docs/kernels.md."""


def constants(text, path):
    """[(type, name, index, [values as written])], by index."""
    found = []
    for kind, name, index, values in CONSTANT.findall(text):
        if not values:
            raise Wrong(f"{path}: GPU_CONSTANT {name} lacks its '// values: a, b'")
        found.append((kind, name, int(index), [v.strip() for v in values.split(",")]))
    if len(found) != len(re.findall(r"^\s*GPU_CONSTANT\(", text, re.MULTILINE)):
        raise Wrong(f"{path}: every GPU_CONSTANT stands in a line of its own, with '// values: a, b'")
    found.sort(key=lambda c: c[2])
    if [c[2] for c in found] != list(range(len(found))):
        raise Wrong(f"{path}: the numbers of the constants are 0, 1, 2, ...")
    return found


def number(value):
    """A value as an integer: GPU_F16 -> 1, true -> 1."""
    if value in TYPES:
        return TYPES[value]
    return {"true": 1, "false": 0}[value] if value in ("true", "false") else int(value.rstrip("u"))


def variants(text, path):
    """All combinations of values as tuples of integers. A value that is another constant's name follows that one."""
    found = constants(text, path)
    names = [c[1] for c in found]
    combinations = []
    for chosen in itertools.product(*(c[3] for c in found)):
        row = [chosen[names.index(v)] if v in names else v for v in chosen]
        combinations.append(tuple(number(v) for v in row))
    return sorted(set(combinations))


def kernels(text):
    return KERNEL.findall(text)
