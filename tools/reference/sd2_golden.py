"""Writes tests/golden/sd2: small models of SD 2.x's and SD-Turbo's kind with formula weights, run end to end by diffusers in f32 on the CPU.

Text encoder with exact gelu and a "!" padding, linear projections, heads per level; SD-Turbo's Euler with trailing steps and no guidance; v prediction
with guidance under DDIM, with SD 2.1's schedule and with zero terminal SNR. README.md there has the words.
"""
import json
import pathlib

import torch
from diffusers import AutoencoderKL, DDIMScheduler, EulerDiscreteScheduler, UNet2DConditionModel
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

import formula
import store
from philox import CudaGenerator

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUT = ROOT / "tests/golden/sd2"
CROSS, UP = "CrossAttnDownBlock2D", "CrossAttnUpBlock2D"
CLIP = dict(vocab_size=3072, hidden_size=32, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=77,
            hidden_act="gelu", bos_token_id=0, eos_token_id=2, pad_token_id=1, projection_dim=32)
UNET = dict(in_channels=4, out_channels=4, norm_eps=1e-5, act_fn="silu", flip_sin_to_cos=True, freq_shift=0, downsample_padding=1, mid_block_scale_factor=1,
            sample_size=16, block_out_channels=(32, 64, 64), layers_per_block=1, attention_head_dim=(2, 4, 4), use_linear_projection=True,
            cross_attention_dim=32, norm_num_groups=16, down_block_types=(CROSS, CROSS, "DownBlock2D"), up_block_types=("UpBlock2D", UP, UP))
VAE = dict(in_channels=3, out_channels=3, latent_channels=4, act_fn="silu", down_block_types=("DownEncoderBlock2D",) * 3,
           up_block_types=("UpDecoderBlock2D",) * 3, sample_size=64, scaling_factor=0.18215, block_out_channels=(16, 32, 32), layers_per_block=1,
           norm_num_groups=16)
SD = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000)
PROMPT, NEGATIVE, SEED = "a red apple on a blue background", "a dog", 42
# scheduler, its config, steps, guidance (1: none)
CASES = {
    "turbo1": (EulerDiscreteScheduler, dict(SD, prediction_type="epsilon", timestep_spacing="trailing", steps_offset=1), 1, 1.0),
    "turbo4": (EulerDiscreteScheduler, dict(SD, prediction_type="epsilon", timestep_spacing="trailing", steps_offset=1), 4, 1.0),
    "v": (DDIMScheduler, dict(SD, prediction_type="v_prediction", timestep_spacing="leading", steps_offset=1, clip_sample=False, set_alpha_to_one=False), 4, 5.0),
    "v_zero_snr": (DDIMScheduler, dict(SD, prediction_type="v_prediction", timestep_spacing="trailing", steps_offset=1, clip_sample=False,
                                       set_alpha_to_one=False, rescale_betas_zero_snr=True), 4, 5.0),
    "v_zero_snr_euler": (EulerDiscreteScheduler, dict(SD, prediction_type="v_prediction", timestep_spacing="trailing", steps_offset=1,
                                                      rescale_betas_zero_snr=True), 4, 5.0),
}


def component(folder, model, save):
    folder.mkdir(parents=True, exist_ok=True)
    table = formula.manifest({k: tuple(v.shape) for k, v in model.state_dict().items()})
    rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in table.items()]
    (folder / "tensors.json").write_text("{\n" + ",\n".join(", ".join(rows[i:i + 4]) for i in range(0, len(rows), 4)) + "\n}\n")
    model.load_state_dict({k: torch.from_numpy(formula.values(k, v["shape"], v["scale"], v["offset"])) for k, v in table.items()})
    save(folder)
    return model.eval()


def main():
    clip_config = CLIPTextConfig(**CLIP, architectures=["CLIPTextModel"])
    text = component(OUT / "text_encoder", CLIPTextModel(clip_config), clip_config.save_pretrained)
    unet = UNet2DConditionModel(**UNET)
    unet = component(OUT / "unet", unet, unet.save_config)
    vae = AutoencoderKL(**VAE)
    vae = component(OUT / "vae", vae, vae.save_config)
    tokenizer = CLIPTokenizer.from_pretrained(ROOT / "models/tiny/tokenizer", pad_token="!")
    ids = tokenizer([NEGATIVE, PROMPT], padding="max_length", max_length=77, truncation=True, return_tensors="pt").input_ids
    assert int((ids == 0).sum()) > 100                        # "!" is token 0
    embeds = text(ids).last_hidden_state
    start = torch.from_numpy(CudaGenerator(SEED).randn(4 * 16 * 16)).reshape(1, 4, 16, 16)
    out = {"input_ids": ids.to(torch.int32), "embeds": embeds}
    configs = {}
    for name, (kind, config, steps, guidance) in CASES.items():
        s = kind(**config)
        s.set_timesteps(steps)
        z = start * s.init_noise_sigma
        trail = [z]
        for t in s.timesteps:
            if guidance == 1:
                prediction = unet(s.scale_model_input(z, t), t, embeds[1:]).sample
            else:
                u, c = unet(s.scale_model_input(torch.cat([z, z]), t), t, embeds).sample.chunk(2)
                prediction = u + guidance * (c - u)
            z = s.step(prediction, t, z).prev_sample
            trail.append(z)
        out[name + ".latents"] = torch.stack(trail, 1)[0]
        if name == "turbo1":
            out[name + ".image"] = (vae.decode(z / VAE["scaling_factor"]).sample / 2 + 0.5).clamp(0, 1)[0]
        configs[name] = {"class": kind.__name__, "config": config, "steps": steps, "guidance": guidance,
                         "timesteps": [float(t) for t in s.timesteps], "largest": round(float(z.abs().max()), 3)}
        print(name, configs[name]["timesteps"], "largest latent", float(z.abs().max()))
    store.save({k: v.numpy() for k, v in out.items()}, OUT / "io.safetensors")
    info = {"prompt": PROMPT, "negative": NEGATIVE, "seed": SEED, "cases": configs}
    (OUT / "cases.json").write_text(json.dumps(info, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
