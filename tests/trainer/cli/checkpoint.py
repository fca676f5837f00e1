# SPDX-License-Identifier: MIT
"""usage: checkpoint.py formula FILE     what `checkpoint-main write` wrote is what it says
          checkpoint.py state FILE       writes the state_dict of a DataParallel model of PyTorch
          checkpoint.py same FILE CHECKPOINT   PyTorch finds the tensors of FILE in CHECKPOINT"""
import json, struct, sys

from read_safetensors import read, values

SHAPES = [("conv1.weight", [2, 3, 2, 2]), ("conv1.bias", [2]), ("fc1.weight", [3, 5]), ("fc1.bias", [3])]


def formula(path):
    tensors, texts = read(path)
    for k, slot in enumerate(["", "optimizer.exp_avg.", "optimizer.exp_avg_sq."]):
        for p, (name, shape) in enumerate(SHAPES):
            tensor = tensors.pop(slot + name)
            assert tensor[:2] == ("F32", shape), (slot + name, tensor[:2])
            assert values(tensor) == [k + p / 4 + e / 64 for e in range(len(tensor[2]) // 4)], slot + name
    assert not tensors, list(tensors)
    want = {"format": "pt", "checkpoint": "1", "step": "120", "optimizer_step": "118", "epoch": "2",
            "position": "640", "history": "0", "elapsed_ms": "0", "scaler_growth": "0", "scaler_scale": "65536",
            "seed": str(2**64 - 1), "model": 'small "ä"'}
    texts.pop("crc32")
    assert texts == want, texts


def state(path):
    import torch
    model = torch.nn.Module()
    torch.manual_seed(1)
    model.conv1 = torch.nn.Conv2d(3, 2, 2)
    model.fc1 = torch.nn.Linear(5, 3)
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in torch.nn.DataParallel(model).state_dict().items():
        flat = tensor.flatten().tolist()
        packed = struct.pack("<%df" % len(flat), *flat)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    assert all(name.startswith("module.") for name in list(header)[1:])
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def same(path, checkpoint):
    import torch

    def tensors(file):
        return {name.removeprefix("module."): torch.frombuffer(bytearray(t[2]), dtype=torch.float32).reshape(t[1])
                for name, t in read(file)[0].items() if not name.startswith("optimizer.")}
    wrote, found = tensors(path), tensors(checkpoint)
    assert wrote.keys() == found.keys()
    assert all(torch.equal(wrote[name], found[name]) for name in wrote)
    model = torch.nn.Module()
    model.conv1 = torch.nn.Conv2d(3, 2, 2)
    model.fc1 = torch.nn.Linear(5, 3)
    model.load_state_dict(found)


{"formula": formula, "state": state, "same": same}[sys.argv[1]](*sys.argv[2:])
