#!/usr/bin/env python3
"""Whole models against other engines, in one run: one UNet forward and one decode of Stable Diffusion 1.5.

    python3 bench/peers/models.py build/release/apps/cli/chiaro sd15-f16.safetensors [--rounds 3] [--threads 2]
        [--size 512] [--peers sdcpp,diffusers,openvino] [--sdcpp LABEL=LIB[,flash]]... [--json F]

The file is `chiaro synth sd15 sd15-f16.safetensors` (random weights: the time is that of real ones). Every round runs each
engine once, one after the other, so that what else the machine does meets all of them alike; of each it prints the
least and the median time, and peer / ours round by round: median and range. Above 1 ours is faster.

  ours       `chiaro bench`, a process a round; the picture that packs weights is not timed. f32 activations, f16 weights.
  sdcpp      PyPI stable-diffusion-cpp-python, the same file, one step without guidance; its own log's times. LIB is a
             libstable-diffusion.so to load instead of the package's (STABLE_DIFFUSION_CPP_LIB), "flash" its flash attention.
  diffusers  UNet2DConditionModel and AutoencoderKL of PyTorch, f32, channels last.
  openvino   the same networks by openvino.convert_model, f32.

Peak memory is the process's own (VmHWM). Needs numpy, and of each peer its package. Peers stay loaded for all rounds: some
4 GB each.
"""
import argparse
import gc
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

UNET = dict(sample_size=64, in_channels=4, out_channels=4, center_input_sample=False, flip_sin_to_cos=True, freq_shift=0,
            down_block_types=("CrossAttnDownBlock2D",) * 3 + ("DownBlock2D",),
            up_block_types=("UpBlock2D",) + ("CrossAttnUpBlock2D",) * 3, block_out_channels=(320, 640, 1280, 1280),
            layers_per_block=2, cross_attention_dim=768, attention_head_dim=8)
VAE = dict(in_channels=3, out_channels=3, down_block_types=("DownEncoderBlock2D",) * 4,
           up_block_types=("UpDecoderBlock2D",) * 4, block_out_channels=(128, 256, 512, 512), layers_per_block=2,
           latent_channels=4, sample_size=512)
# Threads of a peer that wait for work must not take the processors of the one whose turn it is.
PASSIVE = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0", "GOMP_SPINCOUNT": "0"}


def peak_bytes():
    with open("/proc/self/status", encoding="ascii") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) * 1024


def torch_networks(threads, size):
    """UNet, VAE and their inputs, with small random weights."""
    import torch
    from diffusers import AutoencoderKL, UNet2DConditionModel

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    with torch.device("meta"):
        unet, vae = UNet2DConditionModel(**UNET), AutoencoderKL(**VAE)
    for network in (unet, vae):
        network.to_empty(device="cpu").eval()
        for parameter in network.parameters():
            parameter.uniform_(-0.02, 0.02)
    latent = torch.randn(1, 4, size // 8, size // 8)
    return unet, vae, latent, torch.tensor([500.0]), torch.randn(1, 77, 768)


def serve_diffusers(args):
    import torch

    unet, vae, latent, timestep, context = torch_networks(args.threads, args.size)
    unet, vae = unet.to(memory_format=torch.channels_last), vae.to(memory_format=torch.channels_last)
    latent = latent.to(memory_format=torch.channels_last)
    yield lambda: unet(latent, timestep, context).sample, lambda: vae.decode(latent).sample


def serve_openvino(args):
    import openvino
    import torch

    unet, vae, latent, timestep, context = torch_networks(args.threads, args.size)

    class Forward(torch.nn.Module):
        def __init__(self, network):
            super().__init__()
            self.network = network

        def forward(self, sample, time, states):
            return self.network(sample, time, encoder_hidden_states=states, return_dict=False)[0]

    class Decode(torch.nn.Module):
        def __init__(self, network):
            super().__init__()
            self.network = network

        def forward(self, sample):
            return self.network.decode(sample, return_dict=False)[0]

    core = openvino.Core()
    settings = {"INFERENCE_NUM_THREADS": args.threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    compiled = []
    for module, example in ((Forward(unet), (latent, timestep, context)), (Decode(vae), (latent,))):
        model = openvino.convert_model(module, example_input=example, input=[tuple(x.shape) for x in example])
        compiled.append((core.compile_model(model, "CPU", settings), [x.numpy() for x in example]))
        del model
    del unet, vae
    gc.collect()
    yield tuple(lambda request=request, inputs=inputs: request(inputs) for request, inputs in compiled)


def serve_sdcpp(args):
    """One picture of one step; the times are those of the engine's own log, in hundredths of a second."""
    import contextlib
    import io

    from stable_diffusion_cpp import StableDiffusion

    model = StableDiffusion(model_path=args.model, n_threads=args.threads, diffusion_flash_attn=args.flash,
                            flash_attn=args.flash, vae_decode_only=True, verbose=True)

    def picture():
        with contextlib.redirect_stderr(io.StringIO()) as said:
            model.generate_image(prompt="a photograph", width=args.size, height=args.size, sample_steps=1, cfg_scale=1.0,
                                 sample_method="euler", seed=1)
        text = said.getvalue()
        found = [re.search(pattern + r" completed, taking ([0-9.]+)s", text) for pattern in ("sampling", "decode_first_stage")]
        if not all(found):
            sys.exit("the log of stable-diffusion.cpp has no times:\n" + text)
        return [float(match.group(1)) for match in found]

    yield picture


def serve(args):
    """A peer's process: for every line that is read, one of times."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what engines print is no answer
    work = next({"diffusers": serve_diffusers, "openvino": serve_openvino, "sdcpp": serve_sdcpp}[args.serve](args))
    for _ in sys.stdin:
        if callable(work):
            seconds = work()
        else:
            seconds = []
            for call in work:
                start = time.perf_counter()
                call()
                seconds.append(time.perf_counter() - start)
        answers.write(json.dumps({"seconds": seconds, "peak_bytes": peak_bytes()}) + "\n")
        answers.flush()


class Peer:
    def __init__(self, label, kind, args, library="", flash=False):
        self.label, self.peak = label, 0
        command = [sys.executable, os.path.abspath(__file__), args.program, args.model, "--serve", kind, "--threads",
                   str(args.threads), "--size", str(args.size)]
        environment = {**os.environ, **PASSIVE, "OMP_NUM_THREADS": str(args.threads)}
        if library:
            environment["STABLE_DIFFUSION_CPP_LIB"] = library
        self.command, self.environment, self.process = command + (["--flash"] if flash else []), environment, None

    def start(self):
        """Loads, compiles and touches memory."""
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, text=True, stdout=subprocess.PIPE,
                                        env=self.environment)
        self.run()

    def run(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.label}: the process ended")
        answer = json.loads(line)
        self.peak = answer["peak_bytes"]
        return answer["seconds"]


class Ours:
    def __init__(self, label, args):
        self.label, self.args, self.peak, self.last = label, args, 0, None
        self.flops = {}  # of each stage, by the profile of the first run

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "bench.json")
            command = [self.args.program, "bench", "-m", self.args.model, "-W", str(self.args.size), "-H", str(self.args.size),
                       "--rounds", "1", "--top", "0" if self.flops else "1", "-t", str(self.args.threads), "--json", report]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            if status != 0:
                sys.exit(f"{' '.join(command)} failed")
            self.peak = max(self.peak, usage.ru_maxrss * 1024)
            with open(report, encoding="utf-8") as text:
                self.last = json.load(text)
        stages = {stage["stage"]: stage["median_seconds"] for stage in self.last["models"][0]["stages"]}
        self.flops = self.flops or {stage["stage"]: stage["flops"] for stage in self.last["models"][0]["stages"]}
        return [stages["sample"], stages["decode"]]


def parsed():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("program")
    arguments.add_argument("model")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--size", type=int, default=512)
    arguments.add_argument("--peers", default="sdcpp,diffusers,openvino")
    arguments.add_argument("--sdcpp", action="append", default=[], metavar="LABEL=LIB[,flash]")
    arguments.add_argument("--json", default="")
    arguments.add_argument("--serve", default="", help=argparse.SUPPRESS)
    arguments.add_argument("--flash", action="store_true", help=argparse.SUPPRESS)
    return arguments.parse_args()


def engines(args):
    made = [Ours("ours", args)]
    wanted = [name for name in args.peers.split(",") if name]
    if "sdcpp" in wanted:
        for choice in args.sdcpp or ["stable-diffusion.cpp="]:
            label, _, library = choice.partition("=")
            library, _, flash = library.partition(",")
            made.append(Peer(label, "sdcpp", args, library, flash == "flash"))
    made += [Peer(name, name, args) for name in ("diffusers", "openvino") if name in wanted]
    return made


def report(args, made, times):
    ours, table = times["ours"], []
    print(f"{'':28} {'least':>9} {'median':>9}   peer / ours: median (range)   peak memory")
    for at, row in enumerate((f"UNet forward {args.size}x{args.size}", f"VAE decode {args.size}x{args.size}")):
        print(row)
        for engine in made:
            seconds = [t[at] for t in times[engine.label]]
            ratios = [theirs[at] / mine[at] for theirs, mine in zip(times[engine.label], ours)]
            print(f"  {engine.label:26} {min(seconds):8.2f}s {statistics.median(seconds):8.2f}s   {statistics.median(ratios):.2f} "
                  f"({min(ratios):.2f} to {max(ratios):.2f})   {engine.peak / 2**30:.2f} GiB")
            table.append({"row": row, "engine": engine.label, "seconds": seconds, "ratios": ratios, "peak_bytes": engine.peak})
    last = made[0].last
    print(f"ceilings: {last['peak_gflops']:.0f} GFLOP/s, {last['copy_gbs']:.1f} GB/s copied; of the peak "
          + ", ".join(f"{s['stage']} {100 * made[0].flops[s['stage']] / s['median_seconds'] / 1e9 / last['peak_gflops']:.0f} %"
                      for s in last["models"][0]["stages"]))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({"threads": args.threads, "size": args.size, "rows": table, "bench": last}, out, indent=1)


def main():
    args = parsed()
    if args.serve:
        return serve(args)
    made = engines(args)
    times = {engine.label: [] for engine in made}
    for engine in reversed(made[1:]):  # one after the other, and first the one that needs most to compile
        engine.start()
    print(f"{args.threads} threads, {args.rounds} rounds, load {os.getloadavg()[0]:.1f}", flush=True)
    for _ in range(args.rounds):
        for engine in made:
            times[engine.label].append(engine.run())
            print(f"  {engine.label}: " + ", ".join(f"{s:.2f}s" for s in times[engine.label][-1]), file=sys.stderr, flush=True)
    return report(args, made, times)


if __name__ == "__main__":
    main()
