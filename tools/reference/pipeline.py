"""Pictures from models/tiny with diffusers' and transformers' own classes, in f32 on the CPU."""
import pathlib

import torch
from diffusers import AutoencoderKL, DDIMScheduler, EulerDiscreteScheduler, UNet2DConditionModel
from transformers import CLIPTextModel, CLIPTokenizer

from philox import CudaGenerator

MODEL = pathlib.Path(__file__).resolve().parents[2] / "models/tiny"


class Tiny:
    def __init__(self, dtype=torch.float32):
        load = dict(torch_dtype=dtype)
        self.tokenizer = CLIPTokenizer.from_pretrained(MODEL / "tokenizer")
        self.text = CLIPTextModel.from_pretrained(MODEL / "text_encoder", **load).eval()
        self.unet = UNet2DConditionModel.from_pretrained(MODEL / "unet", **load).eval()
        self.vae = AutoencoderKL.from_pretrained(MODEL / "vae", **load).eval()
        self.scheduler = DDIMScheduler.from_pretrained(MODEL / "scheduler")

    def ids(self, prompts):
        return self.tokenizer(prompts, padding="max_length", max_length=77, truncation=True, return_tensors="pt").input_ids

    @torch.no_grad()
    def latents(self, prompts, noise, steps, guidance, scheduler=None):
        """All latents, start included: [prompts, steps + 1, 4, h, w]."""
        sched = scheduler or self.scheduler
        sched.set_timesteps(steps)
        n = len(prompts)
        context = self.text(self.ids([""] * n + prompts))[0]
        z = noise * sched.init_noise_sigma
        trail = [z]
        for t in sched.timesteps:
            both = sched.scale_model_input(torch.cat([z, z]), t)
            u, c = self.unet(both, t, context).sample.chunk(2)
            z = sched.step(u + guidance * (c - u), t, z).prev_sample
            trail.append(z)
        return torch.stack(trail, 1)

    @torch.no_grad()
    def decode(self, z):
        """[n, 4, h, w] -> [n, 3, 8h, 8w] in 0..1."""
        x = self.vae.decode(z / self.vae.config.scaling_factor).sample
        return (x / 2 + 0.5).clamp(0, 1)


def euler(scheduler):
    """The Euler settings of the reference: k-diffusion's spacing."""
    return EulerDiscreteScheduler.from_config({**scheduler.config, "timestep_spacing": "linspace", "steps_offset": 0})


def noise(seeds, shape=(4, 32, 32)):
    """What torch.randn on a CUDA generator gives for each seed: [n, *shape]."""
    count = shape[0] * shape[1] * shape[2]
    return torch.stack([torch.from_numpy(CudaGenerator(s).randn(count)).reshape(shape) for s in seeds])
