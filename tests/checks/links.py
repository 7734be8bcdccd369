"""Relative links in Markdown files lead to files and headings that exist."""
import pathlib
import re

from sources import read

LINK = re.compile(r"!?\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)


def anchors(text):
    """The anchors that a Markdown viewer gives the headings of a page."""
    found = set()
    for title in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def check(root, files):
    for path in files:
        if path.suffix != ".md":
            continue
        text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", read(root, path)))
        for target in LINK.findall(text):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            there = pathlib.Path(root) / path.parent / name if name else pathlib.Path(root) / path
            if not there.exists():
                yield f"{path}: broken link {target}"
            elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text(encoding="utf-8")):
                yield f"{path}: no heading for {target}"


CLEAN = {
    "README.md": "# A b\n[x](docs/a.md#the-title) [y](#a-b) [z](https://example.org/x) `[no](link.md)`\n```\n[n](o.md)\n```\n",
    "docs/a.md": "## The `title`\n[up](../README.md) [folder](../docs)\n",
}
PLANTS = [
    ({"README.md": "[x](docs/none.md)\n"}, "broken link docs/none.md"),
    ({"docs/a.md": "![x](pic.svg)\n"}, "broken link pic.svg"),
    ({"README.md": "# A\n[x](#b)\n"}, "no heading for #b"),
]
