"""Writes the starting files of the fuzzer of PyTorch checkpoints: tests/fuzz/corpus/torch, some hundred bytes each.

The old form is written by hand, so that no PyTorch is needed; the zip form comes from tests/golden/torch.
"""
import io
import pathlib
import pickle
import shutil
import struct
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE / "corpus/torch"
GOLDEN = HERE.parent / "golden/torch"
MAGIC = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + pickle.dumps({"little_endian": True}, 2)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def storage(kind, key, count):
    return b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + text(key) + text("cpu") + b"K" + bytes([count]) + b"NtQ"


def tensor(kind, key, count, size, stride, offset=0, name="_rebuild_tensor_v2", more=b"\x89N"):
    dims = lambda d: b"(" + b"".join(b"K" + bytes([x]) for x in d) + b"t"
    return (f"ctorch._utils\n{name}\n(".encode() + storage(kind, key, count) + b"K" + bytes([offset]) + dims(size) +
            dims(stride) + more + b"tR")


def legacy(items, storages):
    body = b"\x80\x02}(" + b"".join(text(k) + v for k, v in items.items()) + b"u."
    keys = b"\x80\x02](" + b"".join(text(k) for k in storages) + b"e."
    return MAGIC + body + keys + b"".join(struct.pack("<Q", n) + bytes(range(b)) for n, b in storages.values())


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    ROOT.mkdir(parents=True)
    f = {}
    f["plain"] = legacy({"a": tensor("FloatStorage", "0", 6, (2, 3), (3, 1))}, {"0": (6, 24)})
    f["turned"] = legacy({"a": tensor("HalfStorage", "0", 6, (3, 2), (1, 3))}, {"0": (6, 12)})
    f["v3"] = legacy({"a": tensor("UntypedStorage", "0", 4, (4,), (1,), name="_rebuild_tensor_v3",
                                  more=b"\x89Nctorch\nfloat8_e5m2\n")}, {"0": (4, 4)})
    f["types"] = legacy({k: tensor(k + "Storage", k, 1, (), ()) for k in ("Double", "BFloat16", "Char", "Int", "Bool")},
                        {"Double": (1, 8), "BFloat16": (1, 2), "Char": (1, 1), "Int": (1, 4), "Bool": (1, 1)})
    nested = b"}(" + text("b") + tensor("FloatStorage", "0", 1, (1,), (1,)) + text("step") + b"M\xff\x01" + text("x") + b"]u"
    f["nested"] = legacy({"state_dict": nested, "epoch": b"K\x03", "rate": b"G" + bytes(8)}, {"0": (1, 4)})
    f["ordered"] = legacy({"p": b"ccollections\nOrderedDict\n)R}b", "q": tensor("FloatStorage", "0", 1, (1,), (1,))}, {"0": (1, 4)})
    f["parameter"] = legacy({"p": b"ctorch._utils\n_rebuild_parameter\n(" + tensor("FloatStorage", "0", 1, (1,), (1,)) +
                             b"\x89NtR"}, {"0": (1, 4)})
    f["offset"] = legacy({"a": tensor("FloatStorage", "0", 6, (2,), (1,), 5)}, {"0": (6, 24)})
    f["cycle"] = MAGIC + b"\x80\x02}q\x01" + text("a") + b"h\x01s.\x80\x02]."
    for protocol in (2, 4, 5):
        f[f"python{protocol}"] = pickle.dumps({"a": [1, 2.5, "x", b"y", None, True, {3}, (4, 5), 1 << 70]}, protocol)
    f["system"] = b"\x80\x02cos\nsystem\n" + text("echo") + b"\x85R."
    for name, pick in {"zip": f["plain"], "zip_two": f["nested"]}.items():
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as z:
            z.writestr(zipfile.ZipInfo("a/data.pkl"), pick[len(MAGIC):])
            z.writestr(zipfile.ZipInfo("a/data/0"), bytes(24))
            z.writestr(zipfile.ZipInfo("a/byteorder"), "little")
        f[name] = data.getvalue()
    for name in ("linear", "nested", "shared"):
        f["torch_" + name] = (GOLDEN / f"{name}.zip.pt").read_bytes()
    for name, data in f.items():
        (ROOT / name).write_bytes(data)


if __name__ == "__main__":
    main()
