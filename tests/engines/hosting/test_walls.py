"""What a confined process cannot do: read others' files, reach the network, stay behind, grow without end."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ammeter.engines.egress.guard import Guard
from ammeter.engines.hosting.host import Hosting, missing_walls
from ammeter.engines.hosting.port import Confinement, HostingFault, Launch, NetworkPolicy, ProcessLimits
from ammeter.engines.hosting.program import python
from tests.engines.mcp_client.faulty import answering, said
from tests.engines.mcp_client.test_connect import alive
from tests.server import until


def hosting(root: Path, confinement: Confinement = "require") -> Hosting:
    return Hosting(
        root,
        tool_environment={"PATH": "/usr/bin:/bin"},
        confinement=confinement,
        guard=lambda: Guard(("127.0.0.0/8",)),
    )


async def run(
    root: Path,
    script: str,
    *,
    env: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    network: NetworkPolicy | None = None,
    limits: ProcessLimits | None = None,
) -> Any:
    """What the script prints as JSON, run by a confined interpreter."""
    launch = Launch(
        command=(python(), "-I", "-c", script),
        env=env or {},
        files=files or {},
        network=network or NetworkPolicy(),
        limits=limits or ProcessLimits(),
    )
    async with hosting(root).prepared(launch) as prepared:
        process = await asyncio.create_subprocess_exec(
            *prepared.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(prepared.env),
            cwd=prepared.cwd,
        )
        async with asyncio.timeout(30):
            out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return json.loads(out)


ATTEMPT = """
import json, os, socket, sys
def attempt(work):
    try:
        return work() or "done"
    except OSError as error:
        return error.strerror
    except BaseException as error:
        return type(error).__name__
"""


def test_the_system_under_test_has_the_walls() -> None:
    assert missing_walls() == []


def test_files_of_others_cannot_be_read_or_written(tmp_path: Path) -> None:
    secret = tmp_path / "sealing.key"
    secret.write_text("a key")
    secret.chmod(0o666)
    script = (
        ATTEMPT
        + f"""
told = {{
  "secret": attempt(lambda: open({str(secret)!r}).read()),
  "write": attempt(lambda: open({str(secret)!r}, "w")),
  "list": attempt(lambda: str(os.listdir({str(tmp_path)!r}))),
  "shadow": attempt(lambda: open("/etc/shadow").read()),
  "parent": attempt(lambda: open("/proc/{os.getpid()}/environ").read()),
  "root": attempt(lambda: str(os.listdir("/root"))),
  "tmp": attempt(lambda: open("/tmp/ammeter-was-here", "w")),
  "own": attempt(lambda: open("given.txt").read()),
  "new": attempt(lambda: open("made.txt", "w").write("x") and "made"),
}}
print(json.dumps(told))
"""
    )
    told = asyncio.run(run(tmp_path, script, files={"given.txt": "given"}))
    assert (told.pop("own"), told.pop("new")) == ("given", "made")
    assert set(told.values()) == {"Permission denied"}, told


def test_without_a_policy_there_is_no_network_at_all(tmp_path: Path) -> None:
    async def story() -> Any:
        async with answering(said("200 OK", b"{}")) as url:
            port = url.rpartition(":")[2].partition("/")[0]
            script = (
                ATTEMPT
                + f"""
families = {{"inet": 2, "inet6": 10, "unix": 1, "packet": 17, "netlink": 16, "vsock": 40}}
told = {{name: attempt(lambda f=f: socket.socket(f)) for name, f in families.items()}}
told["local"] = attempt(lambda: socket.create_connection(("127.0.0.1", {port}), 2))
pair = socket.socketpair()
pair[0].send(b"x")
told["pair"] = pair[1].recv(1).decode()
print(json.dumps(told))
"""
            )
            return await run(tmp_path, script)

    told = asyncio.run(story())
    assert told.pop("pair") == "x"
    assert set(told.values()) == {"Permission denied"}, told


def test_ways_around_the_walls_are_refused(tmp_path: Path) -> None:
    script = (
        ATTEMPT
        + """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    ctypes.set_errno(0)
    if getattr(libc, name)(*args) == 0:
        return "done"
    return os.strerror(ctypes.get_errno())
told = {
  "ptrace": call("ptrace", 0, 0, 0, 0),
  "mount": call("mount", b"none", b"/tmp", b"tmpfs", 0, 0),
  "unshare": call("unshare", 0x10000000),
  "setns": call("setns", 0, 0),
  "chroot": call("chroot", b"/"),
  "io_uring": call("syscall", 425, 1, ctypes.create_string_buffer(256)),
}
print(json.dumps(told))
"""
    )
    told = asyncio.run(run(tmp_path, script))
    assert set(told.values()) == {"Operation not permitted"}, told


def test_the_environment_is_what_was_given_and_a_few_of_ours(tmp_path: Path) -> None:
    script = "import json, os; print(json.dumps(dict(os.environ) | {'cwd': os.getcwd()}))"
    told = asyncio.run(run(tmp_path, script, env={"GIVEN": "yes"}))
    assert told.pop("GIVEN") == "yes"
    assert told["HOME"] == told.pop("cwd")
    assert set(told) - {"LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "LANG"}


def test_each_run_has_a_fresh_folder_that_goes_with_it(tmp_path: Path) -> None:
    script = """
import json, os
before = sorted(os.listdir("."))
open("left-behind", "w").close()
print(json.dumps({"before": before, "cwd": os.getcwd()}))
"""
    first = asyncio.run(run(tmp_path, script, files={"a/b.txt": "x"}))
    second = asyncio.run(run(tmp_path, script, files={"a/b.txt": "x"}))
    assert first["before"] == second["before"] == [".tmp", "a"]
    assert first["cwd"] != second["cwd"]
    assert not Path(first["cwd"]).exists()


def test_limits_hold(tmp_path: Path) -> None:
    script = (
        ATTEMPT
        + """
import resource
def grab():
    bytearray(400 << 20)
def write():
    with open("big", "wb") as file:
        file.write(b"x" * (3 << 20))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
files = attempt(lambda: [open("/dev/null") for _ in range(200)])
told = {"memory": attempt(grab), "file": attempt(write), "files": files}
print(json.dumps(told))
"""
    )
    limits = ProcessLimits(data_bytes=256 << 20, file_bytes=1 << 20, open_files=64)
    told = asyncio.run(run(tmp_path, script, limits=limits))
    assert told == {"memory": "MemoryError", "file": "File too large", "files": "Too many open files"}


@pytest.mark.parametrize(
    "script",
    [
        "i=0; while true; do i=$((i+1)); head -c 300000 /dev/zero > f$i; done",
        "mkdir -p a/b; cd a/b; i=0; while true; do i=$((i+1)); : > f$i; done",
        "mkdir d; head -c 100 /dev/zero > d/f; i=0; while true; do i=$((i+1)); mkdir -p $i/$i; done",
    ],
    ids=["bytes", "files", "folders"],
)
def test_a_run_that_fills_its_folder_ends_and_says_so(tmp_path: Path, script: str) -> None:
    async def story() -> tuple[int, str]:
        limits = ProcessLimits(folder_bytes=2 << 20, folder_files=500)
        async with hosting(tmp_path).prepared(
            Launch(command=("sh", "-c", script), limits=limits)
        ) as prepared:
            process = await asyncio.create_subprocess_exec(
                *prepared.command,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=dict(prepared.env),
                cwd=prepared.cwd,
            )
            async with asyncio.timeout(30):
                _, err = await process.communicate()
            return process.returncode or 0, err.decode()

    code, err = asyncio.run(story())
    assert code == 125
    assert "ammeter: it filled its working folder: more than 2 MiB" in err


def test_a_run_has_a_user_of_its_own_and_so_many_processes(tmp_path: Path) -> None:
    script = "id -u; for i in $(seq 40); do sleep 30 & done; echo all"

    async def story() -> tuple[str, str]:
        launch = Launch(command=("sh", "-c", script), limits=ProcessLimits(processes=20))
        async with hosting(tmp_path).prepared(launch) as prepared:
            process = await asyncio.create_subprocess_exec(
                *prepared.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(prepared.env),
                cwd=prepared.cwd,
            )
            out, err = await process.communicate()
            return out.decode(), err.decode()

    out, err = asyncio.run(story())
    assert int(out.split()[0]) != 0
    assert "all" not in out
    assert "fork" in err.lower()


FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-I", "-c", "import os, time; os.setsid(); time.sleep(600)"])
open("started", "w").close()
time.sleep(600)
"""


@pytest.mark.parametrize("ending", ["terminate", "kill"])
def test_a_run_ends_with_all_its_children(tmp_path: Path, ending: str) -> None:
    async def story() -> set[int]:
        async with hosting(tmp_path).prepared(Launch(command=(python(), "-I", "-c", FAMILY))) as prepared:
            process = subprocess.Popen(  # noqa: ASYNC220
                prepared.command, env=dict(prepared.env), cwd=prepared.cwd, stdin=subprocess.PIPE
            )
            started = Path(prepared.cwd) / "started"
            await asyncio.to_thread(until, started.exists, "the child is there")
            family = descendants(process.pid)
            assert len(family) >= 2
            getattr(process, ending)()
            await asyncio.to_thread(process.communicate)
            return family

    family = asyncio.run(story())
    until(lambda: not any(alive(pid) for pid in family), "the whole family is gone")


def test_a_run_ends_when_whoever_started_it_is_killed(tmp_path: Path) -> None:
    async def story() -> set[int]:
        async with hosting(tmp_path).prepared(Launch(command=(python(), "-I", "-c", FAMILY))) as prepared:
            starter = (
                "import subprocess, sys, json; told = json.loads(sys.argv[1]);"
                " subprocess.Popen(told['command'], env=told['env'], cwd=told['cwd']).wait()"
            )
            told = {"command": prepared.command, "env": dict(prepared.env), "cwd": prepared.cwd}
            started_by = [sys.executable, "-c", starter, json.dumps(told)]
            process = subprocess.Popen(started_by)  # noqa: ASYNC220
            started = Path(prepared.cwd) / "started"
            await asyncio.to_thread(until, started.exists, "the child is there")
            family = descendants(process.pid)
            process.kill()
            process.wait()
            await asyncio.to_thread(
                until, lambda: not any(alive(pid) for pid in family), "the whole family is gone"
            )
            return family

    assert len(asyncio.run(story())) >= 3


CONNECT = """
import json, os, socket
told = {}
for host in %r:
    with socket.create_connection(("127.0.0.1", 3128), 5) as way:
        way.sendall(f"CONNECT {host} HTTP/1.1\\r\\n\\r\\n".encode())
        told[host] = way.recv(4096).decode().split()[1]
        if told[host] == "200":
            way.sendall(b"GET / HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n")
            told[host] += " " + way.recv(4096).decode().partition("\\r\\n")[0]
try:
    socket.create_connection(("127.0.0.1", %d), 2)
    told["directly"] = "done"
except OSError as error:
    told["directly"] = error.strerror
told["proxy"] = os.environ["HTTPS_PROXY"]
print(json.dumps(told))
"""


def test_an_allowed_host_is_reached_through_the_proxy_and_no_other(tmp_path: Path) -> None:
    async def story() -> tuple[Any, Any, int]:
        async with answering(said("200 OK", b"{}")) as url:
            port = int(url.rpartition(":")[2].partition("/")[0])
            hosts = [f"127.0.0.1:{port}", f"localhost:{port}", f"127.0.0.1:{port + 1}", "169.254.169.254:80"]
            script = CONNECT % (hosts, port)
            some = NetworkPolicy(mode="allowlist", allow=(f"127.0.0.1:{port}", "169.254.169.254"))
            listed = await run(tmp_path, script, network=some)
            everywhere = await run(tmp_path, script, network=NetworkPolicy(mode="open"))
            return listed, everywhere, port

    listed, everywhere, port = asyncio.run(story())
    here = f"127.0.0.1:{port}"
    assert listed[here] == everywhere[here] == "200 HTTP/1.1 200 OK"
    assert listed[f"localhost:{port}"] == "403"
    assert listed[f"127.0.0.1:{port + 1}"] == "403"
    # Named by the policy, and still an address that no source may reach.
    assert listed["169.254.169.254:80"] == everywhere["169.254.169.254:80"] == "403"
    assert listed["directly"] == everywhere["directly"] == "Connection refused"
    assert listed["proxy"] == "http://127.0.0.1:3128"


def test_a_server_that_hosts_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(HostingFault, match="AMMETER_HOSTING") as caught:
        hosting(tmp_path, "off").check()
    assert caught.value.kind == "confinement"


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    open_ = [pid]
    while open_:
        one = open_.pop()
        found.add(one)
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            open_ += [int(word) for word in task.read_text().split()]
    return found
