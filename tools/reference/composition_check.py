"""Draws the prompts of tests/golden/tiny/prompts.json with diffusers and measures them. composition_check.py [STEPS [GUIDANCE]]"""
import json
import pathlib
import sys

import numpy as np
import torch
from safetensors.numpy import load_file

import composition
import pipeline

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tiny"


def measure(spec, images, sprites):
    palette = np.array(list(spec["palette"].values()), np.float32)
    names = list(spec["palette"])
    backgrounds = objects = seen = whole = 0
    for p, img in zip(spec["prompts"], images):
        ok = names[composition.nearest_colour(composition.background(img), palette)] == p["background"]
        ranks = [composition.rank(img, o["region"], o["index"], sprites) for o in p["objects"]]
        if not ok or any(ranks):
            print("  ", p["prompt"], "| background", ok, "ranks", ranks)
        backgrounds, objects, seen = backgrounds + ok, objects + sum(k == 0 for k in ranks), seen + len(ranks)
        whole += not any(ranks)
    n = len(images)
    print(f"backgrounds {backgrounds}/{n}, objects {objects}/{seen} = {objects / seen:.3f}, prompts with every object right {whole}/{n}")


def main():
    spec = json.loads((GOLDEN / "prompts.json").read_text())
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else spec["steps"]
    guidance = float(sys.argv[2]) if len(sys.argv) > 2 else spec["guidance"]
    tiny, images = pipeline.Tiny(), []
    for i in range(0, len(spec["prompts"]), 8):
        part = spec["prompts"][i:i + 8]
        z = tiny.latents([p["prompt"] for p in part], pipeline.noise([p["seed"] for p in part]), steps, guidance)[:, -1]
        images.append(tiny.decode(z).permute(0, 2, 3, 1).numpy())
    images = np.concatenate(images)
    measure(spec, images, load_file(GOLDEN / "sprites.safetensors")["sprites"])


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
