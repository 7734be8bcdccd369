"""What the checks share: the list of files of a tree, and C++ text without its comments and strings."""
import pathlib
import re
import subprocess

CPP = {".cpp", ".h", ".c", ".gpu"}
SKIP_FOLDERS = {".git", "__pycache__", "build", "out"}


def tracked(root):
    """Paths of the tree relative to root: what git tracks, or every file where there is no repository."""
    root = pathlib.Path(root)
    if (root / ".git").exists():
        command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z"]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0:
            names = done.stdout.decode().split("\0")
            return sorted(pathlib.PurePosixPath(n) for n in names if n and (root / n).is_file())
    found = []
    for path in root.rglob("*"):
        relative = path.relative_to(root)
        if path.is_file() and not SKIP_FOLDERS.intersection(relative.parts) and not relative.parts[0].startswith("build-"):
            found.append(pathlib.PurePosixPath(relative.as_posix()))
    return sorted(found)


def read(root, path):
    return (pathlib.Path(root) / path).read_text(encoding="utf-8")


TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\ ]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)


def blank(text, strings=True):
    """The text with comments (and, if asked, the insides of strings) turned to spaces; lines keep their numbers."""

    def empty(match):
        token = match.group(0)
        if not strings and token[0] in "\"'R":
            return token
        spaces = re.sub(r"[^\n]", " ", token)
        return spaces if token[0] == "/" else '"' + spaces[1:-1] + '"'

    return TOKEN.sub(empty, text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1
