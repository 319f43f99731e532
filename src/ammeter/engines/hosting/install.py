"""Packages of npm and PyPI, installed into a private place by exact version; none of their code is run.

A package in, the folder that holds it out. A version that was named, or that was the newest when it was first
asked for, is installed once on each machine and never changed.
"""

from __future__ import annotations

import asyncio
import fcntl
import importlib.metadata
import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from ammeter.base.logs import blank_secrets
from ammeter.engines.hosting.port import HostingFault, Installed, Package

_INSTALL_S = 300.0
_TAIL = 2_000


class Installer:
    def __init__(self, root: Path, tool_environment: Mapping[str, str]) -> None:
        """`tool_environment`: what npm and pip may see of the server's own environment."""
        self._root = root
        self._environment = dict(tool_environment)

    @property
    def search_path(self) -> str:
        """Where programs are looked for: beside our own interpreter too, where a wheel may have put Node."""
        return os.pathsep.join(
            [self._environment.get("PATH", "/usr/local/bin:/usr/bin:/bin"), str(Path(sys.executable).parent)]
        )

    async def install(self, package: Package) -> Installed:
        """The package, from this machine if it is there; HostingFault in words where it cannot be had."""
        async with self._alone(package):
            if package.version and (known := self._find(package, package.version)):
                return known
            draft = self._root / f"draft-{secrets.token_hex(6)}"
            draft.mkdir(parents=True, mode=0o755)
            try:
                fetch = self._npm if package.registry == "npm" else self._pypi
                version = await fetch(package, draft)
                place = self._place(package, version)
                if not place.exists():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    draft.replace(place)
            finally:
                await asyncio.to_thread(shutil.rmtree, draft, ignore_errors=True)
        found = self._find(package, version)
        assert found is not None, "it was put there just now"
        return found

    def prune(self, named: Collection[Package], before: float) -> int:
        """Take away what nobody has asked for since, and is none of those named; how many went."""
        wanted = {self._place(one, one.version) for one in named if one.version}
        gone = 0
        for place in (place for registry in ("npm", "pypi") for place in self._root.glob(f"{registry}/*/*")):
            if place not in wanted and _used_at(place) < before:
                # Out of the way at once: nobody finds half of it.
                place.replace(self._root / f"draft-{secrets.token_hex(6)}")
                gone += 1
        for draft in self._root.glob("draft-*"):
            if _used_at(draft) < before:
                shutil.rmtree(draft, ignore_errors=True)
        return gone

    def _find(self, package: Package, version: str) -> Installed | None:
        place = self._place(package, version)
        if not place.is_dir():
            return None
        with suppress(OSError):
            os.utime(place)
        return Installed(registry=package.registry, name=package.name, version=version, folder=str(place))

    def _place(self, package: Package, version: str) -> Path:
        return self._root / package.registry / quote(package.name, safe="@") / quote(version, safe="+!")

    @asynccontextmanager
    async def _alone(self, package: Package) -> AsyncIterator[None]:
        """One installation of a package at a time on this machine, whichever process asks."""
        self._root.mkdir(parents=True, exist_ok=True)
        lock = self._root / f"{package.registry}-{quote(package.name, safe='')}.lock"
        held = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(0.1)
            yield
        finally:
            os.close(held)

    async def _npm(self, package: Package, draft: Path) -> str:
        npm = shutil.which("npm", path=self.search_path)
        if npm is None:
            raise HostingFault(
                "install", "npm is not on this machine; install Node 20 or newer beside Ammeter."
            )
        wanted = f"{package.name}@{package.version or 'latest'}"
        options = ("--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--no-progress")
        (draft / "package.json").write_text('{"private": true}')
        await self._run(
            package, draft, npm, "install", *options, "--loglevel=error", "--prefix", str(draft), wanted
        )
        told = json.loads((draft / "node_modules" / package.name / "package.json").read_text())
        return str(told["version"])

    async def _pypi(self, package: Package, draft: Path) -> str:
        wanted = f"{package.name}=={package.version}" if package.version else package.name
        # A source distribution would run its own code to be built.
        options = ("--only-binary", ":all:", "--target", str(draft))
        uv = shutil.which("uv", path=self.search_path)
        if importlib.util.find_spec("pip") is not None:
            tool: tuple[str, ...] = (
                sys.executable,
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-input",
            )
        elif uv is not None:
            tool = (uv, "pip", "install", "--quiet", "--python", sys.executable)
        else:
            raise HostingFault(
                "install", "Neither pip nor uv is on this machine; install one beside Ammeter."
            )
        await self._run(package, draft, *tool, *options, wanted)
        found = find_distribution(str(draft), package.name)
        if found is None:
            raise HostingFault("install", f"{package.name} was installed, but cannot be found in its folder.")
        return found.version

    async def _run(self, package: Package, folder: Path, *command: str) -> None:
        environment = {**self._environment, "PATH": self.search_path}
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_INSTALL_S):
                said, _ = await process.communicate()
        except TimeoutError:
            raise HostingFault(
                "install", f"{package.name} could not be installed within {_INSTALL_S:g} s; try again later."
            ) from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            raise _why(package, said.decode("utf-8", "replace"))


def find_distribution(folder: str, name: str) -> importlib.metadata.Distribution | None:
    wanted = _plain(name)
    for found in importlib.metadata.distributions(path=[folder]):
        if _plain(found.name) == wanted:
            return found
    return None


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _why(package: Package, said: str) -> HostingFault:
    where = f"the registry of {package.registry}"
    if re.search(r"E404|404 Not Found|from versions: none", said):
        return HostingFault(
            "package", f"There is no package {package.name!r} (with a build for us) in {where}."
        )
    if re.search(r"ETARGET|notarget|No matching (version|distribution)", said):
        return HostingFault(
            "package", f"The package {package.name!r} has no version {package.version!r} in {where}."
        )
    if re.search(r"ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|NewConnectionError|Max retries", said):
        return HostingFault("install", f"{where.capitalize()} cannot be reached from this machine.")
    lines = [line.strip() for line in said[-_TAIL:].splitlines() if line.strip()]
    return HostingFault(
        "install", blank_secrets(f"{package.name} could not be installed: {' | '.join(lines[-4:])}"[:600])
    )


def _used_at(place: Path) -> float:
    try:
        return place.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
