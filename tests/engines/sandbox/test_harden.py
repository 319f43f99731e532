"""Behind its walls a process can compute and answer, and is ended for anything else."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these walls")

# Imported and opened before the walls stand, as a worker does.
BEFORE = (
    "import ctypes, json, mmap, os, socket, subprocess, sys, threading, time;"
    "from ammeter.engines.sandbox.harden import harden; report = harden();"
)


def behind(code: str) -> subprocess.CompletedProcess[str]:
    ended = f"{BEFORE} {code}; sys.stdout.flush(); os._exit(7)"
    return subprocess.run(
        [sys.executable, "-c", ended], capture_output=True, text=True, timeout=30, check=False
    )


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
