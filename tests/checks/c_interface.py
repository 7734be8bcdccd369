"""Structs of the C interface that the caller makes hold no enums.

A C caller can put any number there, and to look at one that is no value of an enum is undefined in C++: a test that
means to refuse it may be compiled away. Such structs begin with their size; a choice in them is an int.
"""
import re

from sources import read

ENUM = re.compile(r"typedef enum (\w+) \{")
STRUCT = re.compile(r"typedef struct (\w+) \{\s*size_t size;(.*?)\n\}", re.S)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def check(root, files):
    for path in files:
        if path.parts[0] != "include" or not path.name.endswith("_c.h"):
            continue
        text = COMMENT.sub("", read(root, path))
        enums = set(ENUM.findall(text))
        for name, body in STRUCT.findall(text):
            for field in body.split(";"):
                words = field.split()
                if enums.intersection(words) and "(" not in field:
                    yield f"{path}: {name}: {' '.join(words)}: an enum that the caller fills in; make it an int"


HEADER = "include/chiaro/chiaro_c.h"
ENUMS = "typedef enum chiaro_kind {\n  CHIARO_A = 0\n} chiaro_kind;\n"
CLEAN = {HEADER: ENUMS + "typedef struct chiaro_request {\n  size_t size; /* set */\n  int kind; /* a chiaro_kind */\n"
         "} chiaro_request;\ntypedef struct chiaro_progress {\n  chiaro_kind kind;\n} chiaro_progress;\n"}
PLANTS = [({HEADER: ENUMS + "typedef struct chiaro_request {\n  size_t size; /* set */\n  chiaro_kind kind;\n} chiaro_request;\n"},
           "chiaro_kind kind")]
