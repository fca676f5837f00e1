# SPDX-License-Identifier: MIT
"""Whether operators keep their device, over PyTorch's own list of them. operators.py LEAST SAMPLES [NAME...]

Under gpumap rehearse. For some samples of each operator, and its method and in-place variant: with its tensors on
cuda:1 each result and each gradient is there, and equals that of the CPU bit for bit; with one of several tensors
elsewhere it raises RuntimeError. What is otherwise on a real GPU too is excused below. LEAST operators have to be tried.
"""
import importlib.util
import collections
import json
import os
import signal
import subprocess
import sys
import types
import unittest

LIMIT = 60  # seconds for an operator
HERE = "cuda:1"

# What an operator is excused from, why, and which operators are.
EXCUSED = {
    "values": {
        "their memory is not set": "empty empty_like empty_permuted empty_strided new_empty new_empty_strided",
    },
    "all": {
        "a tensor tells them where the result is": "to",
        "they need a real GPU": "jiterator_2inputs_2outputs jiterator_4inputs_with_extra_args jiterator_binary "
                                "jiterator_binary_return_by_ref jiterator_unary "
                                "torch.ops.aten._efficient_attention_forward torch.ops.aten._flash_attention_forward "
                                "nn.functional.batch_norm.without_cudnn",
    },
    "cpu": {
        "its samples are views, and copies have no room for them": "as_strided.partial_views",
        "not every version has them on the CPU": "torch._scaled_mm torch._scaled_mm_v2",
        "its result in place has another type": "float_power",
        "its gradient cannot be made for some samples": "to_sparse",
    },
}
# Which tensors may be elsewhere: (position, number of tensors, device).
FREE = {
    "only their shape counts": (
        "broadcast_tensors expand_as reshape_as resize_as_ view_as", lambda position, count, device: True),
    "indices may be on the CPU": (
        "index_put", lambda position, count, device: 0 < position < count - 1 and device == "cpu"),
    "an index may be on the CPU": (
        "__getitem__", lambda position, count, device: position > 0 and device == "cpu"),
    "lengths may be anywhere": (
        "nn.functional.ctc_loss", lambda position, count, device: position > 1),
}
# Tensors that have to be on the CPU: operator, their position.
ON_CPU = {"tensor_split": 1}


def excuse(name, what):
    return next((reason for reason, names in EXCUSED[what].items() if name in names.split()), None)


def is_free(name, position, count, device):
    return next((reason for reason, (names, rule) in FREE.items()
                 if name in names.split() and rule(position, count, device)), None)


def parts(samples, names):
    """What processes say of each operator. One that crashes or hangs is followed by one for the rest."""
    first, ended = 0, False
    while not ended:
        child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--part", str(first), samples, *names],
                                 stdout=subprocess.PIPE, text=True)
        begun = None
        for line in child.stdout:
            if not line.startswith('{"operator": '):
                continue
            fact = json.loads(line)
            ended = fact["operator"] is None
            if "number" in fact:
                begun = fact
            elif not ended:
                begun = None
                yield fact
        status = child.wait()
        if begun is None and not ended:
            sys.exit("no operator could be tried: status %d" % status)
        if begun is not None:
            yield {"operator": begun["operator"], "problems": ["its process ended with status %d" % status]}
            first = begun["number"] + 1


def main(least, samples, names):
    counts = collections.Counter()
    excused = collections.defaultdict(set)
    for fact in parts(samples, names):
        counts.update(fact.get("counts", {}))
        for reason in fact.get("excused", ()):
            excused[reason].add(fact["operator"])
        counts["failed"] += bool(fact["problems"])
        for problem in fact["problems"]:
            print("failed: %s: %s" % (fact["operator"], problem))
    print("operators: %d tried, %d failed" % (counts["tried"], counts["failed"]))
    print("calls: %d on %s, %d of them backward; %d with tensors elsewhere, which raise; %d that may" % (
        counts["calls"], HERE, counts["backward"], counts["raised"], counts["free"]))
    for reason, operators in sorted(excused.items()):
        print("excused: %s: %s" % (reason, " ".join(sorted(operators))))
    if counts["tried"] < least:
        print("failed: %d operators were to be tried" % least)
    return counts["failed"] > 0 or counts["tried"] < least


# --- in a part: PyTorch is imported ----------------------------------------------------------------


def load_operators(names):
    try:
        import expecttest  # noqa: F401
    except ImportError:  # PyTorch's list imports it, and needs nothing of it
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = unittest.TestCase
    import torch

    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < (2, 10) and importlib.util.find_spec("packaging") is None:
        # Its list imports it, and PyTorch has a copy. Later, setuptools brings its own.
        import torch._vendor.packaging.version

        sys.modules["packaging"] = torch._vendor.packaging
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if not names or full_name(op) in names]


def full_name(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def run_part(first, samples, names):
    def say(**fact):
        print("\n" + json.dumps(fact), flush=True)

    torch.set_num_threads(1)
    operators = load_operators(names)
    for i in range(first, len(operators)):
        signal.alarm(LIMIT)
        say(operator=full_name(operators[i]), number=i)
        trial = Trial(operators[i])
        trial.run(samples)
        say(operator=trial.name, counts=trial.counts, excused=sorted(trial.excused), problems=sorted(trial.problems))
    signal.alarm(0)
    say(operator=None)


def mapped(change, value):
    """`value`, with change(TENSOR) for each of its tensors."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        made = [mapped(change, part) for part in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    if isinstance(value, dict):
        return {key: mapped(change, part) for key, part in value.items()}
    return value


def tensors_in(value):
    found = []
    mapped(found.append, value)
    return found


def bytes_of(tensor):
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    tensor = tensor if tensor.layout == torch.strided else tensor.to_dense()
    tensor = tensor.clone(memory_format=torch.contiguous_format).reshape(-1)
    return tensor.dtype, tensor.shape, tensor.view(torch.uint8).numpy().tobytes()


class Trial:
    """Of one operator."""

    def __init__(self, op):
        self.op = op
        self.name = full_name(op)
        self.counts = collections.Counter()
        self.excused = set()
        self.problems = set()

    def run(self, most):
        reason = excuse(self.name, "all")
        if reason is not None:
            self.excused.add(reason)
            return
        self.counts["tried"] = 1
        kind = next((kind for kind in (torch.float32, torch.int64, torch.bool) if kind in self.op.dtypes),
                    next(iter(self.op.dtypes), None))
        if kind is None:
            reason = excuse(self.name, "cpu")
            (self.problems if reason is None else self.excused).add(reason or "it takes no type on the CPU")
            return
        torch.manual_seed(0)
        samples = list(self.op.sample_inputs("cpu", kind, requires_grad=self.op.supports_autograd and
                                             kind.is_floating_point))
        for sample in samples[::-(-len(samples) // most) or 1]:
            given = sample.input, sample.args, sample.kwargs
            self.try_sample(self.op.op, given)
            self.try_elsewhere(self.op.op, given)
        self.try_variants(samples[:1])

    def try_variants(self, samples):
        for sample in samples:
            given = sample.input, sample.args, sample.kwargs
            if not isinstance(sample.input, torch.Tensor) or self.op.variant_test_name:
                continue
            if self.op.method_variant is not None:
                self.try_sample(self.op.method_variant, given)
                self.try_elsewhere(self.op.method_variant, given)
            if self.op.inplace_variant is not None and not sample.broadcasts_input:
                given = mapped(lambda tensor: tensor.detach(), given)
                self.try_sample(self.op.inplace_variant, given)
                self.try_elsewhere(self.op.inplace_variant, given)

    def copies(self, given, device, odd=None, elsewhere=None):
        """Copies of the tensors on the device, but number `odd` of them elsewhere."""
        numbers = iter(range(len(tensors_in(given))))

        def copy(tensor):
            number = next(numbers)
            there = elsewhere if number == odd else "cpu" if ON_CPU.get(self.name) == number else device
            return tensor.detach().clone().to(there).requires_grad_(tensor.requires_grad)

        value, args, kwargs = mapped(copy, given)
        return value, args, {key: device if key == "device" and part is not None else part
                             for key, part in kwargs.items()}

    @staticmethod
    def call(function, given):
        torch.manual_seed(0)
        return function(given[0], *given[1], **given[2])

    def call_both(self, function, given):
        """What was given and what came, on the CPU and on HERE."""
        found = []
        for device in "cpu", HERE:
            copies = self.copies(given, device)
            try:
                found.append((copies, self.call(function, copies)))
            except Exception as error:
                reason = excuse(self.name, "cpu")
                if device == "cpu" and reason is not None:
                    self.excused.add(reason)
                else:
                    self.problems.add("on %s: %s: %s" % (device, type(error).__name__, str(error).split("\n")[0]))
                return None
        return found

    def try_sample(self, function, given):
        found = self.call_both(function, given)
        if found is None:
            return
        self.counts["calls"] += 1
        said = tensors_in(given) or given[2].get("device") is not None
        self.compare("result", *[result for _, result in found], HERE if said else "cpu")
        gradients = self.gradients(found)
        if gradients is not None:
            self.counts["backward"] += 1
            self.compare("gradient", *gradients, HERE)

    def gradients(self, found):
        made = []
        for copies, result in found:
            results = [tensor for tensor in tensors_in(result) if tensor.requires_grad]
            given = [tensor for tensor in tensors_in(copies) if tensor.requires_grad]
            if not results or not given:
                return None
            torch.manual_seed(0)
            try:
                got = torch.autograd.grad(results, given, [torch.ones_like(tensor) for tensor in results],
                                          allow_unused=True)
            except Exception as error:
                reason = excuse(self.name, "cpu")
                if not made and reason is not None:
                    self.excused.add(reason)
                else:
                    self.problems.add("backward: %s: %s" % (type(error).__name__, str(error).split("\n")[0]))
                return None
            made.append([tensor for tensor in got if tensor is not None])
        return made

    def compare(self, what, plain, pretended, there):
        plain, pretended = tensors_in(plain), tensors_in(pretended)
        if len(plain) != len(pretended):
            self.problems.add("%ss: %d on the CPU, %d on %s" % (what, len(plain), len(pretended), there))
        reason = excuse(self.name, "values")
        if reason is not None:
            self.excused.add(reason)
        for one, other in zip(plain, pretended):
            if str(one.device) != "cpu" or str(other.device) != there:
                self.problems.add("%s on %s, not %s; that of the CPU on %s" % (what, other.device, there, one.device))
            if reason is None and bytes_of(one) != bytes_of(other):
                self.problems.add("%s that differs from that of the CPU" % what)

    def try_elsewhere(self, function, given):
        given = mapped(lambda tensor: tensor.detach(), given)
        tensors = tensors_in(given)
        whole = [i for i, tensor in enumerate(tensors) if tensor.dim() > 0 and tensor.numel() > 0]
        fixed = ON_CPU.get(self.name)
        for i in whole if fixed is None else (fixed,):
            for device in ("cpu", "cuda:0") if fixed is None else (HERE, "cuda:0"):
                if len(whole) > 1:
                    self.try_one_elsewhere(function, given, i, len(tensors), device)

    def try_one_elsewhere(self, function, given, i, count, device):
        free = is_free(self.name, i, count, device)
        try:
            self.call(function, self.copies(given, HERE, i, device))
        except RuntimeError as error:
            self.counts["raised"] += 1
            if free is not None:
                self.problems.add("tensor %d may be on %s: %s" % (i, device, str(error).split("\n")[0]))
        except Exception as error:
            self.problems.add("tensor %d on %s: %s: %s" % (i, device, type(error).__name__, error))
        else:
            self.counts["free"] += free is not None
            if free is None:
                self.problems.add("tensor %d on %s: nothing was raised" % (i, device))
            else:
                self.excused.add(free)


if __name__ == "__main__":
    if sys.argv[1] == "--part":
        import torch

        run_part(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    else:
        sys.exit(main(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
