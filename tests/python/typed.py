# SPDX-License-Identifier: MIT
"""Examples of the module, which mypy --strict accepts and python runs."""
import os
from collections.abc import Sequence
from pathlib import Path

import gpumap


def explain() -> None:
    answer = gpumap.resolve(visible="2,3,4,5", device=1)
    physical: int | None = answer.physical
    assert physical == 3
    for device in answer.visible:
        print(device.logical, device.physical, device.certainty, device.candidates)
    for step in answer.steps:
        print(step.rule, step.text, [f"{source}={value}" for source, value in step.losers])
    for finding in answer.findings:
        print(finding.id, finding.severity, finding.rule or "", finding.fix or "")
    picture: str = answer.svg()
    print(str(answer), len(picture), answer.to_dict()["visible"], answer.samples)


def statements() -> None:
    machine = gpumap.Inventory("4xH100")
    gpumap.resolve(inventory=machine, environ=os.environ, prefix=[2, 3], in_code={"CUDA_DEVICE_ORDER": None})
    gpumap.resolve(inventory=8, mode="dp", device_ids=[1, 0], device="cuda:1", batch=10, strict=True)
    print([gpu.name for gpu in machine], len(machine), machine[-1].memory, machine.findings)


def refused() -> str:
    try:
        gpumap.resolve(inventory=Path("/nonexistent"))
    except gpumap.FileError as error:
        print(error.errno)
        return f"{error.id} {error.rule} {error.fix} {[f.text for f in error.findings]}"
    return ""


def job() -> None:
    profile = gpumap.Profile(ranks=2, gpus=[0, 1], inventory=2, device="cuda:%l", command=["python3", "train.py"])
    plan = gpumap.Plan(profile)
    for rank in plan:
        visible: str = rank.visible
        print(rank.rank, rank.host, rank.physical, visible, rank.environ.get("RANK"), rank.arguments)
    print(profile.get("ranks"), profile.get("x", 3), len(profile), "ranks" in profile, bool(plan), plan[1:], plan[-1].rank)
    print(plan.setting("ranks", 0), plan.setting("ranks", rank=None), names(gpumap.Inventory(4)[:2]))
    print(profile["ranks"], profile.origin("ranks"), profile.command, plan.answered, plan.setting("ids"))


def names(gpus: Sequence[gpumap.GPU]) -> list[str | None]:
    return [gpu.name for gpu in gpus]


def process() -> None:
    answer = gpumap.here(inventory=4, in_code=[{"CUDA_VISIBLE_DEVICES": [0, 1]}])
    torch = answer.programs.get("torch")
    print(answer.cuda, answer.physical, torch["device"] if torch else None)


def lease() -> None:
    try:
        with gpumap.pick(1, wait=0.01, from_=[0], on_wait=print) as gpus:
            print(names(gpus), gpus.index(gpus[0]), gpus.visible, len(gpus), [gpu.uuid for gpu in gpus], gpus[0].physical)
    except (gpumap.Busy, gpumap.TooLate, gpumap.Error) as error:
        print(error.id)


if __name__ == "__main__":
    for example in (explain, statements, refused, job, process, lease):
        example()
