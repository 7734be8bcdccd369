"""Writes tests/golden/tiny/prompts.json (prompts, what must be seen) and sprites.safetensors (all objects, small).

composition_golden.py SPRITES_ZIP: the archive that training/prep_data.py writes. composition_check.py then tries them.
"""
import io
import json
import pathlib
import random
import sys
import zipfile

import numpy as np
from PIL import Image

import composition
import store

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "training"))
import scenes  # noqa: E402

OUT, SIDE = ROOT / "tests/golden/tiny", 16
WHOLE, LEFT, RIGHT, TOP, BOTTOM = (0, 0, 1, 1), (0, 0, .5, 1), (.5, 0, 1, 1), (0, 0, 1, .5), (0, .5, 1, 1)
REGIONS = {"and": (LEFT, RIGHT), "left": (LEFT, RIGHT), "right": (RIGHT, LEFT), "above": (TOP, BOTTOM), "below": (BOTTOM, TOP)}


def sprite(png):
    """256x256 RGBA -> the square around what is drawn, area-averaged to SIDE, premultiplied."""
    a = np.asarray(Image.open(io.BytesIO(png)).convert("RGBA")).astype(np.float32) / 255
    a = np.concatenate([a[..., :3] * a[..., 3:], a[..., 3:]], -1)
    x0, y0, x1, y1 = composition.box(a[..., 3] > 0.03)
    side = float(max(x1 - x0, y1 - y0))
    wx = composition.axis_weights((x0 + x1) / 2 - side / 2, side, SIDE, 16, 256)
    wy = composition.axis_weights((y0 + y1) / 2 - side / 2, side, SIDE, 16, 256)
    small = np.einsum("yh,hwc,xw->yxc", wy, a, wx, optimize=True)
    return np.clip(np.round(small * 255), 0, 255).astype(np.uint8)


def prompts(world):
    r, noun = random.Random(77), lambda i: world.np_(random.Random(0), i, plain=True)
    out = []

    def add(text, background, parts):
        out.append({"prompt": text, "seed": 1000 + len(out), "background": background,
                    "objects": [{"index": i, "name": world.o[i]["name"], "region": list(region)} for i, region in parts]})
    for background in scenes.BGN:
        for _ in range(4):
            i = world.pick(r)
            add(f"{noun(i)} on a {background} background", background, [(i, WHOLE)])
    for k in range(16):
        i, j = world.pick(r), world.pick(r)
        relation = ("and", "left", "right", "above", "below")[k % 5]
        background = r.choice(scenes.BGN) if k % 2 else None
        text = world.relphrase(None, noun(i), noun(j), relation, plain=True) + (f" on a {background} background" if background else "")
        add(text, background or "white", list(zip((i, j), REGIONS[relation])))
    return out


def main():
    raw = zipfile.ZipFile(sys.argv[1])
    world = scenes.Scenes(str(ROOT / "training/data/objects.json"))
    OUT.mkdir(parents=True, exist_ok=True)
    store.save({"sprites": np.stack([sprite(raw.read(f"{i:04d}.png")) for i in range(world.N)])}, OUT / "sprites.safetensors")
    rows = [json.dumps(p) for p in prompts(world)]
    palette = json.dumps({k: list(v) for k, v in scenes.BG.items()})
    text = '{"palette": %s,\n"steps": 20, "guidance": 4.0,\n"prompts": [\n%s\n]}\n' % (palette, ",\n".join(rows))
    (OUT / "prompts.json").write_text(text)


if __name__ == "__main__":
    main()
