"""Writes tests/golden/taesd: small AutoencoderTiny networks with formula weights, run by diffusers in double.

The weights are those of network_golden.py; the outputs were computed in double and rounded to f32.
"""
import torch
from diffusers import AutoencoderTiny

import network_golden as golden

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


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    for case, arguments in CASES.items():
        print(taesd(case, *arguments))
