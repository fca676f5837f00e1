#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""schemas.py PRINTED LEFT: compares JSON documents, one a line of these files, with the schemas that they name. Here a
member that no schema has is a fault. A line of LEFT may be of a file that the test has cut. Prints what differs;
status 77 without jsonschema."""

import functools
import json
import os
import sys

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
except ImportError:
    Draft202012Validator = None

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../schemas")
URN = "urn:gpumap:schema:"


def strict(value, name):
    """A schema as a part of one that has all, which allows no other members."""
    if isinstance(value, list):
        return [strict(one, name) for one in value]
    if not isinstance(value, dict):
        return value
    value = {key: strict(one, name) for key, one in value.items() if key != "$id"}
    if isinstance(value.get("$ref"), str):
        urn, _, place = value["$ref"].partition("#")
        value["$ref"] = f"#/$defs/{urn[len(URN):].partition(':')[0] or name}{place}"
    if isinstance(value.get("properties"), dict) and value.get("type") == "object":
        value["additionalProperties"] = False
    return value


@functools.lru_cache(maxsize=None)
def validators():
    schemas = {}
    for file in sorted(os.listdir(FOLDER)):
        name, end = os.path.splitext(file)
        if end == ".json":
            with open(os.path.join(FOLDER, file), encoding="utf-8") as opened:
                schema = json.load(opened)
            Draft202012Validator.check_schema(schema)
            assert schema["$id"] == f"{URN}{name}:1", f"{file}: another $id"
            schemas[name] = strict(schema, name)
    return {f"{URN}{name}:1": Draft202012Validator({"$defs": schemas, "$ref": f"#/$defs/{name}"}) for name in schemas}


def faults(document):
    """What is wrong with a document; nothing without jsonschema."""
    if not Draft202012Validator:
        return []
    name = document.get("$schema")
    if name not in validators():
        return [f"no schema has the name {name!r}"]
    error = best_match(validators()[name].iter_errors(document))
    return [f"{name}: {error.json_path}: {error.message[:300]}"] if error else []


def main():
    wrong = []
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            lines = sorted(set(file))
        for line in lines:
            try:
                wrong += faults(json.loads(line))
            except ValueError:
                if path == sys.argv[1]:
                    wrong.append(f"not JSON: {line[:300]!r}")
    print("\n".join(sorted(set(wrong))[:10]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main() if Draft202012Validator else 77)
