# SPDX-License-Identifier: MIT
"""Pictures are XML, and time lines are what browsers' tracing pages read.

    report.py xml FILE...
    report.py trace FILE EVENTS RANKS
    report.py lines FILE STEPS EVALUATIONS
"""
import json
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"


def numbers(element):
    for key, value in element.attrib.items():
        if key in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height"):
            yield key, float(value)
        if key == "d":
            for part in value.replace("M", " ").replace("L", " ").split():
                yield key, float(part)


def xml(path):
    root = tree.parse(path).getroot()
    assert root.tag == SVG + "svg", root.tag
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.iter():
        for key, value in numbers(element):
            most = width if "x" in key or key == "width" else height if key != "d" else width
            assert -0.01 <= value <= most + 0.01, (path, element.tag, key, value)


def trace(path, events, ranks):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    names = {}
    count = 0
    for event in data["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
        if event["ph"] == "M":
            names[event["name"], event["pid"], event["tid"]] = event["args"]["name"]
            continue
        assert event["ph"] == "X" and event["ts"] >= 0 and event["dur"] >= 0, event
        assert ("thread_name", event["pid"], event["tid"]) in names, event
        count += 1
    processes = [key for key in names if key[0] == "process_name"]
    assert count == int(events), count
    assert len(processes) == int(ranks), processes
    assert names["process_name", 0, 0] == "rank 0, GPU 2", names


def lines(path, steps, evaluations):
    seen = {"step": 0, "evaluation": 0}
    with open(path, encoding="utf-8") as file:
        for line in file:
            seen[json.loads(line)["type"]] += 1
    assert seen == {"step": int(steps), "evaluation": int(evaluations)}, seen


if __name__ == "__main__":
    if sys.argv[1] == "xml":
        for name in sys.argv[2:]:
            xml(name)
    else:
        {"trace": trace, "lines": lines}[sys.argv[1]](*sys.argv[2:])
