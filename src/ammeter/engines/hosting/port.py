"""What is to run here and how far it may reach, as values: a package or a command, its environment and files,
its network; and, once prepared, the command line that starts it behind walls.

Absent: organizations, MCP, and what the process is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Registry = Literal["npm", "pypi"]
Confinement = Literal["require", "best-effort", "off"]
"""require: nothing runs where the walls cannot stand · best-effort: with those that can · off: nothing"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    registry: Registry
    name: str
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A package on this machine: `folder` holds it with what it needs."""

    registry: Registry
    name: str
    version: str
    folder: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPolicy:
    mode: Literal["none", "allowlist", "open"] = "none"
    allow: tuple[str, ...] = ()
    """`host`, `host:port` or `*.host`; without a port: 80 and 443."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    data_bytes: int = 2 << 30
    """Memory of each process that it can write to."""
    processes: int = 128
    cpu_s: int = 600
    """Of each process."""
    open_files: int = 1_024
    file_bytes: int = 256 << 20
    """Of each file it writes."""
    folder_bytes: int = 1 << 30
    """Of all files in its working folder; looked at twice a second."""
    folder_files: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    package: Package | None = None
    command: tuple[str, ...] = ()
    """With a package, its first word names one of the package's programs; else a program of the machine."""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Copied anew into the working folder of each run."""
    network: NetworkPolicy = field(default_factory=NetworkPolicy)
    limits: ProcessLimits = field(default_factory=ProcessLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Start exactly this, with exactly this environment, and the process is confined. Its end, however it
    comes, is the end of all its children."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: str
    installed: Installed | None


class HostingFault(Exception):
    """It cannot be run, in words for a person.

    package: no such package, version or program · install: it could not be installed · confinement: the
    system cannot hold it as its policy asks
    """

    def __init__(self, kind: Literal["package", "install", "confinement"], message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
