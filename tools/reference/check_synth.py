"""Loads checkpoints of `chiaro synth` with diffusers and transformers; strict, so that a name or shape too many or too few fails.

check_synth.py PATH...: single files (diffusers' own conversion from the original names), safetensors or GGUF (read and decoded by gguf==0.19.0, which
counts the types too), and diffusers folders (from_pretrained). Writes nothing.
"""
import collections
import pathlib
import sys

import torch
from diffusers import AutoencoderKL, StableDiffusionPipeline, UNet2DConditionModel
from diffusers.loaders import single_file_utils as convert
from safetensors.torch import load_file
from transformers import CLIPTextConfig, CLIPTextModel

from single_file_golden import CLIP_H, CLIP_L, KL, SD1, SD2


def strict(model, state):
    state = {k: v.float() for k, v in state.items()}
    model.load_state_dict({k: v for k, v in state.items() if not k.endswith("position_ids")}, strict=True, assign=True)
    assert all(torch.isfinite(v).all() for v in state.values())
    return sum(v.numel() for v in state.values())


def load_gguf(path):
    """As the package has it: names, shapes in PyTorch's order, every block decoded."""
    import gguf

    state, kinds = {}, collections.Counter()
    for tensor in gguf.GGUFReader(path).tensors:
        kinds[tensor.tensor_type.name] += 1
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        state[tensor.name] = torch.from_numpy(values.reshape([int(n) for n in reversed(tensor.shape)]))
    print(path, dict(kinds))
    return state


def single(path):
    state = load_gguf(path) if path.endswith(".gguf") else load_file(path)
    open_clip = next((p for p in ("cond_stage_model.model.", "conditioner.embedders.0.model.") if p + "ln_final.weight" in state), None)
    with torch.device("meta"):
        unet = UNet2DConditionModel(**(SD2 if open_clip else SD1))
        vae = AutoencoderKL(**KL)
        text = CLIPTextModel(CLIPTextConfig(**(CLIP_H if open_clip else CLIP_L)))
    counts = [strict(unet, convert.convert_ldm_unet_checkpoint(dict(state), dict(SD2 if open_clip else SD1))),
              strict(vae, convert.convert_ldm_vae_checkpoint(dict(state), dict(KL)))]
    if open_clip:
        converted = convert.convert_open_clip_checkpoint(text, {k: v.float() for k, v in state.items()}, open_clip)
        # SD 2.x leaves the last layer out, and the projection to pictures; the published files have both.
        unused = [k for k in converted if k == "text_projection.weight" or ".layers.23." in k]
        assert len(unused) == 17, unused
        counts.append(strict(text, {k: v for k, v in converted.items() if k not in unused}))
    else:
        counts.append(strict(text, convert.convert_ldm_clip_checkpoint(dict(state))))
    print(path, len(state), "tensors; parameters of UNet, vae, text encoder:", counts)


def folder(path):
    pipeline = StableDiffusionPipeline.from_pretrained(path, torch_dtype=torch.float32, safety_checker=None, requires_safety_checker=False)
    with torch.no_grad():
        image = pipeline("a cat", height=64, width=64, num_inference_steps=1, guidance_scale=1, output_type="pt",
                         generator=torch.Generator().manual_seed(0)).images[0]
    assert torch.isfinite(image).all()
    print(path, "makes a picture of", list(image.shape), "values", float(image.min()), "to", float(image.max()))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        (folder if pathlib.Path(name).is_dir() else single)(name)
