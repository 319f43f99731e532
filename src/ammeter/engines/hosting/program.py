"""Which program a launch means: an installed package's own, or one of the machine; as an absolute command."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from ammeter.engines.hosting.install import find_distribution
from ammeter.engines.hosting.port import HostingFault, Installed, Launch

USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def program_of(launch: Launch, installed: Installed | None, search_path: str) -> tuple[str, ...]:
    if installed is None:
        name, *more = launch.command
        found = shutil.which(name, path=f"{USUAL_PATH}:{search_path}")
        if found is None:
            raise HostingFault("package", f"There is no program {name!r} on this machine.")
        return (str(Path(found).absolute()), *more, *launch.args)
    wanted, more = (launch.command[0], list(launch.command[1:])) if launch.command else ("", [])
    named = _npm(installed, wanted, search_path) if installed.registry == "npm" else _pypi(installed, wanted)
    return (*named, *more, *launch.args)


def python() -> str:
    """The interpreter behind our own environment, whose packages are not for others to see."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix) / "bin" / version
    return str(base if base.exists() else Path(sys.executable))


def _npm(installed: Installed, wanted: str, search_path: str) -> tuple[str, ...]:
    node = shutil.which("node", path=search_path)
    if node is None:
        raise HostingFault("package", "Node is not on this machine; install Node 20 or newer beside Ammeter.")
    folder = Path(installed.folder) / "node_modules" / installed.name
    told = json.loads((folder / "package.json").read_text())
    short = installed.name.rpartition("/")[2]
    programs = told.get("bin") or {}
    if isinstance(programs, str):
        programs = {short: programs}
    chosen = _choose(programs, wanted, short, installed.name)
    return (str(Path(node).resolve()), str((folder / chosen).resolve()))


def _pypi(installed: Installed, wanted: str) -> tuple[str, ...]:
    found = find_distribution(installed.folder, installed.name)
    entries = found.entry_points.select(group="console_scripts") if found else ()
    chosen = _choose({each.name: each.value for each in entries}, wanted, installed.name, installed.name)
    module, _, attribute = chosen.partition("[")[0].strip().partition(":")
    start = (
        f"import sys; sys.path.insert(0, {installed.folder!r}); from importlib import import_module;"
        f" from functools import reduce; found = import_module({module.strip()!r});"
        f" sys.exit(reduce(getattr, {attribute.strip().split('.')!r}, found)())"
    )
    return (python(), "-I", "-B", "-c", start)


def _choose(programs: dict[str, str], wanted: str, usual: str, package: str) -> str:
    name = wanted or (usual if usual in programs else "")
    if not name and len(programs) == 1:
        name = next(iter(programs))
    if name not in programs:
        has = ", ".join(sorted(programs)) or "none"
        told = f"has no program {name!r}" if name else "has several programs; name one in command"
        raise HostingFault("package", f"The package {package!r} {told} (it has: {has}).")
    return programs[name]
