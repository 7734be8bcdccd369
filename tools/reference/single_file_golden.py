"""Writes tests/golden/single_file: tensor names of single-file checkpoints, their shapes, and the diffusers names.

The original names are built here from the layout of the original code; diffusers' own conversion functions say where each one goes, and the
diffusers models say that nothing is missing, left over or of another shape. No weights are needed: every tensor is one number, expanded.
"""
import json
import pathlib

import torch
from diffusers import AutoencoderKL, UNet2DConditionModel
from diffusers.loaders import single_file_utils as convert
from transformers import CLIPTextConfig, CLIPTextModel

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/single_file"
CROSS, UP = "CrossAttnDownBlock2D", "CrossAttnUpBlock2D"
SD1 = dict(block_out_channels=(320, 640, 1280, 1280), layers_per_block=2, attention_head_dim=8, cross_attention_dim=768,
           down_block_types=(CROSS,) * 3 + ("DownBlock2D",), up_block_types=("UpBlock2D",) + (UP,) * 3)
SD2 = dict(SD1, attention_head_dim=(5, 10, 20, 20), cross_attention_dim=1024, use_linear_projection=True)
SDXL = dict(block_out_channels=(320, 640, 1280), layers_per_block=2, attention_head_dim=(5, 10, 20), cross_attention_dim=2048, use_linear_projection=True,
            transformer_layers_per_block=(1, 2, 10), down_block_types=("DownBlock2D", CROSS, CROSS), up_block_types=(UP, UP, "UpBlock2D"),
            addition_embed_type="text_time", addition_time_embed_dim=256, projection_class_embeddings_input_dim=2816)
KL = dict(block_out_channels=(128, 256, 512, 512), layers_per_block=2, latent_channels=4, norm_num_groups=32,
          down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4)
CLIP_L = dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12, vocab_size=49408, projection_dim=768)
CLIP_H = dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=23, num_attention_heads=16, vocab_size=49408, hidden_act="gelu", projection_dim=1024)
RESNET = {"norm1": "in_layers.0", "conv1": "in_layers.2", "time_emb_proj": "emb_layers.1", "norm2": "out_layers.0", "conv2": "out_layers.3",
          "conv_shortcut": "skip_connection"}


def swap(name, table):
    for new, old in table.items():
        name = name.replace(new, old)
    return name


def unet_original(name, config):
    """The original name of a diffusers UNet tensor."""
    fixed = {"time_embedding.linear_1": "time_embed.0", "time_embedding.linear_2": "time_embed.2", "conv_in": "input_blocks.0.0", "conv_norm_out": "out.0",
             "conv_out": "out.2", "add_embedding.linear_1": "label_emb.0.0", "add_embedding.linear_2": "label_emb.0.2"}
    stem, end = name.rsplit(".", 1)
    if stem in fixed:
        return f"{fixed[stem]}.{end}"
    p, layers = name.split("."), config["layers_per_block"]
    if p[0] == "mid_block":
        place = "1" if p[1] == "attentions" else str(2 * int(p[2]))
        return swap(".".join(["middle_block", place, *p[3:]]), RESNET if p[1] == "resnets" else {})
    level, kind, rest = int(p[1]), p[2], p[4:]
    if p[0] == "down_blocks":
        if kind == "downsamplers":
            return ".".join([f"input_blocks.{(level + 1) * (layers + 1)}.0.op", *rest[1:]])
        block = f"input_blocks.{1 + level * (layers + 1) + int(p[3])}"
    else:
        if kind == "upsamplers":
            crossed = config["up_block_types"][level] == UP
            return ".".join([f"output_blocks.{level * (layers + 1) + layers}.{2 if crossed else 1}", *rest])
        block = f"output_blocks.{level * (layers + 1) + int(p[3])}"
    return swap(".".join([block, "1" if kind == "attentions" else "0", *rest]), RESNET if kind == "resnets" else {})


def vae_original(name):
    levels = 4
    p = name.split(".")
    if len(p) < 3 or p[1] not in ("down_blocks", "up_blocks", "mid_block"):
        return name.replace("conv_norm_out", "norm_out")
    if p[1] == "mid_block":
        place = "attn_1" if p[2] == "attentions" else f"block_{int(p[3]) + 1}"
        table = {"group_norm": "norm", "to_q": "q", "to_k": "k", "to_v": "v", "to_out.0": "proj_out"} if p[2] == "attentions" else {}
        return swap(".".join([p[0], "mid", place, *p[4:]]), table)
    way = "down" if p[1] == "down_blocks" else "up"
    level = int(p[2]) if way == "down" else levels - 1 - int(p[2])
    if p[3].endswith("samplers"):
        return ".".join([p[0], way, str(level), f"{way}sample", *p[5:]])
    return ".".join([p[0], way, str(level), "block", p[4], *p[5:]]).replace("conv_shortcut", "nin_shortcut")


def tagged(shapes):
    """{name: shape} -> a checkpoint whose tensors hold nothing but their own number."""
    return {name: torch.tensor(float(k)).expand(shape) for k, (name, shape) in enumerate(shapes.items())}


def number(tensor):
    return int(tensor[(0,) * tensor.dim()])


def shapes_of(model):
    return {k: list(v.shape) for k, v in model.state_dict().items()}


def table(original, converted, wanted):
    """Rows [original name, original shape, diffusers name (, diffusers shape if it differs)]."""
    assert {k: list(v.shape) for k, v in converted.items()} == wanted, set(wanted) ^ set(converted)
    names, back = list(original), {number(v): k for k, v in converted.items()}
    assert len(back) == len(names) == len(wanted)
    rows = []
    for k, name in enumerate(names):
        row = [name, original[name], back[k]]
        rows.append(row if wanted[back[k]] == original[name] else row + [wanted[back[k]]])
    return rows


def unet(config):
    with torch.device("meta"):
        wanted = shapes_of(UNet2DConditionModel(**config))
    prefix = "model.diffusion_model."
    original = {prefix + unet_original(k, config): v for k, v in wanted.items()}
    return table(original, convert.convert_ldm_unet_checkpoint(tagged(original), dict(config)), wanted)


def vae():
    with torch.device("meta"):
        wanted = shapes_of(AutoencoderKL(**KL))
    original = {}
    for k, shape in wanted.items():
        conv = ".attentions." in k and k.endswith("weight") and "norm" not in k
        original["first_stage_model." + vae_original(k)] = shape + [1, 1] if conv else shape
    rows = table(original, convert.convert_ldm_vae_checkpoint(tagged(original), dict(KL)), wanted)
    older = {"to_q": "query", "to_k": "key", "to_v": "value", "to_out.0": "proj_attn"}
    return rows, [[swap(r[2], older), r[2]] for r in rows if ".attentions." in r[2] and "group_norm" not in r[2]]


def clip_l(prefix):
    with torch.device("meta"):
        wanted = shapes_of(CLIPTextModel(CLIPTextConfig(**CLIP_L)))
    original = {prefix + k: v for k, v in wanted.items()}
    return table(original, convert.convert_ldm_clip_checkpoint(tagged(original), prefix if "conditioner" in prefix else None), wanted)


def open_clip():
    """SD 2.x: q, k and v are the thirds of one tensor. Rows [original name, shape, [diffusers names]]. The file holds layer 23 too, unused."""
    with torch.device("meta"):
        model = CLIPTextModel(CLIPTextConfig(**CLIP_H))
    wanted, prefix, original = shapes_of(model), "cond_stage_model.model.", {}
    fixed = {"embeddings.token_embedding.weight": "token_embedding.weight", "embeddings.position_embedding.weight": "positional_embedding",
             "final_layer_norm.weight": "ln_final.weight", "final_layer_norm.bias": "ln_final.bias"}
    for k, shape in wanted.items():
        k = k.removeprefix("text_model.")
        if "q_proj" in k:
            end = k.rsplit(".", 1)[1]
            k, shape = k.replace(f"q_proj.{end}", f"in_proj_{end}"), [3 * shape[0], *shape[1:]]
        elif "k_proj" in k or "v_proj" in k:
            continue
        k = fixed.get(k) or swap(k, {"encoder.layers": "transformer.resblocks", "layer_norm1": "ln_1", "layer_norm2": "ln_2", "self_attn": "attn",
                                     "mlp.fc1": "mlp.c_fc", "mlp.fc2": "mlp.c_proj"})
        original[prefix + k] = shape
    converted = convert.convert_open_clip_checkpoint(model, tagged(original), prefix)
    assert {k: list(v.shape) for k, v in converted.items()} == wanted, set(wanted) ^ set(converted)
    groups = {}
    for k, v in converted.items():
        groups.setdefault(number(v), []).append(k)
    return [[name, shape, groups[k]] for k, (name, shape) in enumerate(original.items())]


def write(name, sections):
    text = ",\n".join(f"{json.dumps(k)}: [\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]" for k, rows in sections.items())
    (OUT / name).write_text("{" + text + "}\n")
    print(name, {k: len(v) for k, v in sections.items()})


EXTRA = ["alphas_cumprod", "alphas_cumprod_prev", "betas", "log_one_minus_alphas_cumprod", "model_ema.decay", "model_ema.num_updates",
         "posterior_log_variance_clipped", "posterior_mean_coef1", "posterior_mean_coef2", "posterior_variance", "sqrt_alphas_cumprod",
         "sqrt_one_minus_alphas_cumprod", "sqrt_recip_alphas_cumprod", "sqrt_recipm1_alphas_cumprod", "cond_stage_model.transformer.text_model.embeddings.position_ids"]


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    autoencoder, older = vae()
    write("sd15_names.json", {"unet": unet(SD1), "vae": autoencoder, "text_encoder": clip_l("cond_stage_model.transformer."),
                              "vae_older_diffusers": older, "harmless_extra": EXTRA})
    write("sd21_names.json", {"unet": unet(SD2), "text_encoder": open_clip()})
    write("sdxl_names.json", {"unet": unet(SDXL), "text_encoder": clip_l("conditioner.embedders.0.transformer.")})


if __name__ == "__main__":
    main()
