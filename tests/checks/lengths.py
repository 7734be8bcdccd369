"""Files of at most 500 lines, functions of at most 60.

A function is found by its braces: a block whose opening follows a parameter list and stands in a namespace or a class,
counted from its opening brace to its closing one. A lambda counts in the function that holds it.
"""
import re

from sources import CPP, blank, line_of, read

FILE_LINES = 500
FUNCTION_LINES = 60
SOURCE = CPP | {".py", ".sh", ".cmake"}
FOLDERS = ("src", "include", "apps", "tests", "bench", "tools", "cmake", "softmetal")
CONTROL = re.compile(r"\b(if|for|while|switch|catch|do|else|try|return)\b")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
# Ends like a function's head: `)`, then qualifiers, a trailing return type or constructor initialisers.
HEAD = re.compile(r"\)\s*(const|noexcept|override|final|mutable|&{1,2}|HWY_ATTR|\s)*(->[^;{}()]*)?$")


def kind_of_block(head, parents):
    """`scope`, `function` or `inner`, from the text before an opening brace and the blocks around it."""
    if "function" in parents or "inner" in parents:
        return "inner"
    without_templates = re.sub(r"\btemplate\s*<[^{};]*?>\s*(?=\b(class|struct|inline|static|constexpr|auto|void|\w))", "", head)
    if SCOPE.search(without_templates.split("(")[0]):
        return "scope"
    initialisers = re.search(r"\)\s*(noexcept)?\s*:\s*[^:]", head)
    if (HEAD.search(head) or initialisers) and not CONTROL.match(head.strip()):
        return "function"
    return "inner" if head.strip() else "scope"


def functions(text):
    """(name, first line, lines) of every function in C++ text."""
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), blank(text), flags=re.MULTILINE)
    stack, head_start = [], 0
    for match in re.finditer(r"[{};]", code):
        at, char = match.start(), match.group()
        if char == "{":
            head = code[head_start:at]
            if re.search(r"[\w>]$", head):  # `member_{1}`: a value, part of the head of what follows
                stack.append(("value", at, head))
                continue
            stack.append((kind_of_block(head, [k for k, _, _ in stack]), at, head))
        elif char == "}" and stack:
            kind, opened, head = stack.pop()
            if kind == "value":
                continue
            if kind == "function":
                name = re.search(r"([\w:~]+)\s*\(", head)
                first = line_of(code, opened)
                yield (name.group(1) if name else "?"), first, line_of(code, at) - first + 1
        head_start = at + 1


def check(root, files):
    for path in files:
        if path.suffix not in SOURCE or path.parts[0] not in FOLDERS:
            continue
        text = read(root, path)
        lines = text.count("\n")
        if lines > FILE_LINES:
            yield f"{path}: {lines} lines (at most {FILE_LINES})"
        if path.suffix in CPP:
            for name, first, length in functions(text):
                if length > FUNCTION_LINES:
                    yield f"{path}:{first}: {name} has {length} lines (at most {FUNCTION_LINES})"


_BODY = "  int x = 0;\n"
CLEAN = {
    "src/core/a.cpp": "namespace chiaro {\nint f(int n) {\n" + _BODY * 50 + "}\nint g() {\n" + _BODY * 50 + "}\n}\n",
    "src/core/table.cpp": "const int kTable[] = {\n" + "  1,\n" * 200 + "};\n",
    "src/core/b.cpp": "class A {\n" + "  int f() { return 1; }\n" * 100 + "};\n",
    "src/core/c.cpp": 'const char* s = "{ {{";  // {{{\nvoid f() {\n' + _BODY * 20 + "}\n",
}
PLANTS = [
    ({"src/core/a.cpp": "int x;\n" * 501}, "501 lines"),
    ({"tools/a.py": "x = 1\n" * 501}, "501 lines"),
    ({"src/core/a.cpp": "namespace chiaro {\nint f(int n) {\n" + _BODY * 60 + "}\n}\n"}, "f has 62 lines"),
    ({"src/core/a.cpp": "class A {\n  A(int n) : n_(n), m_{1} {\n" + _BODY * 60 + "  }\n};\n"}, "lines (at most 60)"),
    ({"src/core/a.cpp": "template <class T>\nauto f(T n) const -> Result<T> {\n  if (n) {\n" + _BODY * 60 + "  }\n}\n"}, "f has 64 lines"),
    ({"tests/core/a.cpp": "TEST(A, B) {\n" + _BODY * 60 + "}\n"}, "TEST has 62 lines"),
]
