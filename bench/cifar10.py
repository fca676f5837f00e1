# SPDX-License-Identifier: MIT
"""cifar10.py GPUMAP-TRAIN DATA [--model convnet] [--seeds 0,1,2] [--epochs 10] [--threads 1] [--goal 0.65]
           [--runs single,dp,ddp,mp,pytorch] [--precision fp32] [--keep FOLDER]

Test accuracy of a model on CIFAR-10 (DATA has its binary files): global batch 128, no augmentation, convnet
with Adam at a rate of 1e-3, ResNets with SGD at 0.01, momentum and weight decay, in each mode and by
PyTorch, from the same seeds. Of each run the accuracy after the last epoch, seconds of an epoch, and
seconds from Enter to the accuracy that is the goal. Files of metrics are kept in FOLDER, and what is there
is not run again.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = {"single": [], "dp": ["--mode", "dp", "--inventory", "4"],
         "ddp": ["--mode", "ddp", "--inventory", "4"], "mp": ["--mode", "mp", "--inventory", "3"]}
SGD = ["--optimizer", "sgd", "--lr", "0.01", "--momentum", "0.9", "--weight-decay", "5e-4"]
OPTIMIZERS = {"convnet": ["--optimizer", "adam", "--lr", "0.001"], "resnet18": SGD, "resnet50": SGD}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trainer")
    parser.add_argument("data")
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--model", default="convnet", choices=sorted(OPTIMIZERS))
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--goal", type=float, default=0.65)
    parser.add_argument("--runs", default="single,dp,ddp,mp,pytorch")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "bf16"))
    parser.add_argument("--keep", default="cifar10-runs")
    return parser.parse_args()


def command_of(o, run, seed, metrics):
    same = ["--model", o.model, "--global-batch", "128", "--epochs", str(o.epochs), "--seed", seed, "--threads",
            str(o.threads)] + OPTIMIZERS[o.model]
    if run == "pytorch":
        return [o.python, HERE + "/../tests/trainer/cli/torch-train.py", o.data, "--evaluate",
                "--channels-last"] + same + (["--bf16"] if o.precision == "bf16" else [])
    return [o.trainer, "--data", o.data, "--precision", o.precision, "--metrics", metrics, "--progress",
            "none"] + same + MODES[run]


def train(o, run, seed):
    """The evaluations of a run, each with its seconds since Enter."""
    path = f"{o.keep}/{o.model}-{run}-{o.precision}-{o.epochs}-{seed}.jsonl"
    if not os.path.exists(path):
        begin = time.time()
        part = path + ".part"
        with open(part if run == "pytorch" else os.devnull, "w") as out:
            subprocess.run(command_of(o, run, seed, part), stdout=out, check=True)
        with open(part, "a") as file:
            print(json.dumps({"type": "run", "seconds": time.time() - begin}), file=file)
        os.rename(part, path)
    with open(path) as file:
        lines = [json.loads(line) for line in file if line.startswith("{")]
    evaluations = [line for line in lines if line["type"] == "evaluation"]
    # What passed before training began belongs to it.
    start = next(line["seconds"] for line in lines if line["type"] == "run") - evaluations[-1]["seconds"]
    return [(line["accuracy"], line["seconds"] + max(start, 0.0)) for line in evaluations]


def main():
    o = options()
    os.makedirs(o.keep, exist_ok=True)
    print(f"{o.model}, {o.precision}, {o.epochs} epochs, {o.threads} thread(s) per device, seeds {o.seeds}")
    print("run       accuracy by seed              mean  s/epoch  s to %.0f %%" % (100 * o.goal))
    for run in o.runs.split(","):
        results = [train(o, run, seed) for seed in o.seeds.split(",")]
        accuracies = [100 * r[-1][0] for r in results]
        reached = [next((s for a, s in r if a >= o.goal), None) for r in results]
        shown = "-" if None in reached else "%.0f" % statistics.mean(reached)
        print("%-8s  %-28s %5.2f  %7.1f  %s" % (
            run, " ".join("%.2f" % a for a in accuracies), statistics.mean(accuracies),
            statistics.mean(r[-1][1] for r in results) / o.epochs, shown), flush=True)


if __name__ == "__main__":
    sys.exit(main())
