"""What the tools read out of a kernel.gpu: its function constants with their values, and its kernels."""
import functools
import itertools
import pathlib
import re

CONSTANT = re.compile(r"^GPU_CONSTANT\((\w+), (\w+), (\d+)\);[ \t]*(?://[ \t]*values:[ \t]*(.*))?$", re.MULTILINE)
KERNEL = re.compile(r"^GPU_KERNEL\((\w+),", re.MULTILINE)
DEFINE = re.compile(r"^#define (GPU_\w+) (\d+)u\b", re.MULTILINE)
HEADERS = pathlib.Path(__file__).resolve().parents[2] / "src" / "gpu"


class Wrong(Exception):
    """The file breaks a rule of docs/kernels.md."""


def constants(text, path):
    """[(type, name, index, [values as written])], by index. A list that ends in a comma goes on in the next comment."""
    found = []
    while re.search(r"// *values:[^\n]*,[ \t]*\n[ \t]*//", text):
        text = re.sub(r"(// *values:[^\n]*,)[ \t]*\n[ \t]*//", r"\1", text)
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


@functools.cache
def names():
    """The dialect's named numbers: GPU_F16 -> 1."""
    found = {"true": 1, "false": 0}
    for header in sorted(HEADERS.glob("*.h")):
        found |= {name: int(value) for name, value in DEFINE.findall(header.read_text(encoding="utf-8"))}
    return found


def number(value, path):
    """A value as an integer."""
    if value in names():
        return names()[value]
    if re.fullmatch(r"-?\d+u?", value):
        return int(value.rstrip("u"))
    raise Wrong(f"{path}: {value} is no value that the dialect knows")


def variants(text, path):
    """All combinations of values as tuples of integers. A value that is another constant's name follows that one."""
    found = constants(text, path)
    own = [c[1] for c in found]
    combinations = []
    for chosen in itertools.product(*(c[3] for c in found)):
        row = [chosen[own.index(v)] if v in own else v for v in chosen]
        combinations.append(tuple(number(v, path) for v in row))
    return sorted(set(combinations))


def kernels(text):
    return KERNEL.findall(text)
