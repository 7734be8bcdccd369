"""Words that must not stand in the code: what libc++ 14 lacks, what ends the process, what was left for later."""
import re

from sources import CPP, blank, line_of, read

CODE = [  # (pattern, folders, why); looked for outside comments and strings
    (r"\bstd::format\b|#\s*include\s*<(format|expected|stop_token|print|ranges)>|\bstd::(jthread|expected|stop_token)\b",
     ("src", "include", "apps", "tests", "bench"), "libc++ 14 lacks it"),
    (r"(?<![\w:.>])(std::)?(abort|terminate|quick_exit|_Exit|exit)\s*\(", ("src", "include"), "library code never ends the process"),
    (r"(?<!\w)(std::)?f?printf\s*\(|(?<!\w)(std::)?(puts|fputs|putchar)\s*\(|\bstd::(cout|cerr|clog)\b", ("src", "include"),
     "library code logs, it does not print"),
    (r"\bu8path\b", ("src", "include", "apps", "tests"), "deprecated, an error with libc++: use path_from_utf8"),
    (r"\busing namespace std\b", ("src", "include", "apps"), "std stays spelled out"),
    (r"(?<![\w:.])(std::)?s?rand\s*\(|\bstd::random_device\b", ("src", "include"), "noise is counter-based and seeded"),
    (r"\bassert\s*\(", ("src", "include"), "a release build drops it: return an Error or use the project's own check"),
]
TEXT = [(r"\b(TODO|FIXME|XXX|HACK)\b", ("src", "include", "apps", "tests", "bench", "tools", "cmake"), "write an issue instead")]
# (file, pattern word) pairs that may: each with its reason.
ALLOW = {
    ("src/core/shape.cpp", "abort"): "a rank above kMaxRank: our own mistake, readers check ranks before they build Dims",
    ("src/core/tensor.cpp", "abort"): "an element of a block type: our own mistake, block types have no elements",
    ("src/pipeline/request.cpp", "random_device"): "a seed for who asks for a random one; the result says which",
}


def allowed(path, word):
    return any(str(path) == file and name in word for file, name in ALLOW)


def find(path, text, rules):
    for pattern, folders, why in rules:
        if path.parts[0] in folders:
            for match in re.finditer(pattern, text):
                if not allowed(path, match.group()):
                    yield f"{path}:{line_of(text, match.start())}: {match.group().strip()}: {why}"


def check(root, files):
    for path in files:
        if path.suffix in CPP:
            text = read(root, path)
            yield from find(path, blank(text), CODE)
        if path.suffix in CPP | {".py", ".sh", ".cmake", ".txt"} and path.parts[:2] != ("tests", "checks"):
            if path.parts[0] in TEXT[0][1] and path.suffix != ".txt" or path.name == "CMakeLists.txt":
                yield from find(path, read(root, path), TEXT)


CLEAN = {
    "src/core/a.cpp": '// never abort() here\nconst char* s = "std::format(";\nint n = snprintf(buf, 4, "x");\nx.exit();\n',
    "apps/cli/main.cpp": "int main() { std::printf(\"x\"); }\n",
    "tests/core/a.cpp": "static_assert(true);\nstd::mt19937 r;\n",
}
PLANTS = [
    ({"src/core/a.cpp": "auto s = std::format(x);\n"}, "std::format"),
    ({"tests/core/a.cpp": "#include <expected>\n"}, "libc++ 14"),
    ({"src/core/a.cpp": "std::jthread t;\n"}, "std::jthread"),
    ({"src/core/a.cpp": "auto p = std::filesystem::u8path(s);\n"}, "path_from_utf8"),
    ({"src/core/a.cpp": "void f() { std::abort(); }\n"}, "never ends the process"),
    ({"src/core/a.cpp": "void f() { exit(1); }\n"}, "never ends the process"),
    ({"src/core/a.cpp": 'void f() { printf("x"); }\n'}, "does not print"),
    ({"src/core/a.cpp": 'void f() { std::cerr << "x"; }\n'}, "does not print"),
    ({"src/core/a.cpp": "void f() { assert(x); }\n"}, "a release build drops it"),
    ({"src/core/a.cpp": "// TO" + "DO later\n"}, "write an issue"),
    ({"tools/a.py": "# FIX" + "ME\n"}, "write an issue"),
]
