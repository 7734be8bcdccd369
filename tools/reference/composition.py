"""The composition measure of tests/golden/tiny/README.md: background colour and nearest object, in numpy.

Pictures are float32 [H, W, 3] in 0..1. Sprites are uint8 [objects, S, S, 4], premultiplied RGBA.
"""
import numpy as np

RING, THRESHOLD, GRID, FINE, SUB = 5, 0.13, 24, 48, 4


def background(img):
    """Per channel the lower median of the pixels within RING of the edge."""
    h, w, _ = img.shape
    edge = np.zeros((h, w), bool)
    edge[:RING] = edge[-RING:] = True
    edge[:, :RING] = edge[:, -RING:] = True
    px = np.sort(img[edge], axis=0)
    return px[(len(px) - 1) // 2]


def nearest_colour(colour, palette):
    """palette: [n, 3] in 0..255."""
    return int(np.argmin(((colour * 255 - palette) ** 2).sum(1)))


def foreground(img, bg):
    """[..., H, W, 3] -> mask [..., H, W]: differs from bg by more than THRESHOLD in a channel, at five or more of the 3x3 around."""
    raw = np.abs(img - bg).max(-1) > THRESHOLD
    pad = np.zeros(raw.shape[:-2] + (raw.shape[-2] + 2, raw.shape[-1] + 2), np.int32)
    pad[..., 1:-1, 1:-1] = raw
    h, w = raw.shape[-2:]
    return sum(pad[..., i:i + h, j:j + w] for i in range(3) for j in range(3)) >= 5


def box(mask):
    """(x0, y0, x1, y1), exclusive ends; None if the mask is empty."""
    if not mask.any():
        return None
    xs, ys = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
    return xs[0], ys[0], xs[-1] + 1, ys[-1] + 1


def axis_weights(start, side, n, sub, size):
    """[n, size] bilinear weights: n cells over [start, start + side), each the mean of `sub` samples; outside weighs nothing."""
    w = np.zeros((n, size), np.float64)
    for i in range(n * sub):
        p = start + (i + 0.5) * side / (n * sub) - 0.5
        k = int(np.floor(p))
        for j, part in ((k, 1 - (p - k)), (k + 1, p - k)):
            if 0 <= j < size:
                w[i // sub, j] += part / sub
    return w


def crop(img, bg, bounds, n=GRID, sub=SUB):
    """The square around the box, sampled to [n, n, 3]; outside the picture is bg."""
    x0, y0, x1, y1 = bounds
    side = float(max(x1 - x0, y1 - y0))
    wx = axis_weights((x0 + x1) / 2 - side / 2, side, n, sub, img.shape[1])
    wy = axis_weights((y0 + y1) / 2 - side / 2, side, n, sub, img.shape[0])
    return np.einsum("yh,hwc,xw->yxc", wy, img - bg, wx, optimize=True).astype(np.float32) + bg


def candidates(sprites, bg):
    """Every sprite laid on bg, enlarged to FINE, cropped to what stands out from bg: [objects, GRID, GRID, 3]."""
    s = sprites.shape[1]
    rgba = sprites.astype(np.float32) / 255
    flat = rgba[..., :3] + (1 - rgba[..., 3:]) * bg
    up = axis_weights(0.0, float(s), FINE, 1, s)
    fine = np.einsum("yh,nhwc,xw->nyxc", up, flat - bg, up, optimize=True).astype(np.float32) + bg
    masks, out = foreground(fine, bg), np.empty((len(sprites), GRID, GRID, 3), np.float32)
    for i, m in enumerate(masks):
        b = box(m)
        out[i] = bg if b is None else crop(fine[i], bg, b)
    return out


def rank(img, region, wanted, sprites, cache=None):
    """How many objects are nearer than the wanted one to what stands inside region (fractions x0, y0, x1, y1). 0 is right."""
    bg = background(img)
    h, w, _ = img.shape
    x0, y0, x1, y1 = (int(round(v * s)) for v, s in zip(region, (w, h, w, h)))
    part = img[y0:y1, x0:x1]
    mask = foreground(part, bg)
    if mask.mean() < 0.004:
        return len(sprites)
    look = crop(part, bg, box(mask))
    cand = candidates(sprites, bg) if cache is None else cache(bg)
    d = np.abs(cand - look).mean((1, 2, 3))
    return int((d < d[wanted]).sum())
