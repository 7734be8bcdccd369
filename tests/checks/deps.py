"""The packages that tools/install_deps.sh installs are the ones that README.md names."""
import re

from sources import read


def names(script):
    """Debian and Homebrew package names in the arrays of the script."""
    found = {}
    for group, body in re.findall(r"^((?:debian|brew)_(?:build|test))=\(([^)]*)\)", script, re.MULTILINE):
        found[group] = set(body.split())
    return found


def check(root, files):
    paths = {str(p) for p in files}
    if not {"README.md", "tools/install_deps.sh"} <= paths:
        yield "README.md or tools/install_deps.sh is missing"
        return
    readme = read(root, "README.md")
    groups = names(read(root, "tools/install_deps.sh"))
    if not groups:
        yield "tools/install_deps.sh: no package lists found"
    for group, packages in groups.items():
        for package in sorted(packages):
            if not re.search(rf"(?<![\w.+-]){re.escape(package)}(?![\w.+-])", readme):
                yield f"README.md does not name {package} ({group} in tools/install_deps.sh)"


_SCRIPT = "debian_build=(cmake\n  libpng-dev)\nbrew_build=(libpng)\n"
CLEAN = {"README.md": "`cmake libpng-dev`, `libpng`\n", "tools/install_deps.sh": _SCRIPT}
PLANTS = [
    ({"README.md": "`cmake`, `libpng`\n", "tools/install_deps.sh": _SCRIPT}, "does not name libpng-dev"),
    ({"README.md": "x\n", "tools/install_deps.sh": "echo\n"}, "no package lists"),
    ({"README.md": "x\n"}, "is missing"),
]
