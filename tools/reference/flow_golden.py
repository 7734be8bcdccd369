"""Writes tests/golden/schedulers/flow.safetensors: samplers of flow models in diffusers on the toy network. Needs requirements-dit.txt.

Names: `<sampler>.<schedule>.<steps>.{sigmas,trail}`; the trail has the latent before every run of the network and the last one.
"""
import pathlib

import numpy as np
import torch
from diffusers import DPMSolverMultistepScheduler, FlowMatchEulerDiscreteScheduler, FlowMatchHeunDiscreteScheduler

import formula
import store

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/schedulers"
SHAPE, STEPS = (2, 4, 4, 4), (1, 2, 5, 9)
# Z-Image's; Qwen-Image's at 1024 by 1024 pixels (4096 tokens); none
SCHEDULES = {
    "shift3": (dict(shift=3.0), None),
    "dynamic": (dict(use_dynamic_shifting=True, base_shift=0.5, max_shift=0.9, base_image_seq_len=256, max_image_seq_len=8192, shift_terminal=0.02), 4096),
    "plain": ({}, None),
}


def toy(x, t):
    return 0.3 * x + 0.1 * np.sin(t / 100 + np.arange(x.size).reshape(x.shape) * 0.01)


def euler_of(settings, tokens, steps):
    s = FlowMatchEulerDiscreteScheduler(**settings)
    mu = None
    if tokens is not None:  # as the pipelines compute it
        slope = (settings["max_shift"] - settings["base_shift"]) / (settings["max_image_seq_len"] - settings["base_image_seq_len"])
        mu = tokens * slope + settings["base_shift"] - slope * settings["base_image_seq_len"]
    s.set_timesteps(sigmas=np.linspace(1.0, 1 / steps, steps), mu=mu)
    if tokens is None:  # Z-Image's pipeline asks for a step more, down to 0, which then moves nothing
        other = FlowMatchEulerDiscreteScheduler(**settings)
        other.sigma_min = 0.0
        other.set_timesteps(steps + 1)
        assert np.allclose(other.sigmas[:-1], s.sigmas, atol=1e-6) and other.sigmas[-1] == 0
    return s


def scheduler_of(sampler, settings, tokens, steps):
    """That of `sampler` on the sigmas of Euler's, which the pipelines use."""
    euler = euler_of(settings, tokens, steps)
    if sampler == "euler":
        return euler
    if sampler == "heun":
        s = FlowMatchHeunDiscreteScheduler()
        s.set_timesteps(steps)
        s.timesteps = torch.cat([euler.timesteps[:1], euler.timesteps[1:].repeat_interleave(2)])
        s.sigmas = torch.cat([euler.sigmas[:1], euler.sigmas[1:-1].repeat_interleave(2), euler.sigmas[-1:]])
        return s
    s = DPMSolverMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True, final_sigmas_type="zero", lower_order_final=True)
    s.set_timesteps(steps)
    s.sigmas, s.timesteps = euler.sigmas, euler.timesteps
    return s


def main():
    tensors = {}
    for sampler in ("euler", "heun", "dpmpp_2m"):
        for name, (settings, tokens) in SCHEDULES.items():
            for steps in STEPS:
                if steps == 1 and tokens is not None:  # diffusers divides 0 by 0: there is no last step to bring to the terminal
                    continue
                s = scheduler_of(sampler, settings, tokens, steps)
                x = torch.from_numpy(formula.values("start", SHAPE, formula.sixteenth_bits(3**0.5), 0.0))
                trail = [x.numpy()]
                for t in s.timesteps:
                    out = torch.from_numpy(toy(x.numpy().astype(np.float64), float(t)).astype(np.float32))
                    x = s.step(out, t, x).prev_sample
                    trail.append(x.numpy())
                case = f"{sampler}.{name}.{steps}"
                tensors[case + ".trail"] = np.stack(trail).astype(np.float32)
                if sampler == "euler":
                    tensors[f"{name}.{steps}.sigmas"] = s.sigmas.numpy().astype(np.float32)
    assert all(np.isfinite(v).all() for v in tensors.values())
    store.save(tensors, OUT / "flow.safetensors")
    print(len(tensors), "tensors,", (OUT / "flow.safetensors").stat().st_size // 1024, "KB")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
