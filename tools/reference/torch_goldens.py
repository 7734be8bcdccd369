"""Writes tests/golden/torch: checkpoints by torch.save, in the zip form and the one before PyTorch 1.6, and hostile ones.

Element i of a tensor named N is ((7 * i + len(N)) % 61 - 30) / 8, exact in every type used.
"""
import collections
import io
import os
import pathlib
import pickle
import struct
import zipfile
import zlib

import numpy as np
import torch

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/torch"


def formula(name, shape, dtype):
    count = int(np.prod(shape, dtype=np.int64))
    values = ((7 * np.arange(count) + len(name)) % 61 - 30) / 8
    return torch.from_numpy(values.astype(np.float32).reshape(shape)).to(dtype)


def types():
    names = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64}
    out = collections.OrderedDict((k, formula(k, (3, 5), v)) for k, v in names.items())
    out["i8"] = formula("i8", (4,), torch.float32).mul(8).to(torch.int8)
    out["i64"] = torch.arange(5)
    out["flag"] = torch.tensor([True, False])
    out["scalar"] = formula("scalar", (), torch.float32)
    out["empty"] = torch.zeros(0, 4)
    out["seven"] = torch.zeros(1, 1, 1, 1, 1, 1, 1)
    return out


def shared():
    base = formula("base", (4, 6), torch.float32)
    return {"base": base, "again": base, "rows": base[1:3], "turned": base.t(), "column": base[:, 2],
            "parameter": torch.nn.Parameter(formula("parameter", (2, 2), torch.float32))}


def nested():
    inner = collections.OrderedDict()
    inner["module.a.weight"] = formula("a.weight", (2, 3), torch.float16)
    inner["module.b.bias"] = formula("b.bias", (3,), torch.float32)
    return {"state_dict": inner, "global_step": 470000, "epoch": 3, "note": "made for a test", "rate": 1e-4,
            "optimizer_states": [{"state": {0: torch.zeros(2)}}], "flag": True, "none": None}


def linear():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Conv2d(2, 2, 1))
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(formula(name, tuple(p.shape), torch.float32))
    return model.state_dict()  # with _metadata, an attribute of the dict


class Evil:
    def __reduce__(self):
        return os.system, ("echo owned",)


class Builtin:
    def __reduce__(self):
        return eval, ("1 + 1",)


def evil_zip(obj, protocol=2):
    """A checkpoint whose pickle asks for a call; pickled by Python, packed as torch.save packs."""
    data = io.BytesIO()
    pickle.dump({"state_dict": {}, "x": obj}, data, protocol=protocol)
    return {"archive/data.pkl": data.getvalue(), "archive/version": b"3\n"}


def write_zip(name, entries, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(OUT / name, "w", method) as z:
        for entry, data in entries.items():
            z.writestr(zipfile.ZipInfo(entry, (1980, 1, 1, 0, 0, 0)), data, method)


def write_zip64(name, entries):
    """As for files above 4 GiB: every size and place in 64 bits, behind an extra field of another kind."""
    out, directory = b"", b""
    for entry, data in entries.items():
        crc, place, entry = zlib.crc32(data), len(out), entry.encode()
        extra = struct.pack("<HHQQ", 1, 16, len(data), len(data))
        out += struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0, 0, 0, 0, crc, 0xFFFFFFFF, 0xFFFFFFFF, len(entry), len(extra))
        out += entry + extra + data
        extra = struct.pack("<HHHHHQQQ", 0x4242, 2, 7, 1, 24, len(data), len(data), place)
        directory += struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0, 0, 0, 0, crc, 0xFFFFFFFF, 0xFFFFFFFF, len(entry),
                                 len(extra), 0, 0, 0, 0, 0xFFFFFFFF) + entry + extra
    start, end, n = len(out), len(out) + len(directory), len(entries)
    out += directory + struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, n, n, len(directory), start)
    out += struct.pack("<IIQI", 0x07064B50, 0, end, 1)
    out += struct.pack("<IHHHHIIH", 0x06054B50, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    (OUT / name).write_bytes(out)
    torch.load(OUT / name, weights_only=True)  # it reads it, too


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for old in OUT.iterdir():
        old.unlink()
    for name, make in {"types": types, "shared": shared, "nested": nested, "linear": linear}.items():
        torch.save(make(), OUT / f"{name}.zip.pt")
        torch.save(make(), OUT / f"{name}.legacy.pt", _use_new_zipfile_serialization=False)
    # torch.save takes UntypedStorage and _rebuild_tensor_v3 for types that have no class of storages.
    torch.save({"e4m3": formula("e4m3", (2, 4), torch.float32).to(torch.float8_e4m3fn),
                "e5m2": formula("e5m2", (2, 4), torch.float32).to(torch.float8_e5m2)}, OUT / "fp8.zip.pt")
    torch.save({"w": formula("w", (2, 2), torch.float32)}, OUT / "protocol4.zip.pt", pickle_protocol=4)
    torch.save({"w": torch.zeros(1).expand(1000)}, OUT / "repeats.zip.pt")
    torch.save({"w": formula("w", (2, 2), torch.float32), "score": np.float64(0.5), "dict": collections.defaultdict(list)},
               OUT / "leftovers.zip.pt")
    torch.save([formula("w", (2, 2), torch.float32)], OUT / "list.zip.pt")
    torch.save({"epoch": 1}, OUT / "nothing.zip.pt")
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), OUT / "script.zip.pt")
    write_zip("evil_system.zip.pt", evil_zip(Evil()))
    write_zip("evil_system4.zip.pt", evil_zip(Evil(), 4))
    write_zip("evil_eval.zip.pt", evil_zip(Builtin()))
    torch.save({"w": torch.zeros(1), "x": Evil()}, OUT / "evil.legacy.pt", _use_new_zipfile_serialization=False)
    with zipfile.ZipFile(OUT / "linear.zip.pt") as z:
        write_zip64("sizes64.zip.pt", {n: z.read(n) for n in z.namelist()})
        write_zip("compressed.zip.pt", {n: z.read(n) for n in z.namelist()}, zipfile.ZIP_DEFLATED)
        write_zip("big_endian.zip.pt", {n: b"big" if n.endswith("byteorder") else z.read(n) for n in z.namelist()})
        write_zip("no_storage.zip.pt", {n: z.read(n) for n in z.namelist() if not n.endswith("data/0")})
    print(sum(p.stat().st_size for p in OUT.iterdir()), "bytes")


if __name__ == "__main__":
    main()
