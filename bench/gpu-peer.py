# SPDX-License-Identifier: MIT
"""gpu-peer.py compare --trainer GPUMAP-TRAIN --batch N [options]    alternating with gpumap-train
gpu-peer.py one FORM --batch N [options]                          a training run of --steps N alone

The training step of convnet, or of ResNet-50 at 224 x 224, with Adam in PyTorch, beside gpumap-train's.
FORM is

eager      as most write it: autocast, Adam as it is
best       channels_last, fused Adam, cuDNN's algorithms by measurement
compiled   best, its loss by torch.compile(mode="max-autotune"), which uses CUDA graphs
graph      best, its loss compiled without graphs of its own, and the whole step as one CUDA graph

Images are on the device, normalised, in the type and the layout that the form computes in. PyTorch makes
no batches; gpumap-train draws, gathers and normalises its own from bytes, and reports each loss. Every
form is measured by blocks of steps with one synchronisation at a block's end. Blocks of all forms and
runs of gpumap-train alternate, and medians count; those so far are printed after each round. A form that
is not available, or not ready in time, is reported, with the reason.
"""
import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn

from peer import convnet

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../tests/trainer/cli"))
SIDES = {"convnet": 32, "resnet18": 32, "resnet50": 224}  # of an image
FORMS = ("eager", "best", "compiled", "graph")
TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "tf32": torch.float32, "fp32": torch.float32}
BLOCK = 0.3  # seconds that a block takes about
LEAST_ROUNDS = 3


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("compare", "one"))
    parser.add_argument("form", nargs="?", choices=FORMS, default="eager")
    parser.add_argument("--trainer")
    parser.add_argument("--library-path", default="", help="LD_LIBRARY_PATH of gpumap-train alone")
    parser.add_argument("--speed", default=HERE + "/../tests/gpu/speed.awk", help="what reads its metrics")
    parser.add_argument("--model", choices=sorted(SIDES), default="convnet")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--precision", choices=TYPES, default="bf16")
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=60, help="of rounds; after them none begins beyond the third")
    parser.add_argument("--ready-seconds", type=int, default=0, help="in which a form is ready, or left out; 0: any")
    parser.add_argument("--steps", type=int, default=0, help="of a run of gpumap-train, of `one`; 0: enough")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    return parser.parse_args()


def settle(o):
    """What holds for the whole process."""
    torch.manual_seed(0)
    tf32 = o.precision != "fp32"
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32


def model_of(o):
    if o.model == "convnet":
        return convnet()
    import resnet
    return resnet.resnet(o.model, SIDES[o.model])


def of_size(o, count):
    """As many images as are as large as so many of 32 x 32."""
    return count * 32 * 32 // SIDES[o.model] ** 2


def images_of(o, layout):
    """Two batches at least, and no more than the card holds easily."""
    count = max(2, min(64, of_size(o, 32768) // o.batch)) * o.batch
    half = o.precision in ("bf16", "fp16")
    shape = (count, 3, SIDES[o.model], SIDES[o.model])
    made = torch.randn(shape, device=o.device, dtype=TYPES[o.precision] if half else None)
    return made.contiguous(memory_format=layout), torch.randint(0, 10, (count,), device=o.device)


def loss_of(o, model, keep):
    """The loss of images and labels; keep: copies of weights in half width for the whole step."""
    half = o.precision in ("bf16", "fp16")
    device, kind = o.device, TYPES[o.precision] if half else torch.bfloat16

    def loss(images, labels):
        with torch.autocast(device, kind, enabled=half, cache_enabled=keep):
            return nn.functional.cross_entropy(model(images), labels)
    return loss


def scaler_of(o):
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(o.device)
    return torch.cuda.amp.GradScaler(enabled=o.device == "cuda")


class Form:
    """A way to train; step() makes one step and leaves its loss on the device."""

    def __init__(self, o, name):
        self.o, self.name, self.at, self.times = o, name, 0, []
        self.best = name != "eager"
        self.choose()
        layout = torch.channels_last if self.best else torch.contiguous_format
        self.images, self.labels = images_of(o, layout)
        self.model = model_of(o).to(device=o.device, memory_format=layout)
        self.optimizer = torch.optim.Adam(self.model.parameters(), 1e-3, **self.adam())
        self.scaler = scaler_of(o) if o.precision == "fp16" else None
        self.loss = loss_of(o, self.model, name != "graph")
        if name == "compiled":
            self.loss = torch.compile(self.loss, mode="max-autotune")
        elif name == "graph":
            self.loss = torch.compile(self.loss, mode="max-autotune-no-cudagraphs")
        self.step = self.eager_step
        if name == "graph":
            self.record()

    def adam(self):
        if not self.best or self.o.device == "cpu":
            return {}
        return {"fused": True, "capturable": self.name == "graph"}

    def choose(self):
        """What is one for the process: whether cuDNN's algorithms are measured."""
        torch.backends.cudnn.benchmark = self.best

    def batch(self):
        first = self.at
        self.at = (self.at + self.o.batch) % len(self.images)
        return self.images[first:first + self.o.batch], self.labels[first:first + self.o.batch]

    def learn(self, images, labels):
        loss = self.loss(images, labels)
        if self.scaler:
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        else:
            loss.backward()
            self.optimizer.step()
        return loss.detach()

    def eager_step(self):
        self.optimizer.zero_grad(set_to_none=True)
        return self.learn(*self.batch())

    def record(self):
        """The step as one graph, whose batch is copied into a place of its own."""
        images, labels = (part.clone(memory_format=torch.preserve_format) for part in self.batch())
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(5):
                self.optimizer.zero_grad(set_to_none=True)
                self.learn(images, labels)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = self.learn(images, labels)

        def replay():
            for place, part in zip((images, labels), self.batch()):
                place.copy_(part)
            graph.replay()
            return loss
        self.step = replay

    def block(self, steps):
        """Seconds of a step, the mean of so many after some that do not count, since the GPU may have
        slept; the last loss has to be a number."""
        self.choose()
        for _ in range(steps // 5):
            self.step()
        synchronize(self.o)
        begin = time.perf_counter()
        for _ in range(steps):
            loss = self.step()
        synchronize(self.o)
        seconds = (time.perf_counter() - begin) / steps
        if not torch.isfinite(loss).item():
            sys.exit(f"{self.name}: the loss is {loss.item()}")
        return seconds

    def warm(self):
        """Until it is as fast as it gets; then how many steps a block has."""
        self.block(10 if self.o.device == "cuda" else 1)
        once = self.block(20 if self.o.device == "cuda" else 1)
        self.steps = max(1, min(5000, int(BLOCK / once)))
        self.block(self.steps)


def synchronize(o):
    if o.device == "cuda":
        torch.cuda.synchronize()


class Trainer:
    """gpumap-train; each block is a run."""

    def __init__(self, o, folder):
        self.o, self.name, self.times, self.metrics = o, "gpumap-train", [], folder + "/metrics"

    def warm(self):
        self.warmup = 50 if self.o.device == "cuda" else 2
        least = 360 if self.o.model == "convnet" else 90
        self.steps = self.o.steps or self.warmup + max(least, min(8000, of_size(self.o, 260000) // self.o.batch))

    def command(self, steps):
        o = self.o
        exact = ["--exact"] if o.precision == "fp32" else []
        backend = ["--backend", "cuda"] if o.device == "cuda" else ["--backend", "onednn"]
        precision = "fp32" if o.precision in ("fp32", "tf32") else o.precision
        size = ["--image-size", str(SIDES[o.model])] if o.model != "convnet" else []
        return [o.trainer, "--model", o.model, *size, "--global-batch", str(o.batch), "--steps", str(steps),
                "--samples", str(max(2, of_size(o, 49152) // o.batch) * o.batch), "--test-samples", "1",
                "--evaluate-every", "0", "--progress", "none", "--metrics", self.metrics,
                "--precision", precision] + exact + backend

    def block(self, steps):
        path = ":".join(p for p in (self.o.library_path, os.environ.get("LD_LIBRARY_PATH")) if p)
        run = subprocess.run(self.command(steps), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             env={**os.environ, "LD_LIBRARY_PATH": path})
        if run.returncode != 0:
            sys.exit(f"gpumap-train: status {run.returncode}: {run.stderr.decode().strip()}")
        line = subprocess.run(["awk", "-v", f"batch={self.o.batch}", "-v", f"precision={self.o.precision}",
                               "-v", f"warm={self.warmup}", "-f", self.o.speed, self.metrics],
                              stdout=subprocess.PIPE, check=True).stdout.decode().split()
        return float(line[0]) * 1e-6


def forms_of(o):
    """Those that can be had."""
    for name in o.forms.split(","):
        if name in ("compiled", "graph") and not hasattr(torch, "compile"):
            print(f"no form\t{name}\tPyTorch {torch.__version__} has no torch.compile", flush=True)
        elif name == "graph" and (o.device == "cpu" or o.precision == "fp16"):
            print(f"no form\t{name}\tnot on {o.device} in {o.precision}", flush=True)
        else:
            yield name


class TooLong(BaseException):
    """No Exception, because compilers catch those."""


@contextlib.contextmanager
def limited(seconds):
    """Raises TooLong after so many seconds, and again while it is caught; 0: never."""
    def ring(*_):
        raise TooLong(f"not ready after {seconds} s")
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def ready(o):
    for name in forms_of(o):
        begin = time.perf_counter()
        try:
            with limited(o.ready_seconds):
                form = Form(o, name)
                form.warm()
        except (Exception, TooLong) as error:  # whatever a compiler raises is not a fault of the others
            print(f"no form\t{name}\t{type(error).__name__}: {(str(error).splitlines() or [''])[0]}", flush=True)
            continue
        print(f"ready\t{name}\t{time.perf_counter() - begin:.1f} s", flush=True)
        yield form


def goal(o, name):
    """How many times as fast as that form gpumap-train has to be, for bf16 on an H200."""
    goals = {"best": {32: 6, 512: 2, 4096: 1.3}, "compiled": {32: 1.3, 512: 1.1, 4096: 1.0}}
    goals["graph"] = goals["compiled"]
    if (o.model, o.precision, o.device) != ("convnet", "bf16", "cuda") or "H200" not in torch.cuda.get_device_name():
        return None
    return goals.get(name, {}).get(o.batch)


def say_so_far(o, sides, turn):
    medians = "\t".join(f"{side.name} {1e6 * statistics.median(side.times):.1f} us" for side in sides)
    print(f"so far\t{turn + 1} of {o.rounds}\t{medians}", flush=True)


def measure(o, sides):
    begin = time.perf_counter()
    for turn in range(o.rounds):
        if turn >= LEAST_ROUNDS and time.perf_counter() - begin > o.seconds:
            break
        first = turn % len(sides)  # the order differs from round to round
        for side in sides[first:] + sides[:first]:
            side.times.append(side.block(side.steps))
        say_so_far(o, sides, turn)


def compare(o):
    sides = list(ready(o))
    if not sides:
        return
    with tempfile.TemporaryDirectory() as folder:
        ours = Trainer(o, folder)
        ours.warm()
        sides.append(ours)
        measure(o, sides)
    mine = statistics.median(ours.times)
    for side in sides:
        step = statistics.median(side.times)
        line = (f"speed\t{side.name}\t{o.model}, batch {o.batch}\t{o.precision}\t{1e6 * step:.1f} us a step\t"
                f"{o.batch / step:.0f} images/s\tof {len(side.times)} from {1e6 * min(side.times):.1f} to "
                f"{1e6 * max(side.times):.1f}")
        if side is not ours:
            want = goal(o, side.name)
            line += f"\ttimes {step / mine:.2f}"
            if want:
                line += f"\tgoal {want}: " + ("met" if step / mine >= want else "MISSED")
        print(line, flush=True)


def one(o):
    form = Form(o, o.form)
    for _ in range(o.steps or 1):
        loss = form.step()
    print(f"loss\t{loss.item():.6g}")
    if o.device == "cuda":
        print(f"memory\tallocated {torch.cuda.max_memory_allocated()}\t"
              f"reserved {torch.cuda.max_memory_reserved()}")


def main():
    o = options()
    if o.device == "cuda" and not torch.cuda.is_available():
        sys.exit("this PyTorch sees no GPU")
    settle(o)
    what = torch.cuda.get_device_name() if o.device == "cuda" else "CPU"
    print(f"peer\tPyTorch {torch.__version__}\tCUDA {torch.version.cuda}\t"
          f"cuDNN {torch.backends.cudnn.version()}\t{what}", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        if o.what == "compare":
            compare(o)
        else:
            one(o)


if __name__ == "__main__":
    main()
