# SPDX-License-Identifier: MIT
"""Reads a safetensors file with nothing but Python, and checks the checksum of trainer/checkpoint."""
import json, struct, sys, zlib

CODES = {"F32": "f", "F64": "d", "F16": "e", "I64": "q", "I32": "i", "I16": "h", "I8": "b", "U8": "B"}
PLACE = slice(34, 42)  # of the checksum's digits


def read(path):
    """({name: (dtype, shape, bytes)}, texts)"""
    with open(path, "rb") as file:
        content = file.read()
    length, = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + length])
    texts = header.pop("__metadata__", {})
    if "crc32" in texts:
        zeroed = content[:PLACE.start] + b"00000000" + content[PLACE.stop:]
        if int(texts["crc32"], 16) != zlib.crc32(zeroed):
            raise ValueError(path + " is damaged")
    data = content[8 + length:]
    return {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()}, texts


def values(tensor):
    dtype, _, data = tensor
    return [x for x, in struct.iter_unpack("<" + CODES[dtype], data)]


if __name__ == "__main__":
    tensors, texts = read(sys.argv[1])
    for name in sorted(tensors):
        print(name, *tensors[name][:2])
    print(texts)
