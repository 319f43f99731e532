"""The system's walls around a worker, raised by the worker itself once everything is loaded and before the
first script: namespaces, an unprivileged user, Landlock, limits, and a list of the few system calls left.

Each wall is raised where the system has it; what stands is reported, never assumed. After `seccomp` any
call that is not listed, and any new executable memory, ends the process. Only Linux has all of it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from typing import Any

if sys.platform != "win32":
    # Before the walls stand, since no file can be read behind them.
    import resource

_NO_NEW_PRIVS, _SECCOMP, _DUMPABLE = 38, 22, 4
_KILL, _ALLOW = 0x8000_0000, 0x7FFF_0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_PROT_EXEC = 4
_NOBODY = 65534
_DATA_BYTES = 2 << 30
_NAMESPACES = {"net": 0x4000_0000, "ipc": 0x0800_0000, "uts": 0x0400_0000}
_NEW_USER = 0x1000_0000

CALLS = (
    *("read", "write", "sendto", "recvfrom", "close", "exit", "exit_group", "munmap", "madvise", "brk"),
    *("mremap", "futex", "clock_gettime", "clock_nanosleep", "rt_sigaction", "rt_sigprocmask"),
    *("rt_sigreturn", "sigaltstack", "getrandom", "poll", "ppoll", "sched_yield", "restart_syscall"),
    *("membarrier", "rseq", "getpid", "gettid", "getrusage"),
)
MAPPING = ("mmap", "mprotect")
NUMBERS = {
    "x86_64": {
        **{"read": 0, "write": 1, "close": 3, "poll": 7, "mmap": 9, "mprotect": 10, "munmap": 11, "brk": 12},
        **{"rt_sigaction": 13, "rt_sigprocmask": 14, "rt_sigreturn": 15, "sched_yield": 24, "mremap": 25},
        **{"madvise": 28, "getpid": 39, "sendto": 44, "recvfrom": 45, "exit": 60, "getrusage": 98},
        **{"sigaltstack": 131, "gettid": 186, "futex": 202, "restart_syscall": 219, "clock_gettime": 228},
        **{"clock_nanosleep": 230, "exit_group": 231, "ppoll": 271, "getrandom": 318, "membarrier": 324},
        **{"rseq": 334, "capset": 126},
    },
    "aarch64": {
        **{"close": 57, "read": 63, "write": 64, "ppoll": 73, "exit": 93, "exit_group": 94, "futex": 98},
        **{"clock_gettime": 113, "clock_nanosleep": 115, "sched_yield": 124, "restart_syscall": 128},
        **{"sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135, "rt_sigreturn": 139},
        **{"getrusage": 165, "getpid": 172, "gettid": 178, "sendto": 206, "recvfrom": 207, "brk": 214},
        **{"munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233, "getrandom": 278},
        **{"membarrier": 283, "rseq": 293, "capset": 91},
    },
}
_ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446


def harden(*, data_bytes: int = _DATA_BYTES) -> dict[str, Any]:
    """Raise every wall there is; gives what stands. Nothing can be opened afterwards."""
    report: dict[str, Any] = {"system": sys.platform, "machine": platform.machine()}
    if sys.platform != "linux":
        return report
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = NUMBERS.get(platform.machine())
    report["namespaces"] = _unshare(libc)
    report["user_dropped"] = _drop_user()
    report["capabilities_dropped"] = _drop_capabilities(libc, numbers)
    report["no_new_privs"] = libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    report["undumpable"] = libc.prctl(_DUMPABLE, 0, 0, 0, 0) == 0
    report["landlock"] = _landlock(libc)
    report["limits"] = _limit(data_bytes)
    report["seccomp"] = numbers is not None and _seccomp(libc)
    return report


def _unshare(libc: ctypes.CDLL) -> list[str]:
    stand = []
    if os.getuid() != 0 and libc.unshare(_NEW_USER) == 0:
        stand.append("user")
    return stand + [name for name, flag in _NAMESPACES.items() if libc.unshare(flag) == 0]


def _drop_user() -> bool:
    if os.getuid() != 0:
        return False
    try:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    except OSError:
        return False
    return True


def _drop_capabilities(libc: ctypes.CDLL, numbers: dict[str, int] | None) -> bool:
    """A new user namespace gives its maker every capability inside it."""
    if numbers is None:
        return False
    version_3_of_self = struct.pack("<Ii", 0x2008_0522, 0)
    return bool(libc.syscall(numbers["capset"], version_3_of_self, bytes(24)) == 0)


def _landlock(libc: ctypes.CDLL) -> int:
    """A ruleset without rules: no file, no TCP, no signal leaves. Gives its version, 0 for none."""
    version = libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return 0
    rights = (1 << 13) - 1
    for since, bit in ((2, 13), (3, 14), (5, 15)):
        rights |= (1 << bit) if version >= since else 0
    attributes = struct.pack("<Q", rights)
    attributes += struct.pack("<Q", 3) if version >= 4 else b""
    attributes += struct.pack("<Q", 3) if version >= 6 else b""
    ruleset = libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return 0
    stands = libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return int(version) if stands else 0


def _limit(data_bytes: int) -> bool:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NPROC: 0,
        resource.RLIMIT_NOFILE: 16,
        resource.RLIMIT_DATA: data_bytes,
    }
    try:
        for limit, value in limits.items():
            resource.setrlimit(limit, (value, value))
    except (OSError, ValueError):
        return False
    return True


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _seccomp(libc: ctypes.CDLL) -> bool:
    content = seccomp_filter(platform.machine())
    buffer = ctypes.create_string_buffer(content, len(content))
    program = _Program(len(content) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return bool(libc.prctl(_SECCOMP, 2, ctypes.byref(program), 0, 0) == 0)


def seccomp_filter(machine: str) -> bytes:
    """BPF over the call's number, its architecture and, for mappings, the third argument."""

    def step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
        return struct.pack("<HBBI", code, if_so, if_not, value)

    numbers = NUMBERS[machine]
    number, architecture, protection = 0, 4, 32
    steps = [step(_LOAD, architecture), step(_EQUAL, _ARCHITECTURES[machine], 1, 0)]
    steps += [step(_RETURN, _KILL), step(_LOAD, number)]
    # x86_64 has a second set of numbers for the same calls.
    steps += [step(_AT_LEAST, 0x4000_0000, 0, 1), step(_RETURN, _KILL)]
    for name in CALLS:
        if name in numbers:
            steps += [step(_EQUAL, numbers[name], 0, 1), step(_RETURN, _ALLOW)]
    for name in MAPPING:
        checked = [step(_LOAD, protection), step(_ANY_BIT, _PROT_EXEC, 0, 1), step(_RETURN, _KILL)]
        checked.append(step(_RETURN, _ALLOW))
        steps += [step(_EQUAL, numbers[name], 0, len(checked)), *checked]
    return b"".join([*steps, step(_RETURN, _KILL)])
