"""Reads the text of a kernel: tokens, functions, statements and the expressions in them that can be mutated.

Only as much of C++ as the dialect has (docs/kernels.md): no lambdas, no classes with members, one declarator each.
"""
import dataclasses
import re

TOKEN = re.compile(r"""
    (?P<space>\s+)
  | (?P<number>0[xX][0-9a-fA-F]+u?|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?[fu]?)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<op><<=|>>=|\+\+|--|\+=|-=|\*=|/=|%=|==|!=|<=|>=|&&|\|\||<<|>>|::|->|[-+*/%<>=!&|^~?:;,.(){}\[\]])
""", re.VERBOSE)
OPENING, CLOSING = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}


class Unreadable(Exception):
    """The text is not what this reader understands."""


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str  # number, name, op
    text: str
    at: int  # first character in the text
    line: int


@dataclasses.dataclass(frozen=True)
class Piece:
    """A part of the text that is replaced as a whole. Tokens first..last - 1 of the file.

    context: value (an expression with a result), step (of a for loop), statement (with its ';'), constant (the number
    of a GPU_CONST), condition (of an if), loop (the condition of a for).
    """
    context: str
    first: int
    last: int
    function: str
    declares: str = ""  # the type, where it is the value of a declaration
    constant: bool = False  # that declaration is const


def blank_comments(text):
    """Comments and preprocessor lines as spaces, so that places stay."""
    keep_lines = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    text = re.sub(r"//[^\n]*|/\*.*?\*/", keep_lines, text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", keep_lines, text, flags=re.MULTILINE)


def tokens(text):
    found, at, line = [], 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Unreadable(f"line {line}: cannot read {text[at:at + 20]!r}")
        if match.lastgroup != "space":
            found.append(Token(match.lastgroup, match.group(0), at, line))
        line += match.group(0).count("\n")
        at = match.end()
    return found


class Reader:
    """Finds the pieces of one file."""

    def __init__(self, text):
        self.tokens = tokens(blank_comments(text))
        self.pieces = []
        self.function = ""

    def read(self):
        """All pieces, in the order of the text."""
        i = 0
        while i < len(self.tokens):
            i = self._top(i)
        return self.pieces

    def _text(self, i):
        return self.tokens[i].text if i < len(self.tokens) else ""

    def closing(self, i):
        """The index of the bracket that closes the one at i."""
        depth = 0
        for j in range(i, len(self.tokens)):
            if self._text(j) in OPENING:
                depth += 1
            elif self._text(j) in CLOSING:
                depth -= 1
                if depth == 0:
                    return j
        raise Unreadable(f"line {self.tokens[i].line}: {self._text(i)} is never closed")

    def _until(self, i, text):
        """The first token of that text from i on that is in no brackets opened after i."""
        while self._text(i) != text:
            if i >= len(self.tokens):
                raise Unreadable(f"no {text} where one was looked for")
            i = self.closing(i) + 1 if self._text(i) in OPENING else i + 1
        return i

    def _top(self, i):
        if self._text(i) == "GPU_CONST":
            name = self._text(i + 4)
            start = self.closing(i + 1) + 2
            end = self._until(start, ";")
            self.pieces.append(Piece("constant", start, end, name))
            return end + 1
        if self._text(i) in ("GPU_FN", "GPU_KERNEL"):
            bracket = self._until(i, "(") if self._text(i) == "GPU_KERNEL" else self._parameters(i)
            self.function = self._text(bracket + 1 if self._text(i) == "GPU_KERNEL" else bracket - 1)
            body = self.closing(bracket) + 1
            if self._text(body) == ";":  # a declaration
                return body + 1
            self._block(body)
            return self.closing(body) + 1
        return self.closing(i) + 1 if self._text(i) in OPENING else i + 1

    def _parameters(self, i):
        """The bracket before a function's parameters: the first whose close is followed by a body."""
        while True:
            i = self._until(i, "(")
            if self._text(self.closing(i) + 1) in ("{", ";"):
                return i
            i = self.closing(i) + 1

    def _block(self, i):
        end = self.closing(i)
        i += 1
        while i < end:
            i = self._statement(i)

    def _statement(self, i):
        text = self._text(i)
        if text == "{":
            self._block(i)
            return self.closing(i) + 1
        if text == "for":
            return self._statement(self._for_head(i + 1))
        if text == "if":
            close = self.closing(i + 1)
            self._add("condition", i + 2, close)
            i = self._statement(close + 1)
            return self._statement(i + 1) if self._text(i) == "else" else i
        end = self._until(i, ";")
        if text == "return":
            self._add("value", i + 1, end)
        elif text not in ("GROUP_ARRAY", "continue", "break") and text != ";":
            if not self._declaration(i, end):
                self._add("statement", i, end + 1)
        return end + 1

    def _for_head(self, i):
        first, second = self._until(i + 1, ";"), None
        second = self._until(first + 1, ";")
        close = self.closing(i)
        if first > i + 1:
            self._declaration(i + 1, first)
        self._add("loop", first + 1, second)
        self._add("step", second + 1, close)
        return close + 1

    def _declaration(self, i, end):
        """Whether tokens i..end - 1 declare a variable; its value is a piece."""
        constant = self._text(i) == "const"
        j = i + 1 if constant else i
        kind = self._text(j)
        if kind == "SIMD_MATRIX":
            return True
        if self.tokens[j].kind != "name" or self.tokens[j + 1].kind != "name":
            return False
        if self._text(j + 2) == "=":
            self._add("value", j + 3, end, kind, constant)
        return True

    def _add(self, context, first, last, declares="", constant=False):
        if first < last:
            self.pieces.append(Piece(context, first, last, self.function, declares, constant))
