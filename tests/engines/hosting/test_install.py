"""Installing by exact version, with the real npm and pip, from registries on this very machine."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path

import pytest

from ammeter.engines.hosting.install import Installer
from ammeter.engines.hosting.port import HostingFault, Launch, Package
from ammeter.engines.hosting.program import program_of
from tests.engines.mcp_client.faulty import answering, said

NPM_PATH = f"{Path(shutil.which('npm') or '/usr/bin/npm').parent}:/usr/bin:/bin"


@lru_cache
def npm_package(version: str) -> bytes:
    """Packed once: the time of packing is in it, and its digest is told before it is fetched."""
    told = {
        "name": "tiny-server",
        "version": version,
        "bin": {"tiny-server": "index.js", "other": "other.js"},
        "scripts": {"install": "touch ../../was-run"},
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (("package.json", json.dumps(told)), ("index.js", "// hello"), ("other.js", "")):
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return packed.getvalue()


@asynccontextmanager
async def npm_registry(versions: list[str]) -> AsyncIterator[str]:
    """The newest is the last of `versions`, which may grow."""

    async def answer(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        path = head.split()[1].decode()
        if path.startswith("/tiny-server/-/"):
            content = npm_package(path.rpartition("-")[2].removesuffix(".tgz"))
            await said("200 OK", content, "application/octet-stream")(head, body, writer)
        elif path == "/tiny-server":
            described = {
                version: {
                    **{"name": "tiny-server", "version": version, "bin": {"tiny-server": "index.js"}},
                    "dist": {
                        "tarball": f"{url}/tiny-server/-/tiny-server-{version}.tgz",
                        "integrity": "sha512-"
                        + base64.b64encode(hashlib.sha512(npm_package(version)).digest()).decode(),
                    },
                }
                for version in versions
            }
            told = {"name": "tiny-server", "dist-tags": {"latest": versions[-1]}, "versions": described}
            await said("200 OK", json.dumps(told).encode())(head, body, writer)
        else:
            await said("404 Not Found", b"{}")(head, body, writer)

    async with answering(answer) as address:
        url = address.removesuffix("/mcp")
        yield url


def test_npm_installs_the_newest_once_and_then_that_version_without_running_scripts(tmp_path: Path) -> None:
    async def story() -> None:
        versions = ["1.0.0", "1.1.0"]
        async with npm_registry(versions) as url:
            environment = {
                "PATH": NPM_PATH,
                "HOME": str(tmp_path),
                "npm_config_registry": url,
                "npm_config_cache": str(tmp_path / "npm"),
            }
            installer = Installer(tmp_path / "root", environment)
            package = Package(registry="npm", name="tiny-server")
            first, second = await asyncio.gather(installer.install(package), installer.install(package))
            assert first == second
            assert first.version == "1.1.0"
            assert not list(tmp_path.rglob("was-run"))  # noqa: ASYNC240
            versions.append("2.0.0")
            kept = await installer.install(Package(registry="npm", name="tiny-server", version="1.1.0"))
            assert kept == first
            older = await installer.install(Package(registry="npm", name="tiny-server", version="1.0.0"))
            assert older.folder != first.folder
            command = program_of(Launch(package=package, args=("-v",)), first, installer.search_path)
            assert command[1:] == (f"{first.folder}/node_modules/tiny-server/index.js", "-v")
            other = program_of(Launch(package=package, command=("other",)), first, installer.search_path)
            assert other[1].endswith("other.js")
            with pytest.raises(HostingFault, match=r"no program 'wrong' .*other, tiny-server"):
                program_of(Launch(package=package, command=("wrong",)), first, installer.search_path)
            with pytest.raises(HostingFault, match=r"no version '9\.9\.9'"):
                await installer.install(Package(registry="npm", name="tiny-server", version="9.9.9"))
            with pytest.raises(HostingFault, match="no package 'absent'"):
                await installer.install(Package(registry="npm", name="absent"))
        # From here on the registry is gone: what is installed needs none.
        assert await installer.install(Package(registry="npm", name="tiny-server", version="1.1.0")) == first
        assert not list((tmp_path / "root").glob("draft-*"))

    asyncio.run(story())


def wheel(folder: Path, version: str) -> None:
    info = f"tiny_server-{version}.dist-info"
    with zipfile.ZipFile(folder / f"tiny_server-{version}-py3-none-any.whl", "w") as made:
        made.writestr("tiny_server/__init__.py", "def main():\n    print('hello')\n")
        made.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-server\nVersion: {version}\n")
        made.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{info}/entry_points.txt", "[console_scripts]\ntiny-server = tiny_server:main\n")
        made.writestr(f"{info}/RECORD", "")


def test_pip_installs_wheels_alone_by_exact_version(tmp_path: Path) -> None:
    async def story() -> None:
        links = tmp_path / "links"
        links.mkdir()
        wheel(links, "1.0.0")
        wheel(links, "1.2.0")
        with tarfile.open(links / "from_source-1.0.0.tar.gz", "w:gz") as archive:
            entry = tarfile.TarInfo("from_source-1.0.0/setup.py")
            archive.addfile(entry, io.BytesIO())
        environment = {
            "PATH": NPM_PATH,
            "HOME": str(tmp_path),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(links),
        }
        installer = Installer(tmp_path / "root", environment)
        newest = await installer.install(Package(registry="pypi", name="Tiny_Server"))
        assert newest.version == "1.2.0"
        older = await installer.install(Package(registry="pypi", name="tiny-server", version="1.0.0"))
        assert older.version == "1.0.0"
        command = program_of(Launch(package=Package(registry="pypi", name="tiny-server")), older, NPM_PATH)
        process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
        assert (await process.communicate())[0] == b"hello\n"
        with pytest.raises(HostingFault, match="no package 'from-source'"):
            await installer.install(Package(registry="pypi", name="from-source"))
        with pytest.raises(HostingFault, match=r"no version '3\.0'"):
            await installer.install(Package(registry="pypi", name="tiny-server", version="3.0"))

    asyncio.run(story())


def test_what_nobody_used_for_long_goes_unless_it_is_named(tmp_path: Path) -> None:
    installer = Installer(tmp_path, {"PATH": NPM_PATH})
    old, named, used = (Package(registry="npm", name="@a/server", version=f"1.0.{i}") for i in range(3))
    places = {one: tmp_path / "npm" / "@a%2Fserver" / str(one.version) for one in (old, named, used)}
    for place in places.values():
        (place / "node_modules").mkdir(parents=True)
        os.utime(place, (1_000, 1_000))
    left_over = tmp_path / "draft-0" / "node_modules" / "x"
    left_over.mkdir(parents=True)
    os.utime(tmp_path / "draft-0", (1_000, 1_000))
    assert asyncio.run(installer.install(used)).folder == str(places[used])
    assert installer.prune([named], 900) == 0
    assert installer.prune([named], 2_000) == 1
    assert [one.version for one, place in places.items() if place.exists()] == ["1.0.1", "1.0.2"]
    assert not list(tmp_path.glob("draft-*"))
    assert installer.prune([named], 2_000) == 0
