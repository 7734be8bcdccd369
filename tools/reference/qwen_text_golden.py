"""Writes tests/golden/qwen_text: small text models of Qwen with formula weights, run by transformers as the pipelines of diffusers run them.

Texts of several lengths are padded to one and masked, as there; for Qwen2.5-VL the whole model runs, so that its positions over three axes are those of
text. qwen_text_golden.py [NAME ...]: only the cases whose name contains one of the names.
"""
import json
import sys

import numpy as np
import torch
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen3Config, Qwen3Model

from golden_case import OUT, finish, write_manifest

QWEN3 = dict(vocab_size=97, hidden_size=48, intermediate_size=80, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
             rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=512, tie_word_embeddings=True)
# layers as published, one head of keys for all, another angle
CASES = {
    "qwen3": ("qwen3", QWEN3, [19, 7]),
    "qwen3_one_key": ("qwen3", dict(QWEN3, num_attention_heads=3, num_key_value_heads=1, head_dim=24, rope_theta=1e4, rms_norm_eps=1e-5), [1, 33]),
    "qwen25_vl": ("qwen2_5_vl", dict(vocab_size=97, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                     rms_norm_eps=1e-6, rope_theta=1e6, max_position_embeddings=512, tie_word_embeddings=False,
                                     rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]}), [23, 40]),
}
VISION = dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, out_hidden_size=64, fullatt_block_indexes=[0])


def make(case, kind, settings, lengths):
    folder = OUT / "qwen_text" / case
    folder.mkdir(parents=True, exist_ok=True)
    if kind == "qwen3":
        config = Qwen3Config(**settings)
        config._attn_implementation = "sdpa"
        model = text = Qwen3Model(config)
    else:
        config = Qwen2_5_VLConfig(text_config=settings, vision_config=VISION)
        config._attn_implementation = "sdpa"
        model = Qwen2_5_VLForConditionalGeneration(config)
        text = model.model.language_model
    write_manifest(folder, text)
    config.save_pretrained(folder)
    r = np.random.default_rng(7)
    ids = np.zeros((len(lengths), max(lengths)), np.int32)
    for row, n in zip(ids, lengths):
        row[:n] = r.integers(0, settings["vocab_size"], n)
    mask = np.arange(max(lengths))[None, :] < np.array(lengths)[:, None]

    def run(m, x):
        out = m(input_ids=x["ids"].long(), attention_mask=torch.from_numpy(mask).long(), output_hidden_states=True)
        real = torch.from_numpy(mask)[..., None]
        return {k: out.hidden_states[i] * real for k, i in (("last", -1), ("penultimate", -2))}
    return finish(folder, f"qwen_text/{case}", {"ids": torch.from_numpy(ids), "lengths": torch.tensor(lengths, dtype=torch.int32)}, run, model.eval())


def main():
    wanted, measured = sys.argv[1:], {}
    path = OUT / "text_models.json"
    if path.exists():
        measured = json.loads(path.read_text())
    for case, arguments in CASES.items():
        if not wanted or any(w in case for w in wanted):
            measured.update(make(case, *arguments))
    rows = [f"{json.dumps(k)}: {json.dumps(measured[k])}" for k in sorted(measured)]
    path.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
