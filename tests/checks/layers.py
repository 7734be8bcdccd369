"""Rooms see only those below them, and names stay where they belong.

- a file of src/<room>/ includes headers of its own room, of lower rooms and of include/chiaro/
- include/chiaro/ includes only itself and the standard library
- the verifier (src/plan/verify*) includes only plan.h, graph.h, its own header and the standard library
- no operator's name in src/backend/
- names of tensors as other programs' checkpoints have them only in src/models/*/manifest.cpp and, to
  tell files apart, src/models/detect.cpp; the canonical names, which are also the labels of layers, only in src/models/
  (tests and tools are free)
"""
import re

from sources import CPP, blank, line_of, read

ROOMS = ["core", "graph", "gpu", "ops", "backend", "plan", "runtime", "weights", "text", "nn", "models", "diffusion", "pipeline"]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
VERIFY_MAY = {"plan/plan.h", "plan/verify.h", "graph/graph.h"}
FOREIGN = re.compile(r"model\.diffusion_model|first_stage_model|cond_stage_model|conditioner\.embedders|"
                     r"(?<![a-z_])(input_blocks|output_blocks|middle_block)\b")
CANONICAL = re.compile(r"(?<![a-z_])(down_blocks|up_blocks|mid_block)\b|text_model\.encoder")
# Operators whose names are also plain English: these are looked for as code only, not in prose.
ENGLISH = {"add", "mul", "sub", "div", "cast", "copy", "pad", "fill", "scale", "concat", "slice", "sum", "mean", "max", "min",
           "exp", "view", "custom", "linear", "gather", "attention", "embedding", "convert", "write", "contiguous", "broadcast",
           "reshape", "permute"}


def standard(name):
    return re.fullmatch(r"[a-z_]+|(stddef|stdint|stdbool)\.h", name) is not None


def operators(root, files):
    """Every name given to chiaro_add_op, one or several a line."""
    names = []
    for path in files:
        if path.name == "CMakeLists.txt" and path.parts[:2] == ("src", "ops"):
            text = re.sub(r"#.*", "", read(root, path))
            names += [n for call in re.findall(r"chiaro_add_ops?\(([^)]*)\)", text) for n in call.split()]
            names += [n for body in re.findall(r"foreach\(op IN ITEMS ([^)]*)\)", text) for n in body.split()]
    return [n for n in names if re.fullmatch(r"[a-z0-9_]+", n)]


def check_includes(path, text):
    """Violations of the order of rooms in one file."""
    room = path.parts[1] if path.parts[0] == "src" and len(path.parts) > 2 else None
    public = path.parts[:2] == ("include", "chiaro")
    verifier = path.parts[:2] == ("src", "plan") and path.name.startswith("verify")
    for match in INCLUDE.finditer(text):
        kind, name = match.groups()
        where = f"{path}:{line_of(text, match.start())}"
        target = name.split("/")[0] if "/" in name else None
        if public and not (target == "chiaro" or (kind == "<" and standard(name))):
            yield f"{where}: a public header includes {name}"
        own = name in VERIFY_MAY or name.startswith("plan/verify_")
        if verifier and not (own or (kind == "<" and standard(name))):
            yield f"{where}: the verifier may include only plan.h and graph.h, not {name}"
        if room in ROOMS and target in ROOMS and ROOMS.index(target) > ROOMS.index(room):
            yield f"{where}: {room} lies below {target} and may not include {name}"
        if room in ROOMS and kind == '"' and (target in ("apps", "tests") or name.startswith("..")):
            yield f"{where}: include paths start at src/ or include/, and a room sees no {name}"


def check_names(path, text, ops):
    if path.parts[:2] == ("src", "backend"):
        for op in ops:
            pattern = rf'"{op}"|ops/{op}/|op_def_{op}\b|cpu_kernels_{op}\b'
            if op not in ENGLISH:
                pattern += rf"|\b{op}\b"
            for match in re.finditer(pattern, text):
                yield f"{path}:{line_of(text, match.start())}: an operator's name ({op}) in a backend"
    code = blank(text, strings=False)
    model = path.parts[:2] == ("src", "models")
    for pattern, allowed in ((FOREIGN, model and path.name in ("manifest.cpp", "detect.cpp")), (CANONICAL, model)):
        for match in () if allowed else pattern.finditer(code):
            yield f"{path}:{line_of(code, match.start())}: a checkpoint's name ({match.group()}) outside its place"


def check(root, files):
    ops = operators(root, files)
    for path in files:
        if path.suffix in CPP and path.parts[0] in ("src", "include", "apps"):
            text = read(root, path)
            yield from check_includes(path, text)
            yield from check_names(path, text, ops)


CLEAN = {
    "src/ops/CMakeLists.txt": "chiaro_add_op(silu)\nchiaro_add_op(add)\n",
    "src/plan/plan.h": '#include <vector>\n#include "graph/graph.h"\n#include "chiaro/error.h"\n',
    "src/plan/verify.cpp": '#include "plan/plan.h"\n#include "graph/graph.h"\n#include <vector>\n',
    "src/backend/cpu/device.cpp": '// add a queue\n#include "ops/kernel.h"\n',
    "src/models/unet/manifest.cpp": 'const char* kName = "model.diffusion_model.input_blocks.0";\n',
    "src/models/unet/model.cpp": 'auto a = layer["down_blocks"];  // input_blocks in the old layout\n',
    "include/chiaro/error.h": "#include <string>\n",
}
PLANTS = [
    ({"src/core/a.h": '#include "graph/graph.h"\n'}, "core lies below graph"),
    ({"src/weights/a.cpp": '#include "nn/linear.h"\n'}, "weights lies below nn"),
    ({"src/graph/a.cpp": '#include "../plan/plan.h"\n'}, "a room sees no ../plan/plan.h"),
    ({"src/plan/verify.cpp": '#include "plan/passes/own.h"\n'}, "the verifier may include only"),
    ({"include/chiaro/chiaro.h": '#include "core/shape.h"\n'}, "a public header includes core/shape.h"),
    ({"include/chiaro/chiaro.h": "#include <fmt/core.h>\n"}, "a public header includes fmt/core.h"),
    ({"src/ops/CMakeLists.txt": "chiaro_add_op(silu)\n", "src/backend/cpu/a.cpp": "// silu runs here\n"}, "operator's name (silu)"),
    ({"src/ops/CMakeLists.txt": "chiaro_add_op(add)\n", "src/backend/cpu/a.cpp": 'if (n == "add") {}\n'}, "operator's name (add)"),
    ({"src/models/unet/model.cpp": 'auto w = get("input_blocks.0");\n'}, "checkpoint's name (input_blocks)"),
    ({"src/pipeline/a.cpp": 'auto w = get("down_blocks.0");\n'}, "checkpoint's name (down_blocks)"),
    ({"src/weights/a.cpp": 'auto w = "model.diffusion_model.x";\n'}, "checkpoint's name (model.diffusion_model)"),
]
