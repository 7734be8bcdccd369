"""How a piece of a kernel can be wrong: each rule gives mutations of the piece's tokens.

A mutation is (kind, place, texts): the token at which it happens and the texts of all tokens, some altered, some gone.
Equal operators on a piece give equal mutations: nothing here is drawn by chance.
"""
import re

ORDER = {"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
         "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/="}
COMPARISONS = {"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",), "!=": ("==",)}
OTHER_OPERATOR = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&"}
OTHER_FUNCTION = {"simd_sum": "simd_max", "simd_max": "simd_sum", "group_sum": "group_max", "group_max": "group_sum",
                  "min": "max", "max": "min", "load_bits": None, "exp": "fabs", "sqrt": "fabs"}
# Names that stand for the same thing along another axis or of another operand.
SWAPPED = [("row", "column"), ("r", "c"), ("ky", "kx"), ("oy", "ox"), ("iy", "ix"), ("first", "last"), ("s1", "s2"),
           ("row0", "column0"), ("row0", "o0"), ("x_base", "b_base"), ("from", "to"), ("gate", "value"), ("m", "n"),
           ("k", "n"), ("tokens", "heads"), ("queries", "keys"), ("query", "key"), ("row", "lane"), ("group", "picture"),
           ("center", "rest"), ("u", "v"), ("x0", "x1"), ("r00", "r01"), ("r10", "r11"), ("e0", "e1"), ("w", "h"),
           ("first", "second"), ("head", "token"), ("rows", "columns"), ("tid", "threads"), ("chunk", "chunks"),
           ("kept", "summed"), ("sin", "cos"), ("dim", "count"), ("expert", "tile"), ("b0", "b1"), ("b2", "b3"),
           ("scale", "shift"), ("x", "y"), ("y", "z"), ("z", "w"), ("gpu_lane", "gpu_simd"), ("tile", "end"),
           ("k_base", "v_base"), ("q_base", "bias_base"), ("stride", "shape"), ("TILE", "DEPTH"), ("s00", "s01"),
           ("s10", "s11"), ("x_offset", "chunk_end"), ("now", "most")]


class Operands:
    """Where the operands of the binary operators of a piece begin and end."""

    def __init__(self, texts, kinds):
        self.texts, self.kinds = texts, kinds
        self.match, stack = {}, []
        for i, text in enumerate(texts):
            if text in ("(", "[", "{"):
                stack.append(i)
            elif text in (")", "]", "}"):
                self.match[i] = stack.pop()
                self.match[self.match[i]] = i

    def binary(self, i):
        if self.texts[i] not in ORDER or i == 0:
            return False
        return self.kinds[i - 1] != "op" or self.texts[i - 1] in (")", "]")

    def right(self, i):
        """One past the last token of the right operand of the operator at i."""
        j = i + 1
        while j < len(self.texts):
            text = self.texts[j]
            if text in ("(", "["):
                j = self.match[j]
            elif text in (")", "]", ",", ";", "?", ":") or text in ASSIGNMENTS:
                return j
            elif self.binary(j) and ORDER[text] <= ORDER[self.texts[i]]:
                return j
            j += 1
        return j

    def left(self, i):
        """The first token of the left operand, up to an operator that binds as much or less."""
        j = i - 1
        while j >= 0:
            text = self.texts[j]
            if text in (")", "]"):
                j = self.match[j]
            elif text in ("(", "[", ",", "?", ":", "return") or text in ASSIGNMENTS:
                return j + 1
            elif self.binary(j) and ORDER[text] <= ORDER[self.texts[i]]:
                return j + 1
            j -= 1
        return 0


def without(texts, first, last):
    return [None if first <= i < last else t for i, t in enumerate(texts)]


def replaced(texts, i, text):
    return texts[:i] + [text] + texts[i + 1:]


def comparisons(p):
    for i, text in enumerate(p.texts):
        if text in COMPARISONS and p.operands.binary(i):
            for n, other in enumerate(COMPARISONS[text]):
                yield ("bound" if n == 0 and text[0] in "<>" else "comparison"), i, replaced(p.texts, i, other)


def terms(p):
    """A term of a sum dropped, a factor of a product, a part of a condition."""
    for i, text in enumerate(p.texts):
        if text not in ("+", "-", "*", "/", "%", "&&", "||", "<<", ">>") or not p.operands.binary(i):
            continue
        kind = {"+": "term", "-": "term", "&&": "guard", "||": "guard"}.get(text, "factor")
        yield kind, i, without(p.texts, i, p.operands.right(i))
        start = p.operands.left(i)
        chained = start > 0 and p.operands.binary(start - 1) and ORDER[p.texts[start - 1]] == ORDER[text]
        if text in ("+", "*", "&&", "||") and not chained:
            yield kind, start, without(p.texts, start, i + 1)


def operators(p):
    for i, text in enumerate(p.texts):
        if text in OTHER_OPERATOR and p.operands.binary(i):
            yield "operator", i, replaced(p.texts, i, OTHER_OPERATOR[text])
        if text == "+=" and p.context == "statement":
            yield "accumulator", i, replaced(p.texts, i, "=")
        if text == "-" and not p.operands.binary(i):
            yield "operator", i, replaced(p.texts, i, None)


def other_number(text):
    """A number that is near, but wrong."""
    if re.fullmatch(r"0[xX][0-9a-fA-F]+u?", text):
        return hex((int(text.rstrip("u"), 16) ^ 0x00110008) & 0xFFFFFFFF) + "u"
    if re.fullmatch(r"\d+u?", text):
        value = int(text.rstrip("u"))
        return f"{value + 1}{'u' if text.endswith('u') else ''}"
    value = float(text.rstrip("f"))
    if value in (0.0, 1.0):
        return "1.0f" if value == 0.0 else "2.0f"
    digits = re.match(r"[0.]*\d(\.?)(\d)", text)  # the second digit that counts is another one
    at = digits.end() - 1 if digits else len(text.rstrip("f")) - 1
    return text[:at] + str((int(text[at]) + 3) % 10) + text[at + 1:]


def constants(p):
    for i, kind in enumerate(p.kinds):
        if kind != "number":
            continue
        start = p.declares == "float" and not p.constant and len(p.texts) == 1
        yield ("accumulator" if start else "constant"), i, replaced(p.texts, i, other_number(p.texts[i]))
        if re.fullmatch(r"[1-9]\d*u", p.texts[i]):
            yield "constant", i, replaced(p.texts, i, f"{int(p.texts[i][:-1]) - 1}u")


def functions(p):
    for i, text in enumerate(p.texts):
        called = p.texts[i + 1:i + 2] == ["("]
        if called and OTHER_FUNCTION.get(text):
            yield "reduction", i, replaced(p.texts, i, OTHER_FUNCTION[text])
        if called and text == "fma":  # what was summed up so far is lost
            close = p.operands.match[i + 1]
            last = max(j for j in range(i, close) if p.texts[j] == "," and enclosing(p, j) == i + 1)
            yield "accumulator", i, p.texts[:last + 1] + ["0.0f"] + [None] * (close - last - 2) + p.texts[close:]


def enclosing(p, j):
    """The bracket around token j; -1: none."""
    depth = 0
    for i in range(j - 1, -1, -1):
        if p.texts[i] in (")", "]"):
            depth += 1
        elif p.texts[i] in ("(", "["):
            if depth == 0:
                return i
            depth -= 1
    return -1


def names(p):
    """Another axis: a stride of the same operand, or of another one; the partner of a name; neighbours in a call."""
    for i, text in enumerate(p.texts):
        if p.kinds[i] != "name":
            continue
        member = i > 0 and p.texts[i - 1] == "."
        for other in p.partners(text, member):
            yield "index", i, replaced(p.texts, i, other)
        if p.texts[i + 1:i + 2] == [","] and i + 2 < len(p.texts) and p.kinds[i + 2] == "name" and not member:
            if p.texts[i + 3:i + 4] in ([","], [")"]) and p.texts[i - 1] in (",", "(") and text != p.texts[i + 2]:
                yield "index", i, p.texts[:i] + [p.texts[i + 2], ",", text] + p.texts[i + 3:]


def wholes(p):
    """The statement dropped, the guard gone, the loop's step another."""
    if p.context == "statement":
        barrier = "barrier" in p.texts[0]
        yield ("barrier" if barrier else "statement"), 0, [";"] + [None] * (len(p.texts) - 1)
        if barrier:
            yield "barrier", 1, [t.replace("mem_threadgroup", "mem_device") for t in p.texts]
    elif p.context == "condition":
        yield "guard", 0, ["true"] + [None] * (len(p.texts) - 1)
        yield "guard", 0, ["false"] + [None] * (len(p.texts) - 1)
    elif p.context == "step" and "+=" in p.texts:
        yield "bound", 0, p.texts + ["+", "1u"]
    elif p.context == "value" and p.declares == "uint" and len(p.texts) == 1 and p.kinds[0] == "name":
        yield "bound", 0, p.texts + ["+", "1u"]


RULES = (wholes, comparisons, terms, operators, constants, functions, names)


class Part:
    """A piece with what the rules look at."""

    def __init__(self, piece, tokens, members):
        own = tokens[piece.first:piece.last]
        self.context, self.declares, self.constant = piece.context, piece.declares, piece.constant
        self.texts, self.kinds = [t.text for t in own], [t.kind for t in own]
        self.operands = Operands(self.texts, self.kinds)
        self.members = members

    def partners(self, name, member):
        found = [b if name == a else a for a, b in SWAPPED if name in (a, b)]
        if member and "_" in name:
            head, _, tail = name.rpartition("_")
            found += sorted(m for m in self.members if m != name and "_" in m and
                            (m.rpartition("_")[0] == head or m.rpartition("_")[2] == tail))
        return found


def mutations(piece, tokens, members):
    """[(kind, place, text)] of a piece, each text once. An endless loop is no use: conditions of loops keep running out."""
    part = Part(piece, tokens, members)
    seen = {" ".join(part.texts)}
    found = []
    for rule in RULES:
        for kind, place, texts in rule(part):
            text = " ".join(t for t in texts if t is not None)
            if text not in seen and text.strip():
                seen.add(text)
                found.append((kind, place, text))
    return found
