"""Writes tests/golden/schedulers: diffusers' schedulers and k-diffusion's samplers on a toy network, and checks one against the other."""
import json
import pathlib

import numpy as np
import torch
from diffusers import DDIMScheduler, DPMSolverMultistepScheduler, EulerAncestralDiscreteScheduler, EulerDiscreteScheduler
from diffusers.schedulers import scheduling_ddim, scheduling_euler_ancestral_discrete

import formula
import kdiffusion
import store

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/schedulers"
SHAPE, STEPS = (2, 4, 4, 4), (1, 2, 5, 20)
SD = dict(beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000)
LEADING, LINSPACE, TRAILING = (dict(timestep_spacing=s, steps_offset=o) for s, o in (("leading", 1), ("linspace", 0), ("trailing", 0)))
DDIM, DPM = dict(clip_sample=False, set_alpha_to_one=False), dict(algorithm_type="dpmsolver++", solver_order=2, solver_type="midpoint", lower_order_final=True)
KARRAS = dict(LINSPACE, use_karras_sigmas=True)
LIBRARY = {
    "ddim": (DDIMScheduler, DDIM, {"leading": LEADING, "linspace": LINSPACE, "trailing": TRAILING, "leading_one": dict(LEADING, set_alpha_to_one=True),
                                   "leading_eta": LEADING}),
    "euler": (EulerDiscreteScheduler, {}, {"leading": LEADING, "linspace": LINSPACE, "trailing": TRAILING, "karras": KARRAS}),
    "euler_a": (EulerAncestralDiscreteScheduler, {}, {"leading": LEADING, "linspace": LINSPACE, "trailing": TRAILING}),
    "dpmpp_2m": (DPMSolverMultistepScheduler, DPM, {"leading": LEADING, "linspace": LINSPACE, "trailing": TRAILING, "karras": KARRAS}),
}


def noise(name):
    return formula.values(name, SHAPE, formula.sixteenth_bits(3**0.5), 0.0)


NOISES = [noise(f"noise.{k}") for k in range(max(STEPS))]


def toy(x, t):
    """The network: x is what the network is given (scaled), t the timestep, possibly fractional."""
    return 0.3 * x + 0.1 * np.sin(t / 100 + np.arange(x.size).reshape(x.shape) * 0.01)


def library_loop(scheduler, steps, eta=None):
    scheduler.set_timesteps(steps)
    given = iter(NOISES)
    for module in (scheduling_euler_ancestral_discrete, scheduling_ddim):
        module.randn_tensor = lambda *a, **k: torch.from_numpy(next(given))
    x = torch.from_numpy(noise("start")) * float(scheduler.init_noise_sigma)
    trail, inputs = [x.numpy()], []
    for t in scheduler.timesteps:
        scaled = scheduler.scale_model_input(x, t)
        inputs.append(scaled)
        out = torch.from_numpy(toy(scaled.numpy().astype(np.float64), float(t)).astype(np.float32))
        x = scheduler.step(out, t, x, **({} if eta is None else {"eta": eta})).prev_sample
        trail.append(x.numpy())
    return np.stack(trail).astype(np.float32)


def in_double(name, sigmas, times, prediction, trail):
    """The same loop by kdiffusion.py in double, on the library's own sigmas and timesteps."""
    pick = dict(zip(sigmas.tolist(), times.tolist()))

    def denoise(x, s):
        root = np.sqrt(s**2 + 1)
        out = toy(x / root, pick[s])
        return x - s * out if prediction == "epsilon" else x / root**2 - out * s / root
    scale = np.ones(len(sigmas)) if name != "dpmpp_2m" else np.sqrt(sigmas**2 + 1)      # diffusers runs DPM++ on x / sqrt(sigma^2 + 1)
    ours = kdiffusion.SAMPLERS[name](denoise, trail[0].astype(np.float64) * scale[0], sigmas, NOISES)
    return [o / k for o, k in zip(ours, scale)]


def check(name, case, sigmas, times, prediction, trail):
    """How far the library is from it, relative to the values."""
    ours = in_double(name, sigmas, times, prediction, trail)
    worst = max(float(np.abs(o - t).max() / max(1, np.abs(t).max())) for o, t in zip(ours, trail))
    assert worst < 5e-6, (name, case, worst)
    return worst


def check_ddim(case, scheduler, prediction, trail, eta):
    table, gap = kdiffusion.training_sigmas(), 1000 // scheduler.num_inference_steps
    ours = kdiffusion.ddim(toy, trail[0].astype(np.float64), scheduler.timesteps.tolist(), gap, prediction, table, eta, NOISES,
                           scheduler.config.set_alpha_to_one)
    worst = max(float(np.abs(o - t).max() / max(1, np.abs(t).max())) for o, t in zip(ours, trail))
    assert worst < 2e-5, (case, worst)
    return worst


def library():
    for name, (kind, settings, schedules) in LIBRARY.items():
        tensors, configs, worst = {}, {}, 0.0
        for schedule, extra in schedules.items():
            for prediction in ("epsilon", "v_prediction"):
                config = {**SD, **settings, **extra, "prediction_type": prediction}
                configs[f"{prediction}.{schedule}"] = config
                for steps in STEPS:
                    s, case = kind(**config), f"{prediction}.{schedule}.{steps}"
                    trail = library_loop(s, steps, 0.5 if schedule.endswith("eta") else None)
                    tensors[case + ".timesteps"], tensors[case + ".trail"] = s.timesteps.numpy().astype(np.float32), trail
                    if hasattr(s, "sigmas"):
                        tensors[case + ".sigmas"] = s.sigmas.numpy().astype(np.float32)
                        worst = max(worst, check(name, case, s.sigmas.numpy().astype(np.float64), s.timesteps.numpy(), prediction, trail))
                    else:
                        worst = max(worst, check_ddim(case, s, prediction, trail, 0.5 if schedule.endswith("eta") else 0.0))
        store.save(tensors, OUT / f"{name}.safetensors")
        rows = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in configs.items()]
        (OUT / f"{name}.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")
        print(name, len(tensors), "tensors; against kdiffusion.py", worst)


def zero_snr():
    """Betas rescaled to zero terminal SNR, which needs v prediction: zero_snr.safetensors, names `<sampler>.<steps>.trail`."""
    tensors = {}
    for name, (kind, settings, _) in LIBRARY.items():
        if name == "dpmpp_2m":
            continue
        for steps in (1, 2, 5, 16):
            s = kind(**{**SD, **settings, **TRAILING, "prediction_type": "v_prediction", "rescale_betas_zero_snr": True})
            trail = library_loop(s, steps)
            if name != "ddim":              # at 4096 deviations the library's f32 steps are 5e-4 off; the stored ones are not
                double = np.stack(in_double(name, s.sigmas.numpy().astype(np.float64), s.timesteps.numpy(), "v_prediction", trail)).astype(np.float32)
                assert np.abs(double[1:] - trail[1:]).max() < 2e-3 * max(1, np.abs(trail[1:]).max()), np.abs(double[1:] - trail[1:]).max()
                trail = double
            tensors[f"{name}.{steps}.trail"] = trail
            tensors[f"{name}.{steps}.timesteps"] = s.timesteps.numpy().astype(np.float32)
    store.save(tensors, OUT / "zero_snr.safetensors")
    print("zero_snr", len(tensors), "tensors")


def k_diffusion():
    tensors, table = {}, kdiffusion.training_sigmas()
    for name, sampler in kdiffusion.SAMPLERS.items():
        for schedule in ("discrete", "karras"):
            for prediction in ("epsilon", "v_prediction"):
                for steps in STEPS:
                    sigmas = getattr(kdiffusion, schedule)(steps, table)
                    trail = sampler(kdiffusion.denoiser(toy, prediction, table), noise("start").astype(np.float64) * sigmas[0], sigmas, NOISES)
                    case = f"{name}.{prediction}.{schedule}.{steps}"
                    tensors[case + ".trail"] = np.stack(trail).astype(np.float32)
                    tensors[f"{schedule}.{steps}.sigmas"] = sigmas.astype(np.float32)
                    tensors[f"{schedule}.{steps}.timesteps"] = np.array([kdiffusion.timestep(s, table) for s in sigmas[:-1]], np.float32)
    tensors["training_sigmas"] = table.astype(np.float32)
    store.save(tensors, OUT / "kdiffusion.safetensors")
    print("kdiffusion", len(tensors), "sigma range", table[0], table[-1])


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    store.save({"start": noise("start"), "noises": np.stack(NOISES)}, OUT / "inputs.safetensors")
    library()
    zero_snr()
    k_diffusion()


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
