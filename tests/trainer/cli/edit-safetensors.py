# SPDX-License-Identifier: MIT
"""edit-safetensors.py FROM TO [TENSOR*FACTOR | KEY=TEXT | -KEY | @FILE]...: with other values, without
a text, or with the texts of a JSON object in FILE alone, and its checksum right."""
import array
import json
import struct
import sys
import zlib

import read_safetensors


def main():
    tensors, texts = read_safetensors.read(sys.argv[1])
    for change in sys.argv[3:]:
        if change.startswith("-"):
            del texts[change[1:]]
            continue
        if change.startswith("@"):
            with open(change[1:], encoding="utf-8") as file:
                texts = json.load(file)
            continue
        name, times, factor = change.partition("*")
        if times:
            dtype, shape, data = tensors[name]
            values = array.array("f", (float(factor) * x for x in array.array("f", data)))
            tensors[name] = dtype, shape, values.tobytes()
        else:
            key, _, text = change.partition("=")
            texts[key]  # it must be there
            texts[key] = text
    header, content = {}, b""
    if texts:
        header["__metadata__"] = {**texts, **({"crc32": "0" * 8} if "crc32" in texts else {})}
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(content), len(content) + len(data)]}
        content += data
    text = json.dumps(header, separators=(",", ":")).encode()
    content = struct.pack("<Q", len(text)) + text + content
    if "crc32" in texts:
        place = read_safetensors.PLACE
        content = content[:place.start] + b"%08x" % zlib.crc32(content) + content[place.stop:]
    with open(sys.argv[2], "wb") as file:
        file.write(content)


main()
