"""A small network as a golden case: its weights by formula, its inputs, and what it gives in double."""
import json
import pathlib

import numpy as np
import torch

import formula
import store

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden"


def write_manifest(folder, model):
    table = formula.manifest({k: tuple(v.shape) for k, v in model.state_dict().items()})
    rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in table.items()]
    (folder / "tensors.json").write_text("{\n" + ",\n".join(", ".join(rows[i:i + 4]) for i in range(0, len(rows), 4)) + "\n}\n")
    model.load_state_dict({k: torch.from_numpy(formula.values(k, v["shape"], v["scale"], v["offset"])) for k, v in table.items()})
    return model.eval()


def spread(name, *shape):
    """Input values of variance 1, by the same formula."""
    return torch.from_numpy(formula.values(name, shape, formula.sixteenth_bits(3**0.5), 0.0))


def finish(folder, label, inputs, run, model):
    """Runs in f32 and in double; stores the double results rounded to f32, and says how far f32 was off."""
    single = run(model.float(), {k: v for k, v in inputs.items()})
    torch.set_default_dtype(torch.float64)
    double = run(model.double(), {k: v.double() if v.is_floating_point() and k != "timestep" else v for k, v in inputs.items()})
    torch.set_default_dtype(torch.float32)
    tensors = {k: v.numpy() for k, v in inputs.items()}
    off = {}
    for k, v in double.items():
        off[k] = {"absmax": round(float(v.abs().max()), 4), "f32_off": float(f"{float((single[k].double() - v).abs().max()):.2g}")}
        tensors[k] = v.float().numpy()
    store.save(tensors, folder / "io.safetensors")
    size = (folder / "io.safetensors").stat().st_size
    print(f"{label}: {size // 1024} KB", json.dumps(off))
    assert size <= 210_000, size
    return {label: off}
