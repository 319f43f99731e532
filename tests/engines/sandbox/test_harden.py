"""Behind its walls a process can compute and answer, and is ended for anything else."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ammeter.engines.sandbox.harden import CALLS, MAPPING, NUMBERS, seccomp_filter
from ammeter.engines.sandbox.pool import HardeningMissing, Pool, PoolOptions, missing_walls

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these walls")

# Imported and opened before the walls stand, as a worker does.
BEFORE = """import asyncio, ctypes, json, mmap, os, pathlib, socket, struct, subprocess, sys, threading, time
from ammeter.engines.sandbox.harden import harden
from ammeter.engines.sandbox.pool import HardeningMissing, Pool, PoolOptions

class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

def forbid(*tests):
    'EPERM for a call that passes every test: the place of a word and what stands there.'
    steps, refused, allowed = [], (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)
    for left, (place, value) in zip(range(len(tests), 0, -1), tests):
        steps += [(0x20, 0, 0, place), (0x15, 0, left * 2 - 1, value)]
    steps += [refused, allowed]
    content = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in steps))
    libc, program = ctypes.CDLL(None), Program(len(steps), ctypes.cast(content, ctypes.c_void_p))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(program), 0, 0) == 0
"""
# As in a container with its usual profile: no new namespaces.
NO_NAMESPACES = 'forbid((0, {"x86_64": 272, "aarch64": 97}[os.uname().machine]))'
NO_SECCOMP = 'forbid((0, {"x86_64": 157, "aarch64": 167}[os.uname().machine]), (16, 22))'


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )


def behind(code: str, *, before: str = "", user: int | None = None) -> subprocess.CompletedProcess[str]:
    # Changed after the imports: such a user may not be able to read where Ammeter is installed.
    change = f"os.setgroups([]); os.setgid({user}); os.setuid({user})" if user and os.getuid() == 0 else ""
    return python(f"{BEFORE}{before}\n{change}\nreport = harden()\n{code}\nsys.stdout.flush(); os._exit(7)")


def test_work_and_answers_go_on_and_the_report_says_what_stands() -> None:
    done = behind(
        "os.write(1, json.dumps(report).encode()); sum(range(10**6)); bytearray(10**7); time.sleep(0)"
    )
    assert done.returncode == 7, done.stderr
    report = json.loads(done.stdout)
    assert report["seccomp"] is True
    assert report["no_new_privs"] is True
    assert report["system"] == "linux"


@pytest.mark.parametrize(
    "code",
    [
        "open('/etc/hostname')",
        "open('/tmp/ammeter-escape', 'w')",
        "os.listdir('/')",
        "os.stat('/')",
        "socket.socket()",
        "socket.socketpair()",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "subprocess.run(['/bin/true'])",
        "os.kill(os.getppid(), 0)",
        "os.pipe()",
        "os.setuid(0)",
        "os.memfd_create('x')",
        "ctypes.CDLL(None).ptrace(0, 0, 0, 0)",
        "threading.Thread(target=print).start()",
        "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
    ],
)
def test_whatever_leads_outside_ends_the_process(code: str) -> None:
    assert behind(code).returncode == -signal.SIGSYS


@pytest.mark.parametrize("user", [None, 65534])
@pytest.mark.parametrize("before", ["", NO_NAMESPACES])
def test_walls_stand_without_rights_and_without_namespaces(before: str, user: int | None) -> None:
    shown = behind("os.write(1, json.dumps(report).encode())", before=before, user=user)
    assert shown.returncode == 7, shown.stderr
    report = json.loads(shown.stdout)
    assert missing_walls(report) == []
    assert (report["no_new_privs"], report["undumpable"]) == (True, True)
    assert before == "" or report["namespaces"] == []
    assert behind("open('/etc/hostname')", before=before, user=user).returncode == -signal.SIGSYS
    assert behind("socket.socket()", before=before, user=user).returncode == -signal.SIGSYS


def test_both_tables_of_calls_are_whole() -> None:
    # As the kernel's headers have them: asm/unistd_64.h, and asm-generic/unistd.h, which arm64 uses.
    known = {
        "x86_64": {"read": 0, "mmap": 9, "mprotect": 10, "sendto": 44, "exit_group": 231, "getrandom": 318},
        "aarch64": {
            "read": 63,
            "mmap": 222,
            "mprotect": 226,
            "sendto": 206,
            "exit_group": 94,
            "getrandom": 278,
        },
    }
    for machine, numbers in NUMBERS.items():
        # arm64 has no poll of its own: the C library makes ppoll of it.
        without = {"poll"} if machine == "aarch64" else set()
        assert {*CALLS, *MAPPING, "capset"} - without == set(numbers)
        assert len(set(numbers.values())) == len(numbers)
        assert known[machine].items() <= numbers.items()
        assert len(seccomp_filter(machine)) % 8 == 0
    assert seccomp_filter("x86_64") != seccomp_filter("aarch64")
    assert platform.machine() in NUMBERS, "the walls of this machine are not known"


def test_what_is_required_and_missing_stops_the_start_with_a_sentence() -> None:
    assert missing_walls({"system": "darwin"}) == ["seccomp filter", "resource limits"]
    told = str(HardeningMissing(["seccomp filter"], {"seccomp": False}))
    assert "have no seccomp filter" in told
    assert "AMMETER_SANDBOX_HARDENING" in told


def test_with_everything_required_a_pool_starts_where_everything_stands(sandbox_cache: Path) -> None:
    async def story() -> None:
        async with Pool(PoolOptions(cache=sandbox_cache, workers=1, hardening="require")) as pool:
            assert missing_walls(pool.hardening()) == []

    asyncio.run(story())


def test_a_pool_that_requires_walls_does_not_start_without_them(sandbox_cache: Path) -> None:
    ended = python(f"""{BEFORE}
{NO_SECCOMP}
async def start(hardening):
    cache = pathlib.Path({str(sandbox_cache)!r})
    async with Pool(PoolOptions(cache=cache, workers=1, hardening=hardening)) as pool:
        return pool.hardening()["seccomp"]

print(asyncio.run(start("best-effort")))
try:
    asyncio.run(start("require"))
except HardeningMissing as missing:
    print(missing)
""")
    assert ended.stdout.startswith("False\nThe sandbox's workers have no seccomp filter"), ended.stderr
