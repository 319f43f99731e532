"""Makes everything ready for a confined run: the package installed, a fresh working folder, a way out where
the policy has one, and the launcher's command line. All of it is gone when the run ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import ammeter
from ammeter.engines.egress.guard import Guard
from ammeter.engines.hosting import launcher, walls
from ammeter.engines.hosting.install import Installer
from ammeter.engines.hosting.port import Confinement, HostingFault, Installed, Launch, Package, Prepared
from ammeter.engines.hosting.program import USUAL_PATH, program_of, python
from ammeter.engines.hosting.proxy import proxy

_PORT = 3128
# Users that no system gives to anybody.
_FIRST_UID, _LAST_UID = 1_900_000_000, 1_999_999_999

_READABLE = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store"),
    *("/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf"),
    *("/etc/passwd", "/etc/group", "/etc/localtime", "/etc/timezone", "/etc/ld.so.cache", "/etc/ld.so.conf"),
    *("/etc/ld.so.conf.d", "/etc/alternatives", "/etc/mime.types", "/etc/os-release", "/etc/gitconfig"),
    *("/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/version", "/proc/filesystems", "/proc/loadavg"),
    *("/proc/sys/kernel", "/proc/sys/vm", "/sys/devices/system/cpu"),
)
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Hosting:
    def __init__(
        self,
        root: Path,
        *,
        tool_environment: Mapping[str, str],
        confinement: Confinement,
        guard: Callable[[], Guard],
    ) -> None:
        """`root`: the private place for packages. `guard` makes one, for each way out."""
        self._installer = Installer(root, tool_environment)
        self._confinement: Confinement = confinement
        self._make_guard = guard

    def check(self) -> None:
        """HostingFault where nothing can be run here."""
        if self._confinement == "off":
            raise HostingFault(
                "confinement",
                "This server runs no processes of sources; its operator can change AMMETER_HOSTING.",
            )
        missing = missing_walls()
        if missing and self._confinement == "require":
            raise HostingFault(
                "confinement",
                f"This server cannot confine processes: it has no {' and no '.join(missing)}. It takes"
                " Linux 5.13 or newer, on x86_64 or aarch64; an operator who trusts every source can set"
                " AMMETER_HOSTING to best-effort.",
            )

    async def install(self, package: Package) -> Installed:
        self.check()
        return await self._installer.install(package)

    def prune(self, named: Collection[Package], before: datetime) -> int:
        """Remove packages that nobody has used since, but for those named; how many went."""
        return self._installer.prune(named, before.timestamp())

    @asynccontextmanager
    async def prepared(self, launch: Launch) -> AsyncIterator[Prepared]:
        self.check()
        if launch.network.mode != "none" and sys.platform != "linux":
            raise HostingFault(
                "confinement", "Only Linux can give a process a network of its own; use mode none."
            )
        installed = await self._installer.install(launch.package) if launch.package else None
        program = program_of(launch, installed, self._installer.search_path)
        async with AsyncExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="ammeter-run-"))
            stack.push_async_callback(asyncio.to_thread, shutil.rmtree, folder, ignore_errors=True)
            work = folder / "work"
            await asyncio.to_thread(_lay_out, work, launch.files)
            way_out = ""
            if launch.network.mode != "none":
                way_out = str(folder / "proxy")
                guard = self._make_guard()
                stack.callback(guard.close)
                await stack.enter_async_context(proxy(way_out, launch.network, guard))
            told = self._told(launch, program, installed, work, way_out)
            if told["uid"] is not None:
                await asyncio.to_thread(_give_to, folder, work, told["uid"])
            yield Prepared(
                command=(*_boot(), json.dumps(told), *program),
                env=_environment(launch, work, way_out),
                cwd=str(work),
                installed=installed,
            )

    def _told(
        self, launch: Launch, program: tuple[str, ...], installed: Installed | None, work: Path, way_out: str
    ) -> dict[str, Any]:
        limits = launch.limits
        prefixes = [_prefix(program[0]), _prefix(python())]
        readable = [*_READABLE, *prefixes, *([installed.folder] if installed else ())]
        needed = [program[0], *([installed.folder] if installed else ())]
        return {
            "readable": readable,
            "writable": [str(work)],
            "devices": _DEVICES,
            "limits": {
                "data_bytes": limits.data_bytes,
                "cpu_s": limits.cpu_s,
                "open_files": limits.open_files,
                "file_bytes": limits.file_bytes,
            },
            "folder": {"path": str(work), "bytes": limits.folder_bytes, "files": limits.folder_files},
            "processes": limits.processes,
            "uid": _own_uid(needed),
            "proxy": way_out,
            "port": _PORT,
            "required": self._confinement == "require",
        }


def missing_walls() -> list[str]:
    """Which of the walls that every run needs this system does not have."""
    missing = []
    if walls.landlock_version() < 1:
        missing.append("Landlock")
    if not walls.can_filter():
        missing.append("filter for system calls")
    return missing


def _boot() -> tuple[str, ...]:
    place = str(Path(ammeter.__file__).parents[1])
    start = f"import sys; sys.path.insert(0, {place!r}); from {launcher.__name__} import main; main()"
    return (sys.executable, "-I", "-S", "-B", "-c", start)


def _environment(launch: Launch, work: Path, way_out: str) -> dict[str, str]:
    base = {"PATH": USUAL_PATH, "HOME": str(work), "TMPDIR": str(work / ".tmp"), "LANG": "C.UTF-8"}
    if way_out:
        address = f"http://127.0.0.1:{_PORT}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        base |= {**dict.fromkeys(names, address), "NODE_USE_ENV_PROXY": "1"}
    return base | {name: _at_home(value, work) for name, value in launch.env.items()}


def _at_home(value: str, work: Path) -> str:
    """Nobody knows before where the working folder will be; a value can begin with its name."""
    return f"{work}{value.removeprefix('$HOME')}" if value.startswith("$HOME/") else value


def _lay_out(work: Path, files: Mapping[str, str]) -> None:
    (work / ".tmp").mkdir(parents=True)
    for name, text in files.items():
        file = work / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def _prefix(program: str) -> str:
    """The folder an interpreter is installed in: it has its libraries beside it."""
    real = Path(program).resolve()
    return str(real.parents[1] if real.parent.name == "bin" and len(real.parents) > 2 else real.parent)


def _own_uid(needed: list[str]) -> int | None:
    """A user of its own for the run, where we may give one and it could still read its program."""
    if sys.platform != "linux" or os.geteuid() != 0 or not all(_others_reach(Path(p)) for p in needed):
        return None
    return random.SystemRandom().randint(_FIRST_UID, _LAST_UID)


def _others_reach(path: Path) -> bool:
    real = path.resolve()
    return all(folder.stat().st_mode & 0o001 for folder in real.parents) and bool(real.stat().st_mode & 0o004)


def _give_to(folder: Path, work: Path, uid: int) -> None:
    folder.chmod(0o711)
    for place, folders, files in os.walk(work):
        for name in (".", *folders, *files):
            os.chown(Path(place) / name, uid, uid, follow_symlinks=False)
