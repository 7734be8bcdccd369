"""Writes tests/golden/{clip_text,unet,vae}: small networks with formula weights, run by transformers and diffusers in double.

network_golden.py [NAME ...]: only the cases whose net/case contains one of the names.
"""
import json
import sys

import numpy as np
import torch
from diffusers import AutoencoderKL, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel

from golden_case import OUT, finish, spread, write_manifest
from network_cases import CLIP, UNET, VAE


def clip(case, settings):
    config = CLIPTextConfig(**settings, architectures=["CLIPTextModel"])
    config._attn_implementation = "sdpa"
    folder = OUT / "clip_text" / case
    folder.mkdir(parents=True, exist_ok=True)
    model = write_manifest(folder, CLIPTextModel(config))
    config.save_pretrained(folder)
    r = np.random.default_rng(11)
    ids = np.full((2, 77), config.eos_token_id, np.int32)
    for row, n in zip(ids, (9, 75)):
        row[:n + 1] = [config.bos_token_id, *r.integers(0, config.bos_token_id, n)]

    def run(m, x):
        out = m(x["input_ids"].long(), output_hidden_states=True)
        before = out.hidden_states[-2]
        return {"last_hidden_state": out.last_hidden_state, "penultimate": before, "penultimate_normed": m.text_model.final_layer_norm(before),
                "pooled": out.pooler_output}
    return finish(folder, f"clip_text/{case}", {"input_ids": torch.from_numpy(ids)}, run, model)


def unet(case, settings, height, width, timesteps, tokens, watch):
    folder = OUT / "unet" / case
    folder.mkdir(parents=True, exist_ok=True)
    model = write_manifest(folder, UNet2DConditionModel(**settings))
    model.save_config(folder)
    n = len(timesteps)
    inputs = {"sample": spread("sample", n, settings["in_channels"], height, width), "timestep": torch.tensor(timesteps, dtype=torch.float32),
              "encoder_hidden_states": spread("encoder_hidden_states", n, tokens, settings["cross_attention_dim"])}
    if settings.get("addition_embed_type") == "text_time":
        pooled = settings["projection_class_embeddings_input_dim"] - 6 * settings["addition_time_embed_dim"]
        inputs["text_embeds"] = spread("text_embeds", n, pooled)
        inputs["time_ids"] = torch.tensor([[1024, 1024, 0, 0, 1024, 1024], [768, 512, 16, 8, 896, 640]], dtype=torch.float32)

    def run(m, x):
        seen, hooks = {}, []
        for name in watch:
            def keep(_module, _args, out, name=name):
                seen.setdefault("after." + name, out[0] if isinstance(out, tuple) else out)
            hooks.append(m.get_submodule(name).register_forward_hook(keep))
        added = {k: x[k] for k in ("text_embeds", "time_ids") if k in x} or None
        seen["output"] = m(x["sample"], x["timestep"], x["encoder_hidden_states"], added_cond_kwargs=added).sample
        for h in hooks:
            h.remove()
        return seen
    return finish(folder, f"unet/{case}", inputs, run, model)


def vae(case, settings, height, width, batch):
    folder = OUT / "vae" / case
    folder.mkdir(parents=True, exist_ok=True)
    model = write_manifest(folder, AutoencoderKL(**settings))
    model.save_config(folder)
    inputs = {"image": spread("image", batch, 3, height, width).clamp(-1, 1), "latent": spread("latent", batch, settings["latent_channels"], height // 8, width // 8)}

    def run(m, x):
        moments = m.encode(x["image"]).latent_dist
        return {"mean": moments.mean, "logvar": moments.logvar, "decoded": m.decode(x["latent"]).sample}
    return finish(folder, f"vae/{case}", inputs, run, model)


def main():
    wanted, measured = sys.argv[1:], {}
    path = OUT / "networks.json"
    if path.exists():
        measured = json.loads(path.read_text())
    for net, make, cases in (("clip_text", clip, CLIP), ("unet", unet, UNET), ("vae", vae, VAE)):
        for case, arguments in cases.items():
            if not wanted or any(w in f"{net}/{case}" for w in wanted):
                measured.update(make(case, *arguments))
    rows = [f"{json.dumps(k)}: {json.dumps(measured[k])}" for k in sorted(measured)]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
