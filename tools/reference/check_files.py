"""Single files of the published sizes, written by the packages that people's files come from, against the checkpoint that they were made of.

check_files.py CHIARO FOLDER [sd15 sd21 sd-turbo ...]: for each model, `chiaro synth` makes a checkpoint of random weights in the real names and shapes; then
safetensors 0.8.0, torch 2.7.1, huggingface_hub 0.36.0 (shards) and gguf 0.19.0 write it anew in every kind of file that docs/models.md lists, and
`chiaro generate` makes one step of 64 x 64 of each. The same f16 numbers must give the same pixels; Q8_0 (of the rows that it divides) nearly so. Needs some
8 GB in FOLDER; what it wrote there is removed again. Whether SD 2.1 predicts v is told by a flag: the packages leave out the metadata that says it.
"""
import pathlib
import subprocess
import sys

import gguf
import numpy as np
import torch
from huggingface_hub import save_torch_state_dict
from PIL import Image
from safetensors.torch import load_file, save_file

HALF, Q8 = gguf.GGMLQuantizationType.F16, gguf.GGMLQuantizationType.Q8_0


def picture(program, model, out):
    done = subprocess.run([program, "generate", "-m", str(model), "-p", "a cat", "-W", "64", "-H", "64", "--steps", "1", "--cfg-scale", "1", "-s", "3",
                           "-o", str(out), *(["--prediction", "v"] if "sd21" in model.name else [])], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{model}: {done.stderr}")
    return np.asarray(Image.open(out)).astype(int)


def write_gguf(state, path, quantised):
    writer = gguf.GGUFWriter(path, "sd")
    for name, tensor in state.items():
        values = tensor.numpy()
        if quantised and values.ndim == 2 and values.shape[1] % 32 == 0 and "embed" not in name:
            writer.add_tensor(name, gguf.quants.quantize(values.astype(np.float32), Q8), raw_dtype=Q8)
        else:
            writer.add_tensor(name, values, raw_dtype=HALF)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def kinds(state, folder, stem):
    def shards(safe):
        save_torch_state_dict(state, folder, filename_pattern=stem + ("{suffix}.safetensors" if safe else "{suffix}.bin"), max_shard_size="900MB",
                              safe_serialization=safe)
        return folder / (stem + (".safetensors.index.json" if safe else ".bin.index.json"))

    def saved(path, write):
        write(path)
        return path

    nested = {"state_dict": state, "epoch": 3, "global_step": 1234}
    yield "safetensors", lambda: saved(folder / f"{stem}.safetensors", lambda p: save_file(state, p, metadata={"format": "pt"}))
    yield "shards of safetensors", lambda: shards(True)
    yield "torch.save, zip", lambda: saved(folder / f"{stem}.ckpt", lambda p: torch.save(nested, p))
    yield "torch.save, legacy", lambda: saved(folder / f"{stem}.pth", lambda p: torch.save(nested, p, _use_new_zipfile_serialization=False))
    yield "shards of torch.save", lambda: shards(False)
    yield "gguf, F16", lambda: saved(folder / f"{stem}.gguf", lambda p: write_gguf(state, p, False))
    yield "gguf, Q8_0", lambda: saved(folder / f"{stem}.gguf", lambda p: write_gguf(state, p, True))


def main(program, folder, models):
    folder = pathlib.Path(folder)
    for model in models:
        base = folder / f"{model}.base.safetensors"
        subprocess.run([program, "synth", model, str(base), "--type", "f16"], check=True, capture_output=True)
        expected = picture(program, base, folder / "base.png")
        state = load_file(base)
        base.unlink()
        assert expected.std() > 1, "an empty picture would tell nothing"
        for kind, write in kinds(state, folder, "written_" + model.replace("-", "_")):
            # "turbo" in the file's name is one of the ways in which SD-Turbo is told from SD 2.x.
            made = picture(program, write(), folder / "made.png")
            error = np.abs(made - expected)
            psnr = float("inf") if not error.any() else 10 * np.log10(255**2 / (error**2).mean())
            print(f"{model}, {kind}: PSNR {psnr:.1f} dB", flush=True)
            assert psnr > 25 if "Q8_0" in kind else not error.any(), f"{model}, {kind}"
            for path in folder.glob("written_*"):
                path.unlink()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] or ["sd15", "sd21", "sd-turbo"])
