"""Writes tests/golden/file_kinds: one narrow model of SD-Turbo's kind as every kind of file that docs/models.md lists, by the packages that people's
files come from (safetensors, torch, gguf, diffusers, transformers), and what diffusers makes of it in f32.

Weights are f16 numbers, so every kind but gguf_q8 holds the same ones; README.md there has the words. Needs gguf==0.19.0 besides requirements.txt.
"""
import json
import pathlib
import shutil

import gguf
import numpy as np
import torch
from diffusers import AutoencoderKL, EulerDiscreteScheduler, UNet2DConditionModel
from safetensors.torch import save_file
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

import formula
import store
from philox import CudaGenerator

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/file_kinds"
VOCABULARY = 600
CLIP = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=77,
            hidden_act="gelu", bos_token_id=0, eos_token_id=2, pad_token_id=1, projection_dim=32)
CROSS, UP = "CrossAttnDownBlock2D", "CrossAttnUpBlock2D"
UNET = dict(in_channels=4, out_channels=4, sample_size=16, block_out_channels=(8, 16), layers_per_block=1, attention_head_dim=(2, 4),
            use_linear_projection=True, cross_attention_dim=32, norm_num_groups=4, down_block_types=(CROSS, "DownBlock2D"), up_block_types=("UpBlock2D", UP))
VAE = dict(in_channels=3, out_channels=3, latent_channels=4, down_block_types=("DownEncoderBlock2D",) * 3, up_block_types=("UpDecoderBlock2D",) * 3,
           sample_size=64, scaling_factor=0.18215, block_out_channels=(8, 8, 8), layers_per_block=1, norm_num_groups=4)
SCHEDULER = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000, prediction_type="epsilon",
                 timestep_spacing="trailing", steps_offset=1)
PROMPT, SEED, STEPS = "a red apple", 7, 2
STEMS = {"text_encoder": "model", "unet": "diffusion_pytorch_model", "vae": "diffusion_pytorch_model"}
TORCH = {"text_encoder": "pytorch_model", "unet": "diffusion_pytorch_model", "vae": "diffusion_pytorch_model"}


def tokenizer():
    """The shipped tokenizer, cut to its bytes and first merges."""
    source, target = ROOT / "models/tiny/tokenizer", OUT / "tokenizer"
    target.mkdir(parents=True)
    words = json.loads((source / "vocab.json").read_text())
    kept = {w: i for w, i in words.items() if i < VOCABULARY - 2} | {"<|startoftext|>": VOCABULARY - 2, "<|endoftext|>": VOCABULARY - 1}
    (target / "vocab.json").write_text(json.dumps(kept, ensure_ascii=False))
    lines = (source / "merges.txt").read_text().splitlines()
    (target / "merges.txt").write_text("\n".join(lines[:1 + VOCABULARY - 2 - 512]) + "\n")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        text = json.loads((source / name).read_text())
        text["pad_token"] = "!"
        (target / name).write_text(json.dumps(text, indent=1) + "\n")
    return CLIPTokenizer.from_pretrained(target)


def halves(model):
    table = formula.manifest({k: tuple(v.shape) for k, v in model.state_dict().items()})
    model.load_state_dict({k: torch.from_numpy(formula.values(k, v["shape"], v["scale"], v["offset"])).half() for k, v in table.items()})
    return model.half().eval()


def write_gguf(state, path, arch, quantised):
    writer = gguf.GGUFWriter(path, arch)
    for name, tensor in state.items():
        values = tensor.float().numpy()
        kind = gguf.GGMLQuantizationType.F16
        if quantised and values.ndim == 2 and values.shape[1] % 32 == 0:
            kind = gguf.GGMLQuantizationType.Q8_0
        data = values.astype(np.float16) if kind == gguf.GGMLQuantizationType.F16 else gguf.quants.quantize(values, kind)
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_kinds(name, model):
    state = {k: v.contiguous() for k, v in model.state_dict().items()}
    size = sum(v.numel() * 2 for v in state.values())
    model.save_pretrained(OUT / "safetensors" / name)                                          # with its config.json
    if name == "unet":
        # The other kinds hold the same configuration, so only the weights are kept.
        model.save_pretrained(OUT / "safetensors_shards" / name, max_shard_size=size // 2)
        model.save_pretrained(OUT / "torch_shards" / name, max_shard_size=size // 2, safe_serialization=False)
    model.save_pretrained(OUT / "torch_zip" / name, safe_serialization=False)
    for kind in ("torch_legacy", "gguf_f16", *(["gguf_q8"] if name != "vae" else [])):         # none of the vae's rows is whole blocks
        (OUT / kind / name).mkdir(parents=True)
    torch.save(state, OUT / "torch_legacy" / name / (TORCH[name] + ".bin"), _use_new_zipfile_serialization=False)
    if name != "vae":
        write_gguf(state, OUT / "gguf_q8" / name / (STEMS[name] + ".gguf"), "sd", True)
    write_gguf(state, OUT / "gguf_f16" / name / (STEMS[name] + ".gguf"), "sd", False)
    for extra in ("safetensors_shards", "torch_shards", "torch_zip"):
        (OUT / extra / name / "config.json").unlink(missing_ok=True)


def main():
    for old in OUT.glob("*/"):
        shutil.rmtree(old)
    words = tokenizer()
    text = halves(CLIPTextModel(CLIPTextConfig(**CLIP, architectures=["CLIPTextModel"])))
    unet, vae = halves(UNet2DConditionModel(**UNET)), halves(AutoencoderKL(**VAE))
    for name, model in (("text_encoder", text), ("unet", unet), ("vae", vae)):
        write_kinds(name, model)
    save_file({k: v for k, v in text.state_dict().items()}, OUT / "safetensors/text_encoder/model.safetensors", metadata={"format": "pt"})
    text, unet, vae = text.float(), unet.float(), vae.float()
    ids = words([PROMPT], padding="max_length", max_length=77, truncation=True, return_tensors="pt").input_ids
    embeds = text(ids).last_hidden_state
    scheduler = EulerDiscreteScheduler(**SCHEDULER)
    scheduler.set_timesteps(STEPS)
    z = torch.from_numpy(CudaGenerator(SEED).randn(4 * 16 * 16)).reshape(1, 4, 16, 16) * scheduler.init_noise_sigma
    for t in scheduler.timesteps:
        z = scheduler.step(unet(scheduler.scale_model_input(z, t), t, embeds).sample, t, z).prev_sample
    image = (vae.decode(z / VAE["scaling_factor"]).sample / 2 + 0.5).clamp(0, 1)[0]
    store.save({"latents": z.numpy(), "image": image.numpy().astype(np.float16), "input_ids": ids.to(torch.int32).numpy()}, OUT / "io.safetensors")
    (OUT / "scheduler").mkdir()
    (OUT / "scheduler/scheduler_config.json").write_text(json.dumps(SCHEDULER, indent=1) + "\n")
    for path in OUT.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    print("largest latent", float(z.abs().max()), "image", float(image.min()), float(image.max()), "ids", ids[0, :12].tolist())
    print({p.name: sum(f.stat().st_size for f in p.rglob("*") if f.is_file()) for p in sorted(OUT.iterdir()) if p.is_dir()})


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
