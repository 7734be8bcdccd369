"""Writes tests/golden/{zimage,qwen_image,wan_vae}: small diffusion transformers and the autoencoder of one of them with formula weights, run by diffusers in double.

dit_golden.py [NAME ...]: only the cases whose net/case contains one of the names. Needs requirements-dit.txt.
"""
import json
import sys

import torch
from diffusers import AutoencoderKLQwenImage, QwenImageTransformer2DModel, ZImageTransformer2DModel

from golden_case import OUT, finish, spread, write_manifest

# settings, height, width, timesteps (one a picture), context tokens
ZIMAGE_SMALL = dict(all_patch_size=(2,), all_f_patch_size=(1,), in_channels=16, dim=48, n_layers=2, n_refiner_layers=1, n_heads=2, n_kv_heads=2, norm_eps=1e-5,
                    qk_norm=True, cap_feat_dim=40, rope_theta=256.0, t_scale=1000.0, axes_dims=[8, 8, 8], axes_lens=[256, 64, 64])
ZIMAGE = {
    # 32 tokens of the picture and of the text: no padding
    "even": (ZIMAGE_SMALL, 8, 16, [0.0, 0.875], 32),
    # 15 tokens of the picture, 37 of the text: both padded
    "padded": (dict(ZIMAGE_SMALL, n_refiner_layers=2, n_layers=1, norm_eps=1e-6, axes_dims=[4, 12, 8]), 6, 10, [0.25], 37),
}

QWEN_SMALL = dict(patch_size=2, in_channels=64, out_channels=16, num_layers=2, attention_head_dim=24, num_attention_heads=2, joint_attention_dim=40,
                  guidance_embeds=False, axes_dims_rope=(8, 8, 8))
# Powers of two as times: diffusers multiplies by 1000 after the frequencies, which rounds others differently.
QWEN_IMAGE = {
    "small": (QWEN_SMALL, 8, 12, [1.0, 0.25], 19),
    # sides of an odd number of tokens, whose middle is no token's; axes of different sizes
    "odd": (dict(QWEN_SMALL, num_layers=1, axes_dims_rope=(4, 12, 8)), 10, 6, [0.5], 7),
}


def zimage(case, settings, height, width, timesteps, tokens):
    folder = OUT / "zimage" / case
    folder.mkdir(parents=True, exist_ok=True)
    model = write_manifest(folder, ZImageTransformer2DModel(**settings))
    model.save_config(folder)
    n = len(timesteps)
    inputs = {"sample": spread("sample", n, settings["in_channels"], height, width), "timestep": torch.tensor(timesteps, dtype=torch.float32),
              "context": spread("context", n, tokens, settings["cap_feat_dim"])}

    def run(m, x):
        pictures = [picture.unsqueeze(1) for picture in x["sample"]]
        return {"output": torch.stack(m(pictures, x["timestep"], list(x["context"])).sample).squeeze(2)}
    return finish(folder, f"zimage/{case}", inputs, run, model)


def pack(latents):
    n, c, h, w = latents.shape
    return latents.view(n, c, h // 2, 2, w // 2, 2).permute(0, 2, 4, 1, 3, 5).reshape(n, h * w // 4, c * 4)


def unpack(tokens, height, width):
    n, _, c = tokens.shape
    return tokens.view(n, height // 2, width // 2, c // 4, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(n, c // 4, height, width)


def qwen_image(case, settings, height, width, timesteps, tokens):
    folder = OUT / "qwen_image" / case
    folder.mkdir(parents=True, exist_ok=True)
    model = write_manifest(folder, QwenImageTransformer2DModel(**settings))
    model.save_config(folder)
    n = len(timesteps)
    inputs = {"sample": spread("sample", n, settings["in_channels"] // 4, height, width), "timestep": torch.tensor(timesteps, dtype=torch.float32),
              "context": spread("context", n, tokens, settings["joint_attention_dim"])}

    def run(m, x):
        shapes = [[(1, height // 2, width // 2)]] * n
        out = m(pack(x["sample"]), x["context"], None, x["timestep"], shapes, [tokens] * n).sample
        return {"output": unpack(out, height, width)}
    return finish(folder, f"qwen_image/{case}", inputs, run, model)


# settings, height, width, pictures
WAN = dict(base_dim=8, z_dim=4, dim_mult=[1, 2, 4, 4], num_res_blocks=2, attn_scales=[], temperal_downsample=[False, True, True], dropout=0.0,
           latents_mean=[-0.75, 0.125, 0.5, 0.0], latents_std=[2.5, 1.25, 0.5, 1.0])
WAN_VAE = {
    "small": (WAN, 24, 32, 2),
    "flat": (dict(WAN, dim_mult=[1, 3], num_res_blocks=1, temperal_downsample=[True]), 10, 12, 1),
}


def wan_vae(case, settings, height, width, batch):
    folder = OUT / "wan_vae" / case
    folder.mkdir(parents=True, exist_ok=True)
    model = write_manifest(folder, AutoencoderKLQwenImage(**settings))
    model.save_config(folder)
    scale = 2**(len(settings["dim_mult"]) - 1)
    inputs = {"image": spread("image", batch, 3, height, width).clamp(-1, 1), "latent": spread("latent", batch, settings["z_dim"], height // scale, width // scale)}

    def run(m, x):
        moments = m.encode(x["image"].unsqueeze(2)).latent_dist
        mean, std = (torch.tensor(settings[k]).to(x["latent"]).view(1, -1, 1, 1) for k in ("latents_mean", "latents_std"))
        latent = x["latent"].unsqueeze(2)
        decoded = m.decoder(m.post_quant_conv(latent))  # decode() cuts to -1..1
        assert torch.equal(decoded.clamp(-1, 1), m.decode(latent).sample)
        return {"mean": moments.mean.squeeze(2), "logvar": moments.logvar.squeeze(2), "decoded": decoded.squeeze(2),
                "unscaled": x["latent"] * std + mean}
    return finish(folder, f"wan_vae/{case}", inputs, run, model)


def main():
    wanted, measured = sys.argv[1:], {}
    path = OUT / "transformers.json"
    if path.exists():
        measured = json.loads(path.read_text())
    for net, make, cases in (("zimage", zimage, ZIMAGE), ("qwen_image", qwen_image, QWEN_IMAGE), ("wan_vae", wan_vae, WAN_VAE)):
        for case, arguments in cases.items():
            if not wanted or any(w in f"{net}/{case}" for w in wanted):
                measured.update(make(case, *arguments))
    rows = [f"{json.dumps(k)}: {json.dumps(measured[k])}" for k in sorted(measured)]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
