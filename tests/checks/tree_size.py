"""The tracked tree stays below 60 MB, and no file but the model's weights is above 2 MB."""
import pathlib

TREE_BYTES = 60 * 1000 * 1000
FILE_BYTES = 2 * 1000 * 1000
MODELS = pathlib.PurePosixPath("models")


def check(root, files, tree_bytes=TREE_BYTES, file_bytes=FILE_BYTES):
    total = 0
    for path in files:
        size = (pathlib.Path(root) / path).stat().st_size
        total += size
        if size > file_bytes and MODELS not in path.parents:
            yield f"{path}: {size} bytes (at most {file_bytes} outside models/)"
    if total > tree_bytes:
        yield f"the tree holds {total} bytes (at most {tree_bytes})"


CLEAN = {"models/tiny/a.safetensors": "x" * (FILE_BYTES + 1), "src/a.cpp": "int x;\n"}
PLANTS = [
    ({"tests/golden/a.bin": "x" * (FILE_BYTES + 1)}, "at most 2000000 outside models/"),
    ({"models/a.bin": "x" * (TREE_BYTES + 1)}, "the tree holds"),
]
