"""The k-diffusion samplers in numpy double, written from their formulas. x lives in the "variance exploding" space: x = picture + sigma * noise.

denoise(x, sigma) gives the picture that the network sees in x.
"""
import numpy as np


def training_sigmas(first=0.00085, last=0.012, count=1000):
    """sigma of every training timestep for SD's scaled-linear betas."""
    beta = np.linspace(first**0.5, last**0.5, count) ** 2
    kept = np.cumprod(1 - beta)
    return np.sqrt((1 - kept) / kept)


def discrete(steps, table):
    """Evenly spaced timesteps from the last to 0, sigma interpolated in the logarithm, then 0."""
    t = np.linspace(len(table) - 1, 0, steps) if steps > 1 else np.array([len(table) - 1.0])
    low = np.minimum(np.floor(t).astype(int), len(table) - 2)
    part, logs = t - low, np.log(table)
    return np.append(np.exp(logs[low] * (1 - part) + logs[low + 1] * part), 0.0)


def karras(steps, table, rho=7.0):
    ramp = np.linspace(0, 1, steps) if steps > 1 else np.array([0.0])
    a, b = table[-1] ** (1 / rho), table[0] ** (1 / rho)
    return np.append((a + ramp * (b - a)) ** rho, 0.0)


def timestep(sigma, table):
    """The fractional timestep of a sigma: linear in log sigma, clamped to the table."""
    logs, s = np.log(table), np.log(max(sigma, 1e-10))
    low = int(np.clip(np.searchsorted(logs, s, side="right") - 1, 0, len(table) - 2))
    return low + float(np.clip((s - logs[low]) / (logs[low + 1] - logs[low]), 0, 1))


def denoiser(network, prediction, table):
    """network(scaled x, timestep) -> eps or v."""
    def denoise(x, sigma):
        root = np.sqrt(sigma**2 + 1)
        out = network(x / root, timestep(sigma, table))
        return x - sigma * out if prediction == "epsilon" else x / root**2 - out * sigma / root
    return denoise


def euler(denoise, x, sigmas, noises=None):
    trail = [x]
    for s, t in zip(sigmas, sigmas[1:]):
        x = x + (x - denoise(x, s)) / s * (t - s)
        trail.append(x)
    return trail


def euler_ancestral(denoise, x, sigmas, noises):
    trail = [x]
    for k, (s, t) in enumerate(zip(sigmas, sigmas[1:])):
        up = np.sqrt(t**2 * (s**2 - t**2) / s**2)
        down = np.sqrt(t**2 - up**2)
        x = x + (x - denoise(x, s)) / s * (down - s) + (noises[k] * up if t > 0 else 0)
        trail.append(x)
    return trail


def dpmpp_2m(denoise, x, sigmas, noises=None):
    """Second order in lambda = -log sigma from the two last pictures; first order on the first step and on the step to 0."""
    trail, before, gap = [x], None, None
    for s, t in zip(sigmas, sigmas[1:]):
        now = denoise(x, s)
        if t == 0:
            x = now
        else:
            h, guess = np.log(s / t), now
            if before is not None:
                guess = now + (now - before) * h / (2 * gap)
            x, gap = (t / s) * x - np.expm1(-h) * guess, h
        before = now
        trail.append(x)
    return trail


def ddim(network, x, times, gap, prediction, table, eta=0.0, noises=None, last_is_one=False):
    """Diffusers' DDIM in the "variance preserving" space; gap = training timesteps // steps, the distance it looks ahead."""
    trail = [x]
    for k, t in enumerate(times):
        a = 1 / (1 + table[t] ** 2)
        b = 1 / (1 + table[t - gap] ** 2) if t - gap >= 0 else 1.0 if last_is_one else 1 / (1 + table[0] ** 2)
        out = network(x, t)
        picture = (x - np.sqrt(1 - a) * out) / np.sqrt(a) if prediction == "epsilon" else np.sqrt(a) * x - np.sqrt(1 - a) * out
        eps = out if prediction == "epsilon" else np.sqrt(a) * out + np.sqrt(1 - a) * x
        deviation = eta * np.sqrt((1 - b) / (1 - a) * (1 - a / b))
        x = np.sqrt(b) * picture + np.sqrt(1 - b - deviation**2) * eps + (deviation * noises[k] if eta else 0)
        trail.append(x)
    return trail


SAMPLERS = {"euler": euler, "euler_a": euler_ancestral, "dpmpp_2m": dpmpp_2m}
