"""Writing safetensors: always C-contiguous (the numpy writer dumps raw memory, whatever the strides), world-readable."""
import os

import numpy as np
from safetensors.numpy import save_file


def save(tensors, path):
    save_file({k: np.ascontiguousarray(v).copy() for k, v in tensors.items()}, path)
    os.chmod(path, 0o644)
