# SPDX-License-Identifier: MIT
"""here() on a machine that pretends to have four GPUs, with a libcuda of the tests. usage: here.py LIBCUDA CASE"""
import ctypes
import os
import sys
import types
import warnings

import gpumap

LIST = "CUDA_VISIBLE_DEVICES"


def start_cuda():
    assert ctypes.CDLL(sys.argv[1]).cuInit(0) == 0


def here(**statements):
    """The answer, and the warnings as text."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = gpumap.here(**statements)
    assert all(w.category is gpumap.TooLateWarning and w.filename == __file__ for w in caught), caught
    return answer, [str(w.message) for w in caught]


def late(answer, told, physical):
    assert answer.physical == physical and answer.cuda is True, (answer, answer.cuda)
    assert [f.id for f in answer.findings].count("GM030") == 1, answer.findings
    assert len(told) == 1 and "GM030" in told[0], told


def quiet(answer, told, physical, cuda):
    assert (answer.physical, answer.cuda, told) == (physical, cuda, []), (answer, answer.cuda, told)
    assert "GM030" not in [f.id for f in answer.findings]


def unchanged():
    quiet(*here(), 3, False)
    start_cuda()
    answer, told = here()
    quiet(answer, told, 3, True)
    assert answer.device.certainty == "certain" and answer.steps[0].origin == "environment"


def changed_before():
    os.environ[LIST] = "1"
    start_cuda()
    answer, told = here()
    quiet(answer, told, 1, True)
    assert answer.steps[0].origin == "os.environ", answer.steps


def changed_without_cuda():
    os.environ[LIST] = "1"
    quiet(*here(), 1, False)


def loaded_alone():
    ctypes.CDLL(sys.argv[1])
    os.environ[LIST] = "2"
    quiet(*here(), 2, False)


def changed_late():
    start_cuda()
    os.environ[LIST] = "1"
    late(*here(), 3)


def unset_late():
    start_cuda()
    del os.environ[LIST]
    late(*here(), 3)


def changed_twice():
    os.environ[LIST] = "1"
    start_cuda()
    os.environ[LIST] = "2"
    late(*here(), 1)


def same_devices():
    start_cuda()
    os.environ[LIST] = "GPU-70726574-656e-6400-8000-000000000003"
    quiet(*here(), 3, True)


def too_late_to_pick():
    start_cuda()
    try:
        gpumap.pick(1)
    except gpumap.TooLate as error:
        assert error.id == "GM030" and error.rule == "S4" and error.fix and "CUDA has started" in str(error)
        assert os.environ[LIST] == "3" and isinstance(error, RuntimeError)
    else:
        raise AssertionError("no exception")


def module(name, **members):
    sys.modules[name] = types.SimpleNamespace(__version__="9.9", **members)


def torch_device():
    os.environ[LIST] = "0,1,2"
    start_cuda()
    module("torch", cuda=types.SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 2))
    answer, told = here()
    quiet(answer, told, 2, True)
    assert answer.programs == {"torch": {"version": "9.9", "initialized": True, "device": 2}}, answer.programs
    assert any(step.origin == "torch.cuda.current_device()" for step in answer.steps), answer.steps
    assert here(device=1)[0].physical == 1


def torch_not_started():
    def fail():
        raise AssertionError("this starts CUDA")

    module("torch", cuda=types.SimpleNamespace(is_initialized=lambda: False, current_device=fail))
    answer, told = here()
    quiet(answer, told, 3, False)
    assert answer.programs["torch"] == {"version": "9.9", "initialized": False, "device": None}
    with gpumap.pick(1) as gpus:
        assert gpus.visible == "3"


def torch_started():
    module("torch", cuda=types.SimpleNamespace(is_initialized=lambda: True, current_device=lambda: 0))
    try:
        gpumap.pick(1)
    except gpumap.TooLate as error:
        assert str(error).startswith("torch has started")
    else:
        raise AssertionError("no exception")


def jax_started():
    module("jax")
    sys.modules["jax._src.xla_bridge"] = types.SimpleNamespace(backends_are_initialized=lambda: True)
    assert here()[0].programs["jax"]["initialized"] is True
    try:
        gpumap.pick(1)
    except gpumap.TooLate as error:
        assert str(error).startswith("jax has started")
    else:
        raise AssertionError("no exception")


def half_imported():
    sys.modules["torch"] = types.ModuleType("torch")
    sys.modules["cupy"] = types.SimpleNamespace(__version__="13.0")
    answer, _ = here()
    assert answer.programs["torch"]["version"] is None
    assert answer.programs["cupy"] == {"version": "13.0", "initialized": None, "device": None}


def imports_nothing():
    before = set(sys.modules)
    here()
    assert not {"torch", "jax", "cupy", "numpy"} & (set(sys.modules) - before)


def title_changed():
    """setproctitle writes over the environment of the start, so a change is no fact."""
    sys.modules["setproctitle"] = types.ModuleType("setproctitle")
    os.environ[LIST] = "1"
    quiet(*here(), 1, False)


def asks_driver():
    """The order of CUDA is measured by the helper of this build."""
    del os.environ[LIST], os.environ["CUDA_DEVICE_ORDER"]
    os.environ.pop("LD_PRELOAD", None)  # python3's sanitizer: the helper has its own
    answer = gpumap.resolve(ask_driver=True)
    assert answer.physical == 3 and answer.certainty == "certain", answer
    assert [device.physical for device in answer.visible] == [3, 2, 1, 0]
    assert gpumap.Inventory.probe(usage=True)[0].memory_used == 0


def errors():
    """What here() refuses keeps its exception, through its class too."""
    raised = {}
    for name, keywords in {"set": {"visible": {1, 2}}, "nul": {"visible": "1\0"}, "key": {"visble": 1},
                           "environ": {"environ": {}}, "file": {"inventory": "/nonexistent"}}.items():
        try:
            gpumap.here(**keywords)
        except Exception as error:
            raised[name] = error
    assert isinstance(raised["set"], TypeError) and "no order" in str(raised["set"]), raised
    assert type(raised["nul"]) is ValueError and type(raised["key"]) is gpumap.UnknownKey, raised
    assert "environment of this process" in str(raised["environ"]), raised
    assert type(raised["file"]) is gpumap.FileError and raised["file"].filename == "/nonexistent", raised
    os.environ["GPUMAP_INVENTORY"] = "/nonexistent"
    try:
        gpumap.here()
    except gpumap.FileError:
        return
    raise AssertionError("no exception")


def own_after_init():
    start_cuda()
    os.environ[LIST] = "1"
    answer, told = here(after_init="0")
    assert answer.physical == 3 and len(told) == 1, (answer, told)
    assert [step.losers for step in answer.steps if ("after_init", "0") in step.losers], answer.steps


def ranks():
    os.environ.update(RANK="1", WORLD_SIZE="4", LOCAL_RANK="1", LOCAL_WORLD_SIZE="4")
    os.environ[LIST] = "2,3"
    assert here(mode="ddp")[0].physical == 3


globals()[sys.argv[2]]()
