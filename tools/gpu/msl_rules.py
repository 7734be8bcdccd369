"""What Metal refuses and C++ for OpenCL does not, as rules over clang's syntax tree (-ast-dump=json) and the text."""
import re

FORBIDDEN = {
    "LambdaExpr": "a lambda", "GotoStmt": "goto", "LabelStmt": "a label", "CXXNewExpr": "new", "CXXDeleteExpr": "delete",
    "CXXThrowExpr": "an exception", "CXXTryStmt": "an exception", "CXXDynamicCastExpr": "dynamic_cast", "AsmStmt": "assembly",
    "GCCAsmStmt": "assembly", "CXXTypeidExpr": "typeid",
}
# Of classes only data is used: Metal refuses methods on objects in other address spaces than the method's.
MEMBERS = {"CXXMethodDecl": "a member function", "CXXConstructorDecl": "a constructor", "CXXDestructorDecl": "a destructor",
           "CXXConversionDecl": "a conversion function"}
RESERVED = {"sampler", "texture2d", "texture", "depth2d", "vertex", "fragment", "object", "mesh", "access", "ray", "bfloat",
            "ulong", "long", "visible", "stitchable", "assert", "atomic_int", "atomic_uint", "atomic", "main", "sqrtf", "patch",
            "intersection", "raytracing", "array", "packed_float4", "float3", "int4", "bool4", "simdgroup", "quadgroup"}
NAMED = {"VarDecl", "ParmVarDecl", "FieldDecl", "FunctionDecl"}
TYPED = NAMED | {"TypedefDecl", "TypeAliasDecl"}


def children(node):
    return [c for c in node.get("inner", []) if isinstance(c, dict) and c]


def ours(node):
    """Not of the declarations that stand in for Metal's library, and not made by the compiler."""
    where = node.get("loc", {})
    spelled = where.get("spellingLoc", where)
    return "includedFrom" not in spelled and "includedFrom" not in where and not node.get("isImplicit", False)


def line(node):
    where = node.get("loc", {})
    where = where.get("expansionLoc", where)
    if "line" in where:
        return where["line"]
    return node.get("range", {}).get("begin", {}).get("line", "?")


def type_of(node):
    kinds = node.get("type", {})
    return kinds.get("desugaredQualType", kinds.get("qualType", "")) + " | " + kinds.get("qualType", "")


def check_node(node, inside_function):
    kind, name = node.get("kind", ""), node.get("name", "")
    if kind in FORBIDDEN:
        yield f"{FORBIDDEN[kind]}"
    if kind in MEMBERS:
        yield f"{MEMBERS[kind]} ({name})"
    if kind == "CXXRecordDecl" and node.get("bases"):
        yield f"a derived class ({name})"
    if kind == "FunctionDecl" and node.get("previousDecl"):
        yield f"a forward declaration ({name})"
    if kind in NAMED and name in RESERVED:
        yield f"a reserved name ({name})"
    if kind in TYPED:
        written = type_of(node)
        if "__generic" in written:
            yield f"no address space: {name}"
        if re.search(r"(?<![\w:])(const )?(T|U|V|auto|Reduce|[A-Z]) ?[&*]", written) and "__" not in written.split("|")[1]:
            yield f"no address space: {name}"
        if re.search(r"\blong\b|\bdouble\b", written):
            yield f"a 64-bit type ({name})"
        if re.search(r"\(\*\)", written):
            yield f"a function pointer ({name})"
    if kind == "VarDecl" and inside_function and node.get("storageClass") == "static":
        yield f"a static local ({name})"
    if kind == "VarDecl" and not inside_function and "__constant" not in type_of(node):
        yield f"a global that is not constant ({name})"
    if kind == "BinaryConditionalOperator":
        yield "the operator ?:"
    if kind in ("CStyleCastExpr", "CXXReinterpretCastExpr", "CXXStaticCastExpr") and node.get("castKind") == "AddressSpaceConversion":
        yield "a cast between address spaces"


def calls(node):
    """Ids of functions that a tree refers to."""
    found = set()
    stack = [node]
    while stack:
        one = stack.pop()
        target = one.get("referencedDecl", {})
        if target.get("kind") == "FunctionDecl":
            found.add(target.get("id"))
        stack += children(one)
    return found


def search(tree):
    last_line = ["?"]
    edges, names = {}, {}

    def walk(node, inside):
        if not ours(node):
            return
        where = line(node)
        if where != "?":
            last_line[0] = where
        for fault in check_node(node, inside):
            yield f"line {last_line[0]}: {fault}"
        kind = node.get("kind")
        if kind == "FunctionDecl":
            edges[node["id"]] = calls(node)
            names[node["id"]] = node.get("name", "?")
            inside = True
        for child in children(node):
            yield from walk(child, inside)

    for child in children(tree):
        yield from walk(child, False)
    for start in edges:
        seen, stack = set(), [start]
        while stack:
            for callee in edges.get(stack.pop(), ()):
                if callee == start:
                    yield f"recursion: {names[start]}"
                    seen.add(start)
                    stack = []
                    break
                if callee not in seen:
                    seen.add(callee)
                    stack.append(callee)


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)


def search_text(text):
    """Rules about words that the tree no longer holds."""
    code = without_comments(text)
    for head in re.findall(r"\bkernel\s+[\w<>]+\s+(\w+\s*\([^{]*)\{", code):
        name = head.split("(")[0].strip()
        slots = re.findall(r"\[\[buffer\((\d+)\)", head)
        if len(slots) != len(set(slots)):
            yield f"kernel {name}: two arguments with one buffer index"
        if any(int(slot) > 30 for slot in slots):
            yield f"kernel {name}: a buffer index above 30"
        for argument in re.split(r",(?![^(\[]*[\])])", head[head.index("(") + 1 :].rsplit(")", 1)[0]):
            if argument.strip() and "[[" not in argument:
                yield f"kernel {name}: an argument without an attribute ({argument.strip()})"
    for word in re.findall(r"\b(thread_local|volatile|register|noexcept|asm|consteval|mutable)\b", code):
        yield f"the word {word}"
    if re.search(r"\bif constexpr\b", code):
        yield "if constexpr (C++17)"
    for include in re.findall(r"#\s*include\s*<([^>]+)>", code):
        if include not in ("metal_stdlib", "metal_simdgroup_matrix"):
            yield f"a header Metal lacks: {include}"
    in_helper = re.sub(r"\bkernel\s+void[^{]*\{", "KERNEL{", code)
    depth, kernel_depth = 0, None
    for token in re.finditer(r"KERNEL\{|[{}]|\bthreadgroup\s+[\w:<>]+\s+\w+\s*\[", in_helper):
        word = token.group()
        if word == "KERNEL{":
            kernel_depth, depth = depth, depth + 1
        elif word == "{":
            depth += 1
        elif word == "}":
            depth -= 1
            kernel_depth = None if depth == kernel_depth else kernel_depth
        elif kernel_depth is None or depth != kernel_depth + 1:
            yield "a threadgroup array that does not stand at the top of a kernel"
