#!/usr/bin/env python3
"""Mutants of the GPU kernels, for the software GPU.

    mutate_kernels.py OUT [--kernels softmax,sum] [--seed 1] [--share 1/2] [--cxx c++]

Writes OUT/<folder>.cpp, the kernels of src/ops/<folder> for the checked software GPU with every mutant in them, and
OUT/mutants.tsv, which lists them. One program holds all mutants: where a piece of a kernel has some, it asks which one
is on (chiaro_gpu_mutant, 0: none). So a kernel is compiled once, not once per mutant.

A piece is an expression or a statement; mutate_rules.py says how it can be wrong. The seed says which of a piece's
mutations is taken, and, with --share, which pieces are; barriers are all taken, dropped and weakened. A mutant that
does not compile is none: the compiler is asked, and what it refuses is left out and counted.
"""
import argparse
import collections
import fractions
import hashlib
import pathlib
import re
import subprocess
import sys

import mutate_rules
import mutate_text

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The ops whose kernels come from a folder's kernel.gpu: whose conformance cases a mutant faces, cheapest first.
OPS = {
    "add": ["add", "sub", "mul", "div", "add_", "mul_"],
    "cast": ["cast", "write"],
    "contiguous": ["contiguous", "concat", "write"],
    "geglu": ["geglu", "swiglu"],
    "layer_norm": ["layer_norm", "rms_norm"],
    "silu": ["silu", "scale", "relu", "gelu", "quick_gelu", "sigmoid", "silu_"],
    "sum": ["sum", "mean"],
}
# Headers that kernels are made from, and the folders in which their mutants live.
HEADERS = {
    "src/gpu/activation.h": ["silu", "elementwise_chain"],
    "src/gpu/blocks.h": ["get_rows", "matmul"],
    "src/gpu/dialect_library.h": ["cast", "contiguous", "add", "silu"],
    "src/gpu/nest.h": ["contiguous", "add"],
    "src/gpu/reduce.h": ["softmax", "sum"],
    "src/gpu/tile.h": ["matmul", "conv2d"],
}
PRELUDE = """#define CHIARO_GPU_CHECKED 1
extern "C" int chiaro_gpu_mutant;
#define CHIARO_MUTANT(n) (::chiaro_gpu_mutant == (n))
"""


class Mutant:
    def __init__(self, file, line, piece, kind, before, after, nth):
        self.file, self.line, self.piece, self.kind = file, line, piece, kind
        self.function = piece.function if nth == 1 else f"{piece.function}/{nth}"  # the nth such piece of a function
        self.before, self.after = before, after
        self.number = 0


def drawn(seed, *key):
    """A number from the seed and the key; the same on every machine."""
    text = "\0".join([str(seed), *map(str, key)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


class Source:
    """A file and its mutants."""

    def __init__(self, file):
        self.file = file
        self.text = (ROOT / file).read_text(encoding="utf-8")
        reader = mutate_text.Reader(self.text)
        self.pieces = reader.read()
        self.tokens = reader.tokens
        self.members = {t.text for i, t in enumerate(self.tokens) if i > 0 and self.tokens[i - 1].text == "."}

    def span(self, piece):
        last = self.tokens[piece.last - 1]
        return self.tokens[piece.first].at, last.at + len(last.text)

    def mutants(self, seed, share):
        seen = collections.Counter()
        for piece in self.pieces:
            start, end = self.span(piece)
            before = " ".join(self.text[start:end].split())
            seen[piece.function, before] += 1
            key = (self.file, piece.function, before, seen[piece.function, before])
            possible = mutate_rules.mutations(piece, self.tokens, self.members)
            for kind, place, after in self.chosen(possible, seed, share, key):
                line = self.tokens[min(piece.first + place, piece.last - 1)].line
                yield Mutant(self.file, line, piece, kind, before, after, seen[piece.function, before])

    @staticmethod
    def chosen(possible, seed, share, key):
        """All mutations of a barrier; else one, by kind first, so that the common kinds do not crowd out the rest."""
        if any(kind == "barrier" for kind, _, _ in possible):
            return [m for m in possible if m[0] == "barrier"]
        if not possible or drawn(seed, "share", *key) % share.denominator >= share.numerator:
            return []
        kinds = sorted({kind for kind, _, _ in possible})
        kind = kinds[drawn(seed, "kind", *key) % len(kinds)]
        among = [m for m in possible if m[0] == kind]
        return [among[drawn(seed, "which", *key) % len(among)]]

    def mutated(self, mutants):
        """The text with these mutants in it."""
        of_piece = collections.defaultdict(list)
        for mutant in mutants:
            of_piece[mutant.piece].append(mutant)
        out, at = [f'#line 1 "{self.file}"\n'], 0
        for piece, own in sorted(of_piece.items(), key=lambda entry: entry[0].first):
            start, end = self.span(piece)
            line = self.tokens[piece.first].line
            back = f'\n#line {line} "{self.file}"\n'
            cases = [(m.number, f'\n#line {m.number} "mutant"\n{m.after}{back}') for m in own]
            if piece.context == "constant":  # "GPU_CONST(uint, NAME) = " stands before it
                out.append(self.text[at:self.text.rindex("GPU_CONST", 0, start)])
                value = choice(cases, self.text[start:end])
                name = f"chiaro_mutable_{piece.function}"
                out.append(f"GPU_FN uint {name}() {{ return {value}; }}\n#define {piece.function} {name}()\n")
                end = self.text.index(";", end) + 1
                out.append(f'#line {self.text.count(chr(10), 0, end) + 1} "{self.file}"\n')
            else:
                out.append(self.text[at:start])
                out.append(rewritten(piece.context, cases, self.text[start:end], back))
            at = end
        return "".join(out) + self.text[at:]


def choice(cases, original):
    return "(" + "".join(f"CHIARO_MUTANT({n}) ? ({text}) : " for n, text in cases) + f"({original}))"


def rewritten(context, cases, original, back):
    if context == "statement":
        return "{" + "".join(f"if (CHIARO_MUTANT({n})) {{{text}}} else " for n, text in cases) + f"{{{original}}}}}{back}"
    if context == "step":
        cases = [(n, f"void({text})") for n, text in cases]
        original = f"void({original})"
    return choice(cases, f"{back}{original}{back}")


def compile_errors(cxx, path, include):
    """The mutants that the compiler refuses; an exception where it refuses the rest."""
    command = [*cxx.split(), "-std=c++20", "-fsyntax-only", "-w", "-ftemplate-backtrace-limit=0",
               *(f"-I{folder}" for folder in include), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return set()
    wrong = {int(n) for n in re.findall(r"mutant:(\d+)", done.stderr)}
    if not wrong:
        raise SystemExit(f"{path} does not compile:\n{done.stderr[:4000]}")
    return wrong


class Batch:
    """What is written into OUT."""

    def __init__(self, options):
        self.out, self.cxx = options.out, options.cxx
        every = sorted(p.parent.name for p in (ROOT / "src/ops").glob("*/kernel.gpu"))
        self.folders = options.kernels.split(",") if options.kernels else every
        self.headers = {h: [f for f in folders if f in self.folders] for h, folders in HEADERS.items()}
        files = [f"src/ops/{folder}/kernel.gpu" for folder in self.folders]
        files += [header for header, folders in self.headers.items() if folders]
        self.sources = {file: Source(file) for file in files}
        self.mutants = {file: list(s.mutants(options.seed, options.share)) for file, s in self.sources.items()}
        for number, mutant in enumerate((m for own in self.mutants.values() for m in own), start=1):
            mutant.number = number
        self.made = sum(map(len, self.mutants.values()))
        self.refused = 0

    def write(self, folder):
        """The folder's program text; returns its path and the folders to look for headers in."""
        kernel = f"src/ops/{folder}/kernel.gpu"
        own = self.out / folder
        for header, folders in self.headers.items():
            if folder in folders:
                target = own / pathlib.Path(header).relative_to("src")
                target.parent.mkdir(parents=True, exist_ok=True)
                replace(target, self.sources[header].mutated(self.mutants[header]))
        replace(self.out / f"{folder}.cpp", PRELUDE + self.sources[kernel].mutated(self.mutants[kernel]))
        return self.out / f"{folder}.cpp", [own, ROOT / "src", ROOT / "include"]

    def check(self):
        """Leaves out what does not compile, until all compiles."""
        todo = list(self.folders)
        while todo:
            path, include = self.write(todo[0])
            wrong = compile_errors(self.cxx, path, include)
            if not wrong:
                todo.pop(0)
                continue
            self.refused += len(wrong)
            for file, own in self.mutants.items():
                self.mutants[file] = [m for m in own if m.number not in wrong]
        for folder in self.folders:  # a header's mutant may have been refused in a later folder
            self.write(folder)

    def ops(self, file):
        folders = self.headers.get(file) or [pathlib.Path(file).parent.name]
        return [op for folder in folders for op in OPS.get(folder, [folder])]

    def write_list(self):
        rows = []
        for file, own in self.mutants.items():
            ops = ",".join(self.ops(file))
            for m in own:
                rows.append("\t".join([str(m.number), f"{m.file}:{m.line}", m.function, m.kind, ops, m.before,
                                       m.after]))
        replace(self.out / "mutants.tsv", "\n".join(rows) + "\n")
        print(f"{len(rows)} mutants, {self.refused} of {self.made} did not compile")


def replace(path, text):
    """Writes only what changed, so that nothing is compiled in vain."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--kernels", default="", help="folders of src/ops, with commas; all if not given")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--share", type=fractions.Fraction, default=fractions.Fraction(1), help="of the pieces: 1/2")
    parser.add_argument("--cxx", default="c++")
    options = parser.parse_args()
    options.out = options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    batch = Batch(options)
    batch.check()
    batch.write_list()
    return 0


if __name__ == "__main__":
    sys.exit(main())
