# SPDX-License-Identifier: MIT
"""Optimizers, clipping, schedules, loss and rounding against PyTorch's on the CPU, as TAP.

usage: optim.py DRIVER

Prints the largest difference seen behind each name, relative to the largest value of its tensor,
and fails beyond the bound in the name.
"""

import struct
import subprocess
import sys
import warnings

import numpy
import torch

DRIVER = sys.argv[1]
# The bits are those of PyTorch 1 with AVX2. PyTorch 2 computes Adam's mean differently, and so do other vectors.
EXACT = torch.__version__.startswith("1.") and "CPU capability usage: AVX2" in torch.__config__.show()
SIZES = [1, 7, 8, 33, 1024, 4099, 20000]
# Eight parameters whose norms, and norm of norms, are PyTorch's to the bit (clip.h).
NORM_SIZES = [1, 3, 8, 33, 1024, 4099, 20000, 10]
STEPS = 200
tests = failures = 0


def report(name, good=True, seen=""):
    global tests, failures
    tests += 1
    failures += not good
    print(f"{'' if good else 'not '}ok {tests} - {name}{': ' if seen else ''}{seen}")


def ask(*words, given=b""):
    done = subprocess.run([DRIVER, *map(str, words)], input=given, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"Bail out! {done.stderr.decode()}")
    return done.stdout


def raw(*tensors):
    return b"".join(t.detach().to(torch.float32).numpy().tobytes() for t in tensors)


def floats(data):
    return torch.from_numpy(numpy.frombuffer(data, numpy.float32).copy())


def worst(got, want):
    """The largest difference, relative to the tensor's largest value; NaN if there is one."""
    return ((got - want).abs().max() / want.abs().max().clamp(min=1e-30)).item()


KINDS = [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW]
STATES = {0: ["momentum_buffer"], 1: ["exp_avg", "exp_avg_sq"], 2: ["exp_avg", "exp_avg_sq"]}


def torch_steps(kind, options, weights, gradients, inverse, most):
    """Every step's weights, then the states, as the driver writes them."""
    params = [torch.nn.Parameter(w.clone()) for w in weights]
    optimizer = KINDS[kind](params, **options)
    history = []
    for step in gradients:
        for p, g in zip(params, step):
            p.grad = g * inverse
        if most:
            torch.nn.utils.clip_grad_norm_(params, most)
        optimizer.step()
        history += [p.detach().clone() for p in params]
    names = STATES[kind] if kind or options.get("momentum") else []
    return history + [optimizer.state[p][name] for name in names for p in params]


def by_tensor(arrays, count):
    """The history of each weight as one tensor, for a weight may cross zero; then the states."""
    steps = STEPS * count
    return [torch.stack(tuple(arrays[i:steps:count])) for i in range(count)] + [*arrays[steps:]]


def test_update(name, kind, inverse=1.0, most=0, **options):
    torch.manual_seed(7)
    sizes = NORM_SIZES if most else SIZES
    weights = [torch.randn(n) for n in sizes]
    gradients = [[torch.randn(n) * 10 ** float(torch.randn(1)) / inverse for n in sizes]
                 for _ in range(STEPS)]
    want = torch_steps(kind, options, weights, gradients, numpy.float32(inverse).item(), most)
    beta1, beta2 = options.get("betas", (0.9, 0.999))
    decay = options.get("weight_decay", 0.01 if kind == 2 else 0)
    got = ask("update", kind, options.get("momentum", 0) if kind == 0 else beta1, beta2,
              options.get("eps", 1e-8), decay, int(options.get("nesterov", False)), inverse, most,
              STEPS, options["lr"], *sizes,
              given=raw(*weights, *(g for step in gradients for g in step)))
    got = floats(got).split([t.numel() for t in want])
    off = numpy.max([worst(a, b) for a, b in zip(by_tensor(got, len(sizes)),
                                                 by_tensor(want, len(sizes)))])
    bound = 0 if EXACT else 2e-6
    report(f"{name}, {STEPS} steps, at most {bound:g}", off <= bound, f"{off:.3g}")


def test_updates():
    test_update("SGD", 0, lr=0.1)
    test_update("SGD with decay", 0, lr=0.05, weight_decay=5e-4)
    test_update("SGD with momentum", 0, lr=0.01, momentum=0.9)
    test_update("SGD with Nesterov's momentum and decay", 0, lr=0.01, momentum=0.95,
                nesterov=True, weight_decay=5e-4)
    test_update("SGD, clipped", 0, lr=0.1, momentum=0.9, most=3.0)
    test_update("Adam", 1, lr=1e-3)
    test_update("Adam with decay and other betas", 1, lr=3e-3, betas=(0.8, 0.95), eps=1e-6,
                weight_decay=1e-2)
    test_update("Adam, unscaled by 3000 and clipped", 1, lr=1e-3, inverse=1 / 3000, most=1.0)
    test_update("Adam, unscaled by 65536", 1, lr=1e-3, inverse=1 / 65536)
    test_update("AdamW", 2, lr=1e-3)
    test_update("AdamW with much decay", 2, lr=1e-2, weight_decay=0.3)


def test_norm():
    torch.manual_seed(3)
    arrays = [torch.randn(n) for n in list(range(1, 70)) + [1728, 5120, 100003, 4194304]]
    got = floats(ask("norm", *(a.numel() for a in arrays), given=raw(*arrays)))
    want = torch.stack([torch.norm(a, 2.0) for a in arrays])
    exact = [(g == w).item() for a, g, w in zip(arrays, got, want) if a.numel() % 8 < 4]
    report("norms of n elements are PyTorch's to the bit where n % 8 < 4",
           all(exact) or not EXACT, f"{exact.count(False)} of {len(exact)} differ")
    off = ((got - want) / want).abs().max().item()
    report("norms, at most 2.4e-7", off <= (2.4e-7 if EXACT else 1e-4), f"{off:.3g}")


def stepped(make, steps, **options):
    """The rates that a scheduler of PyTorch gives, stepped."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=options.pop("base"),
                                momentum=0.9)
    scheduler = make(optimizer, **options)
    for step in range(steps):
        if step:
            optimizer.step()
            scheduler.step()
        group = optimizer.param_groups[0]
        yield group["lr"], group["momentum"]


def schedule(kind, steps, lr, lr_min=0.0, warmup=0.3):
    lines = ask("schedule", kind, steps, lr, lr_min, warmup).decode().splitlines()
    return [tuple(map(float.fromhex, line.split())) for line in lines]


def test_schedules():
    for steps, lr_min in (10, 0.0), (400, 1e-5), (1, 0.0):
        want = stepped(torch.optim.lr_scheduler.CosineAnnealingLR, steps, base=0.1, T_max=steps,
                       eta_min=lr_min)
        off = max(abs(a[0] - b[0]) / 0.1 for a, b in zip(schedule(1, steps, 0.1, lr_min), want))
        report(f"cosine over {steps} steps, at most 1e-13 of the rate", off <= 1e-13, f"{off:.3g}")
    for steps, warmup in (10, 0.3), (400, 0.25), (3, 0.1), (7, 1.0), (391, 0.0):
        want = list(stepped(torch.optim.lr_scheduler.OneCycleLR, steps, base=0.1, max_lr=0.1,
                            total_steps=steps, pct_start=warmup))
        report(f"one-cycle over {steps} steps, to the bit", schedule(2, steps, 0.1, 0, warmup) == want)


def test_loss():
    torch.manual_seed(5)
    for samples, classes, count, scale, spread in ((1, 10, 1, 1, 1), (128, 10, 128, 1, 3),
                                                   (96, 10, 250, 65536, 3), (40, 100, 40, 1, 30),
                                                   (64, 256, 64, 1, 0.1), (5, 1, 5, 1, 1)):
        logits = (torch.randn(samples, classes) * spread).requires_grad_()
        labels = torch.randint(classes, (samples,))
        loss = torch.nn.functional.cross_entropy(logits, labels) * samples / count
        (loss * scale).backward()
        got = floats(ask("loss", classes, samples, count, scale, given=raw(logits, labels)))
        name = f"loss of {samples} of {count} samples, {classes} classes"
        off = abs(got[0] - loss).item() / max(loss.item(), 1.0)
        report(f"{name}, at most 1e-6", off <= 1e-6, f"{off:.3g}")
        off = worst(got[2:].view(samples, classes), logits.grad)
        report(f"{name}: gradient, at most 1e-6", off <= 1e-6, f"{off:.3g}")
        report(f"{name}: accuracy", got[1] == (logits.argmax(1) == labels).sum())


def test_halves():
    bits = torch.randint(-2**31, 2**31, (1 << 18,), generator=torch.Generator().manual_seed(1))
    edges = [s << 31 | e << 23 | f << 12 | low for s in (0, 1) for e in range(256)
             for f in (0, 1, 2, 3, 0x7f7, 0x7f8, 0x7fe, 0x7ff) for low in (0, 1, 0x7ff, 0x800, 0xfff)]
    x = torch.cat([bits, torch.tensor(edges)])
    x = torch.from_numpy(x.numpy().astype(numpy.uint32).view(numpy.float32).copy())
    x = x[~x.isnan()]
    for kind, name in (torch.bfloat16, "bf16"), (torch.float16, "fp16"):
        got = numpy.frombuffer(ask("half", 1 if name == "bf16" else 2, given=raw(x)), numpy.int16)
        differ = int((x.to(kind).view(torch.int16).numpy() != got).sum())
        report(f"{x.numel()} floats rounded to {name}, to the bit", differ == 0, f"{differ} differ")


def scaler_torch(interval, finites):
    scaler = torch.amp.GradScaler("cpu", growth_interval=interval)
    p = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([p], lr=0.1)
    for finite in finites:
        scaler.scale(torch.zeros(1))
        p.grad = torch.tensor([1.0 if finite else float("inf")])
        scaler.step(optimizer)
        scaler.update()
        yield scaler.get_scale(), scaler.state_dict()["_growth_tracker"]


def test_scaler():
    """Infinities in between, growth to the greatest float and falls to the least."""
    name = "GradScaler's scales, growing after 3 good steps"
    if not hasattr(torch.amp, "GradScaler"):
        report(f"{name} # SKIP PyTorch before 2.3 has GradScaler on GPUs only")
        return
    torch.manual_seed(11)
    finites = (torch.rand(2000) > 0.1).int().tolist() + [1] * 900 + [0] * 280
    want = list(scaler_torch(3, finites))
    lines = ask("scaler", 3, given=" ".join(map(str, finites)).encode()).decode().splitlines()
    got = [(float.fromhex(line.split()[0]), int(line.split()[1])) for line in lines]
    report(f"{name}, over {len(want)} steps", got == want)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    test_updates()
    test_norm()
    test_schedules()
    test_loss()
    test_halves()
    test_scaler()
    print(f"1..{tests}")
    sys.exit(failures != 0)
