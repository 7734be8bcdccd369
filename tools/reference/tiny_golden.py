"""Writes tests/golden/tiny/{reference,ddim20,euler20}.safetensors, *.png and reference.json from models/tiny with diffusers, f32 on the CPU.

--compare FILE: also print the largest differences from a reference made elsewhere with the same settings.
"""
import argparse
import json
import pathlib

import numpy as np
import torch
from PIL import Image
from safetensors.numpy import load_file

import pipeline
import store

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/tiny"
PROMPTS = ["a red apple on a blue background", "a cat and a dog", "three bananas on a purple background", "a rocket left of a moon"]
STEPS, GUIDANCE, SEED = 20, 4.0, 1234


def png(name, images):
    for k, img in enumerate(images):
        Image.fromarray((img.permute(1, 2, 0).numpy() * 255).round().astype(np.uint8)).save(OUT / f"{name}_{k}.png", optimize=True)


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--compare")
    args = args.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    tiny = pipeline.Tiny()
    start = torch.randn(4, 4, 32, 32, generator=torch.Generator().manual_seed(SEED))
    ids = tiny.ids([""] + PROMPTS)
    embeds = tiny.text(ids).last_hidden_state
    euler = pipeline.euler(tiny.scheduler)
    ddim_latents = tiny.latents(PROMPTS, start, STEPS, GUIDANCE)
    euler_latents = tiny.latents(PROMPTS, start, STEPS, GUIDANCE, euler)
    ddim_images, euler_images = tiny.decode(ddim_latents[:, -1]), tiny.decode(euler_latents[:, -1])
    moments = tiny.vae.encode(ddim_images[:1] * 2 - 1).latent_dist
    png("ddim20", ddim_images)
    png("euler20", euler_images[:3])
    t = int(tiny.scheduler.timesteps[0])
    out = {"input_ids": ids.to(torch.int32), "embeds": embeds, "image0": ddim_images[0].half(),
           "unet_first_cond": tiny.unet(start, t, embeds[1:]).sample, "unet_first_uncond": tiny.unet(start, t, embeds[:1].expand(4, -1, -1)).sample,
           "encode0_mean": moments.mean[0], "encode0_logvar": moments.logvar[0]}
    store.save({k: v.numpy() for k, v in out.items()}, OUT / "reference.safetensors")
    store.save({"latents": ddim_latents.numpy()}, OUT / "ddim20.safetensors")
    store.save({"latents": euler_latents[:3].numpy()}, OUT / "euler20.safetensors")
    info = {"prompts": PROMPTS, "guidance": GUIDANCE, "steps": STEPS, "noise": f"torch.randn(4,4,32,32) on the CPU, seed {SEED}",
            "ddim_timesteps": [int(t) for t in tiny.scheduler.timesteps], "euler_timesteps": [float(t) for t in euler.timesteps],
            "euler_sigmas": [float(s) for s in euler.sigmas], "unet_first_timestep": t}
    (OUT / "reference.json").write_text(json.dumps(info, indent=1) + "\n")
    if args.compare:
        other = load_file(args.compare)
        pairs = [("ddim20_latents", ddim_latents), ("euler20_latents", euler_latents), ("image", ddim_images), ("euler20_image", euler_images),
                 ("cond_embeds", embeds[1:]), ("uncond_embeds", embeds[:1]), ("unet_out_first_step_cond", out["unet_first_cond"]),
                 ("unet_out_first_step_uncond", out["unet_first_uncond"])]
        for name, ours in pairs:
            print(name, "largest difference", float(np.abs(other[name] - ours.numpy()).max()), "of", float(ours.abs().max()))


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
