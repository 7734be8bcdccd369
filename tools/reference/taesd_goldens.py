"""Writes tests/golden/taesd: small AutoencoderTiny networks with formula weights, run by diffusers in double.

The weights are those of network_golden.py; the outputs were computed in double and rounded to f32. `sd2` is a TAESD for the small model of
tests/golden/sd2: what it makes of the last latents of that model's runs.
"""
import torch
from diffusers import AutoencoderTiny

from safetensors.torch import load_file

import network_golden as golden
import store

CASES = {
    # case: settings, height, width, batch
    "usual": (dict(encoder_block_out_channels=(16,) * 4, decoder_block_out_channels=(16,) * 4), 32, 32, 1),
    "odd": (dict(encoder_block_out_channels=(8,) * 3, decoder_block_out_channels=(12,) * 3, num_encoder_blocks=(1, 2, 1),
                 num_decoder_blocks=(2, 1, 1), latent_channels=16), 20, 12, 2),
}


def taesd(case, settings, height, width, batch):
    folder = golden.OUT / "taesd" / case
    folder.mkdir(parents=True, exist_ok=True)
    model = golden.write_manifest(folder, AutoencoderTiny(**settings))
    model.save_config(folder)
    scale = 2 ** (len(model.config.num_decoder_blocks) - 1)
    latents = golden.spread("latent", batch, model.config.latent_channels, height // scale, width // scale)
    inputs = {"image": golden.spread("image", batch, 3, height, width).clamp(-1, 1), "latent": latents * 2}

    def run(m, x):
        return {"encoded": m.encode(x["image"]).latents, "decoded": m.decode(x["latent"]).sample}
    return golden.finish(folder, f"taesd/{case}", inputs, run, model)


def pictures():
    """The final pictures of whole runs, [3,64,64] in 0..1."""
    folder = golden.OUT / "taesd/sd2"
    folder.mkdir(parents=True, exist_ok=True)
    settings = dict(encoder_block_out_channels=(16,) * 3, decoder_block_out_channels=(16,) * 3, num_encoder_blocks=(1, 1, 1),
                    num_decoder_blocks=(1, 1, 1))
    model = golden.write_manifest(folder, AutoencoderTiny(**settings)).double()
    model.save_config(folder)
    io = load_file(golden.OUT / "sd2/io.safetensors")
    images = {}
    for case in ("turbo1", "turbo4"):
        image = model.decode(io[f"{case}.latents"][-1:].double()).sample[0] / 2 + 0.5
        inside = float(((image > 0) & (image < 1)).double().mean())
        print(f"taesd/sd2 {case}: {inside:.2f} of the numbers are inside 0..1, standard deviation {float(image.std()):.3f}")
        images[f"{case}.image"] = image.clamp(0, 1).float().numpy()
    store.save(images, folder / "io.safetensors")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    pictures()
    for case, arguments in CASES.items():
        print(taesd(case, *arguments))
