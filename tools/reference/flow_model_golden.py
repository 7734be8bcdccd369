"""Writes tests/golden/flow_models: small models of Z-Image's and Qwen-Image's kind with formula weights, run end to end by diffusers' own pipelines in f32 on the CPU.

README.md there has the words. Needs requirements-dit.txt and transformers of requirements.txt.
"""
import json

import numpy as np
import torch
from diffusers import (AutoencoderKL, AutoencoderKLQwenImage, FlowMatchEulerDiscreteScheduler, QwenImagePipeline, QwenImageTransformer2DModel, ZImagePipeline,
                       ZImageTransformer2DModel)
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2TokenizerFast, Qwen3Config, Qwen3Model
from transformers.models.gpt2.tokenization_gpt2 import bytes_to_unicode

import store
from golden_case import OUT, write_manifest
from philox import CudaGenerator

FOLDER = OUT / "flow_models"
MERGES = ["Ġ a", "r e", "Ġ t", "re d", "Ġ b"]
ADDED = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
SMALL_TEXT = dict(vocab_size=280, intermediate_size=80, num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=1024)
ZIMAGE = dict(all_patch_size=(2,), all_f_patch_size=(1,), in_channels=16, dim=48, n_layers=2, n_refiner_layers=1, n_heads=2, n_kv_heads=2, norm_eps=1e-5,
              qk_norm=True, cap_feat_dim=40, rope_theta=256.0, t_scale=1000.0, axes_dims=[8, 8, 8], axes_lens=[512, 64, 64])
FLUX_VAE = dict(in_channels=3, out_channels=3, latent_channels=16, act_fn="silu", down_block_types=("DownEncoderBlock2D",) * 2,
                up_block_types=("UpDecoderBlock2D",) * 2, sample_size=64, scaling_factor=0.3611, shift_factor=0.1159, block_out_channels=(16, 32),
                layers_per_block=1, norm_num_groups=16, use_quant_conv=False, use_post_quant_conv=False)
QWEN = dict(patch_size=2, in_channels=64, out_channels=16, num_layers=2, attention_head_dim=24, num_attention_heads=2, joint_attention_dim=48,
            guidance_embeds=False, axes_dims_rope=(8, 8, 8))
WAN_VAE = dict(base_dim=8, z_dim=16, dim_mult=[1, 2, 2], num_res_blocks=1, attn_scales=[], temperal_downsample=[False, True], dropout=0.0,
               latents_mean=[round(0.25 * ((i * 7) % 5 - 2), 3) for i in range(16)], latents_std=[round(0.5 + 0.25 * (i % 4), 3) for i in range(16)])
QWEN_SCHEDULE = dict(base_image_seq_len=256, base_shift=0.5, invert_sigmas=False, max_image_seq_len=8192, max_shift=0.9, num_train_timesteps=1000, shift=1.0,
                     shift_terminal=0.02, stochastic_sampling=False, time_shift_type="exponential", use_beta_sigmas=False, use_dynamic_shifting=True,
                     use_exponential_sigmas=False, use_karras_sigmas=False)
PROMPT, NEGATIVE, SEED = "a (red:1.3) tree on a table", "blur, text", 42


def tokenizer(folder):
    folder.mkdir(parents=True, exist_ok=True)
    tokens = list(bytes_to_unicode().values()) + [m.replace(" ", "") for m in MERGES]
    (folder / "vocab.json").write_text(json.dumps({t: i for i, t in enumerate(tokens)}, ensure_ascii=False))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(MERGES) + "\n")
    made = Qwen2TokenizerFast(str(folder / "vocab.json"), str(folder / "merges.txt"), additional_special_tokens=ADDED[1:], unk_token=ADDED[0],
                              eos_token=ADDED[2], pad_token=ADDED[0])
    for name in ("vocab.json", "merges.txt"):
        (folder / name).unlink()
    made.save_pretrained(folder)
    for path in folder.iterdir():
        if path.name not in ("tokenizer.json", "tokenizer_config.json"):
            path.unlink()
    # The template of Qwen3's tokenizer for one message of a user and the opening of an answer.
    made.chat_template = ("{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
                          "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")
    return made


def component(folder, model, save):
    folder.mkdir(parents=True, exist_ok=True)
    made = write_manifest(folder, model)
    save(folder)
    return made


def run(pipe, case, steps_of_diffusers, height, width, trail, **more):
    c = pipe.transformer.config.in_channels if isinstance(pipe, ZImagePipeline) else 16
    scale = pipe.vae_scale_factor
    h, w = height // scale, width // scale
    noise = torch.from_numpy(CudaGenerator(SEED).randn(c * h * w)).reshape(1, c, h, w)
    unpack = (lambda x: x) if isinstance(pipe, ZImagePipeline) else (lambda x: unpacked(x, h, w))
    start = noise if isinstance(pipe, ZImagePipeline) else pipe._pack_latents(noise, 1, c, h, w)
    latents = [noise[0]]

    def keep(_pipe, _i, _t, values):
        latents.append(unpack(values["latents"])[0].clone())
        return values
    image = pipe(height=height, width=width, num_inference_steps=steps_of_diffusers, latents=start, output_type="pt", callback_on_step_end=keep, **more).images[0]
    if isinstance(pipe, ZImagePipeline):
        last = latents.pop()  # of a step from sigma 0 to 0
        assert torch.equal(last, latents[-1])
    trail[case + ".latents"], trail[case + ".image"] = torch.stack(latents), image


def unpacked(tokens, h, w):
    n, _, c = tokens.shape
    return tokens.view(n, h // 2, w // 2, c // 4, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(n, c // 4, h, w)


def zimage():
    folder = FOLDER / "zimage"
    text_config = Qwen3Config(**SMALL_TEXT, hidden_size=40, num_hidden_layers=3, head_dim=16, tie_word_embeddings=True)
    text = component(folder / "text_encoder", Qwen3Model(text_config), text_config.save_pretrained)
    transformer = ZImageTransformer2DModel(**ZIMAGE)
    transformer = component(folder / "transformer", transformer, transformer.save_config)
    vae = AutoencoderKL(**FLUX_VAE)
    vae = component(folder / "vae", vae, vae.save_config)
    words = tokenizer(folder / "tokenizer")
    trail, cases = {}, {}
    for name, shift, steps, guidance in (("turbo", 3.0, 4, 1.0), ("base", 6.0, 3, 4.0)):
        config = dict(num_train_timesteps=1000, use_dynamic_shifting=False, shift=shift)
        pipe = ZImagePipeline(FlowMatchEulerDiscreteScheduler(**config), vae, text, words, transformer)
        pipe.set_progress_bar_config(disable=True)
        # One step more, whose step in sigma is 0; and a guidance that begins at 0 where ours begins at 1.
        run(pipe, name, steps + 1, 32, 24, trail, prompt=PROMPT, negative_prompt=NEGATIVE, guidance_scale=guidance - 1, max_sequence_length=512)
        cases[name] = {"scheduler": config, "steps": steps, "guidance": guidance, "width": 24, "height": 32}
    return folder, trail, {"pipeline": "ZImagePipeline", "text_encoder": ["transformers", "Qwen3Model"], "transformer": "ZImageTransformer2DModel",
                           "vae": "AutoencoderKL", "cases": cases}


def qwen_image():
    folder = FOLDER / "qwen_image"
    config = Qwen2_5_VLConfig(text_config=dict(SMALL_TEXT, hidden_size=48, num_hidden_layers=2, num_attention_heads=3, tie_word_embeddings=False,
                                               rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]}),
                              vision_config=dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, out_hidden_size=48, fullatt_block_indexes=[0]))
    text = component(folder / "text_encoder", Qwen2_5_VLForConditionalGeneration(config), config.save_pretrained)
    transformer = QwenImageTransformer2DModel(**QWEN)
    transformer = component(folder / "transformer", transformer, transformer.save_config)
    vae = AutoencoderKLQwenImage(**WAN_VAE)
    vae = component(folder / "vae", vae, vae.save_config)
    words = tokenizer(folder / "tokenizer")
    trail, cases = {}, {}
    for name, steps, guidance in (("plain", 3, 1.0), ("guided", 3, 4.0)):
        pipe = QwenImagePipeline(FlowMatchEulerDiscreteScheduler(**QWEN_SCHEDULE), vae, text, words, transformer)
        pipe.set_progress_bar_config(disable=True)
        pipe.prompt_template_encode_start_idx = len(words(pipe.prompt_template_encode.split("{}")[0]).input_ids)  # 34 tokens of the real vocabulary
        run(pipe, name, steps, 24, 32, trail, prompt=PROMPT, negative_prompt=NEGATIVE if guidance > 1 else None, true_cfg_scale=guidance)
        cases[name] = {"scheduler": QWEN_SCHEDULE, "steps": steps, "guidance": guidance, "width": 32, "height": 24}
    return folder, trail, {"pipeline": "QwenImagePipeline", "text_encoder": ["transformers", "Qwen2_5_VLForConditionalGeneration"],
                           "transformer": "QwenImageTransformer2DModel", "vae": "AutoencoderKLQwenImage", "cases": cases}


def main():
    for make in (zimage, qwen_image):
        folder, trail, info = make()
        store.save({k: v.float().numpy() for k, v in trail.items()}, folder / "io.safetensors")
        info.update(prompt=PROMPT, negative=NEGATIVE, seed=SEED)
        (folder / "cases.json").write_text(json.dumps(info, indent=1) + "\n")
        print(folder.name, {k: (tuple(v.shape), round(float(v.abs().max()), 3), bool(np.isfinite(v.numpy()).all())) for k, v in trail.items()})


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
