#!/usr/bin/env python3
"""Loads checkpoints of `chiaro synth` in stable-diffusion.cpp and makes a picture of 64x64 in one step.

    python3 bench/peers/load_synth.py sd15.safetensors sd15.gguf ...
    python3 bench/peers/load_synth.py --diffusion-model z.gguf --llm text.gguf --vae vae.safetensors

Needs stable-diffusion-cpp-python of PyPI. Prints the engine's own lines about the file and whether the picture is one (its
pixels are not all alike); exits with 1 where one is not.
"""
import argparse
import contextlib
import io
import re
import sys


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", nargs="*")
    for part in ("diffusion-model", "llm", "vae"):
        arguments.add_argument("--" + part, default="")
    args = arguments.parse_args()
    from stable_diffusion_cpp import StableDiffusion

    bad = 0
    runs = [{"model_path": model} for model in args.model]
    if args.diffusion_model:
        runs.append({"diffusion_model_path": args.diffusion_model, "llm_path": args.llm, "vae_path": args.vae})
    for files in runs:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            model = StableDiffusion(**files, n_threads=2, verbose=True, vae_decode_only=True)
            picture = model.generate_image(prompt="a photograph", width=64, height=64, sample_steps=1, cfg_scale=1.0,
                                           sample_method="euler", seed=1)[0]
        shades = len(set(picture.convert("L").getdata()))
        found = re.search(r"total params memory size[^\n]*", said.getvalue())
        print(" ".join(files.values()), found.group(0) if found else "", f"{shades} shades of grey", sep="\n  ")
        bad += shades < 8
        del model
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
