# SPDX-License-Identifier: MIT
import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Mapping as _Dict, Sequence
from types import TracebackType
from typing import Any, Literal, SupportsIndex, TypedDict, TypeVar, final, overload

from typing_extensions import Self, Unpack

__version__: str
DISTRIBUTION: str

_T = TypeVar("_T")
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Value = str | int | os.PathLike[str]
_List = str | int | Sequence[int | str]
_Variables = dict[str, _List | None]
_Statement = _List | _Variables | Sequence[int | str | _Variables] | None
_Machine = Inventory | str | int | os.PathLike[str]
_Severity = Literal["error", "warning", "remark"]
_Certainty = Literal["certain", "likely", "assumed", "undecidable"]

@final
class Finding(tuple[Any, ...]):
    id: str
    severity: _Severity
    rule: str | None
    text: str
    fix: str | None
    origin: str | None
    line: int | None
    column: int | None

@final
class Process(tuple[Any, ...]):
    pid: int
    memory: int | None
    user: str | None
    uid: int | None
    command: str | None
    container: str | None
    start: str | None
    mig: int | None
    visible: bool | None

@final
class GPU(tuple[Any, ...]):
    physical: int
    uuid: str | None
    pci: str | None
    name: str | None
    memory: int | None
    minor: int | None
    numa: str | None
    cpus: str | None
    nvlink: tuple[int, ...] | None
    mig: bool | None
    instances: tuple[GPU, ...]
    profile: str | None
    gi: int | None
    ci: int | None
    memory_used: int | None
    memory_free: int | None
    utilization: int | None
    temperature: int | None
    processes: tuple[Process, ...] | None

@final
class Device(tuple[Any, ...]):
    logical: int
    physical: int | None
    uuid: str | None
    pci: str | None
    name: str | None
    mig: int | None
    certainty: _Certainty
    candidates: tuple[int | None, ...]

@final
class Step(tuple[Any, ...]):
    rule: str
    text: str
    origin: str | None
    losers: tuple[tuple[str, str], ...]

@final
class Rank(tuple[Any, ...]):
    rank: int
    host: str
    node: int
    local_rank: int
    local_size: int
    visible: str
    logical: int | None
    physical: int | None
    mig: int | None
    uuid: str | None
    pci: str | None
    name: str | None
    cpus: str | None
    memory_nodes: str | None
    threads: int
    arguments: tuple[str, ...]
    environ: dict[str, str | None]

class Error(Exception):
    id: str | None
    rule: str | None
    fix: str | None
    findings: tuple[Finding, ...]

class InputError(Error, ValueError): ...
class UnknownKey(InputError, TypeError): ...
class FileError(Error, OSError): ...
class DriverError(Error, RuntimeError): ...
class Unavailable(Error): ...
class Busy(Unavailable): ...
class TooLate(Error, RuntimeError): ...
class TooLateWarning(RuntimeWarning): ...

@final
class Inventory:
    source: str | None
    origin: str | None
    driver: str | None
    host: str | None
    date: str | None
    no_gpu: str | None
    assumed: bool
    partial: bool
    usage: bool
    findings: tuple[Finding, ...]
    def __new__(cls, what: _Value = "host") -> Inventory: ...
    @classmethod
    def probe(cls, *, ask_driver: bool = False, usage: bool = False) -> Inventory: ...
    @classmethod
    def read(cls, what: _Value, /) -> Inventory: ...
    @classmethod
    def parse(cls, text: str, origin: str = "text") -> Inventory: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: SupportsIndex) -> GPU: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[GPU, ...]: ...
    def __iter__(self) -> Iterator[GPU]: ...
    def json(self) -> str: ...
    def ini(self) -> str: ...
    def save(self, path: _Path, /) -> None: ...

class _Statements(TypedDict, total=False):
    visible: _Statement
    prefix: _Statement
    script_export: _Statement
    script_inline: _Statement
    launcher: str | None
    in_code: _Statement
    after_init: _Statement
    set_device: object
    device: object
    device_ids: _List | None
    mode: Literal["single", "dp", "ddp", "mp"] | None
    local_rank: int | str | None
    batch: int | str | None
    container: _List | None
    cgroup: _List | None
    mps_server: _List | None
    driver: str | None
    dialect: Literal["driver", "torch", "nvitop", "rocr", "hip"] | None
    strict: bool | None

class _Question(_Statements, total=False):
    inventory: _Machine | None
    environ: _Dict[str, str] | None
    ask_driver: bool

class Mapping:
    answered: bool
    physical: int | None
    logical: int | None
    mig: int | None
    uuid: str | None
    certainty: _Certainty | None
    device: Device | None
    master: Device | None
    visible: tuple[Device, ...]
    replicas: tuple[Device, ...]
    samples: tuple[int, ...]
    mode: str
    assumption: str | None
    steps: tuple[Step, ...]
    findings: tuple[Finding, ...]
    def __new__(cls, **statements: Unpack[_Question]) -> Self: ...
    def __bool__(self) -> bool: ...
    def json(self) -> str: ...
    def svg(self) -> str: ...
    def _repr_svg_(self) -> str: ...
    def to_dict(self) -> dict[str, Any]: ...
    def logical_of(self, physical: int, /) -> int | None: ...

class _Program(TypedDict):
    version: str | None
    initialized: bool | None
    device: int | None

class Here(Mapping):
    cuda: bool | None
    programs: dict[str, _Program]

def resolve(**statements: Unpack[_Question]) -> Mapping: ...
def here(*, inventory: _Machine | None = None, **statements: Unpack[_Statements]) -> Here: ...

@final
class Profile:
    name: str | None
    file: str | None
    names: tuple[str, ...]
    command: tuple[str, ...]
    findings: tuple[Finding, ...]
    def __new__(
        cls,
        path: _Path | None = None,
        name: str | None = None,
        *,
        environ: _Dict[str, str] | None = None,
        **settings: Any,
    ) -> Profile: ...
    @classmethod
    def find(cls, name: str | None = None, environ: _Dict[str, str] | None = None) -> Profile: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object) -> bool: ...
    def __getitem__(self, key: str) -> str: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]: ...
    def values(self) -> list[str]: ...
    def items(self) -> list[tuple[str, str]]: ...
    @overload
    def get(self, key: str, /) -> str | None: ...
    @overload
    def get(self, key: str, default: _T, /) -> str | _T: ...
    def origin(self, key: str, /) -> str: ...
    def check(self) -> tuple[Finding, ...]: ...
    def json(self) -> str: ...
    def ini(self) -> str: ...

@final
class Plan:
    answered: bool
    mode: str
    profile: str | None
    master_addr: str | None
    master_port: int | None
    world_size: int
    hosts: int
    findings: tuple[Finding, ...]
    def __new__(
        cls,
        profile: Profile | None = None,
        *,
        inventory: _Machine | None = None,
        environ: _Dict[str, str] | None = None,
        **settings: Any,
    ) -> Plan: ...
    @classmethod
    def read(cls, path: _Path, /) -> Plan: ...
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, at: SupportsIndex) -> Rank: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Rank, ...]: ...
    def __iter__(self) -> Iterator[Rank]: ...
    def setting(self, key: str, rank: int | None = None) -> str: ...
    def emit(self, launcher: str, /) -> str: ...
    def json(self) -> str: ...
    def svg(self) -> str: ...
    def _repr_svg_(self) -> str: ...

@final
class Lease(Sequence[GPU]):
    gpus: tuple[GPU, ...]
    visible: str
    findings: tuple[Finding, ...]
    @property
    def descriptors(self) -> list[int]: ...
    @property
    def released(self) -> bool: ...
    def release(self) -> None: ...
    @overload
    def __getitem__(self, at: int) -> GPU: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[GPU, ...]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[GPU]: ...
    def __enter__(self) -> Lease: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

def pick(
    count: int,
    *,
    from_: _List | None = None,
    prefer: _List | None = None,
    near: bool | None = None,
    slots: int | None = None,
    mig: bool | str | None = None,
    wait: bool | float | str | datetime.timedelta | None = None,
    ignore: str | Iterable[str] | None = None,
    max_used: str | int | None = None,
    min_free: str | int | None = None,
    max_load: int | None = None,
    for_: float | str | datetime.timedelta | None = None,
    idle: float | str | datetime.timedelta | None = None,
    uuid: bool = False,
    on_wait: Callable[[str], object] | None = None,
    on_end: Callable[[str], object] | None = None,
) -> Lease: ...
