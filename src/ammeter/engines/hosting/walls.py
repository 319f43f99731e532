"""The system's walls around a process that is not ours, raised by the launcher between fork and exec:
namespaces, an unprivileged user, Landlock over files, limits, and a list of system calls that are refused.

Unlike the sandbox's worker, what runs here is a whole program that opens files and starts others; so the
lists say what is refused, not what is left. What stands is reported, never assumed. Only Linux has it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import stat
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress

_NO_NEW_PRIVS, _SECCOMP, _CAPBSET_DROP = 38, 22, 24
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_KILL, _ERRNO, _ALLOW = 0x8000_0000, 0x0005_0000, 0x7FFF_0000
_NEW = {"user": 0x1000_0000, "pid": 0x2000_0000, "net": 0x4000_0000, "ipc": 0x0800_0000, "uts": 0x0400_0000}
_ANY_NEW = 0x7E02_0000
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ = 1 << 0 | 1 << 2 | 1 << 3
"""execute, read a file, read a folder"""
_LAST_CAPABILITY = 63
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16

_ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
# Ways around the walls, and doors of the kernel that no tool of an agent needs.
_REFUSED = {
    "x86_64": (
        *(101, 155, 161, 165, 166, 167, 168, 169, 175, 176, 246, 248, 249, 250, 272, 298, 304, 308, 310, 311),
        *(312, 313, 320, 321, 323),
    ),
    "aarch64": (
        *(117, 41, 51, 40, 39, 224, 225, 142, 105, 106, 104, 217, 218, 219, 97, 241, 265, 268, 270, 271),
        *(272, 273, 294, 280, 282),
    ),
}
_REFUSED_EVERYWHERE = (*(425, 426, 427), *range(428, 434), 438, 440, 442)
"""io_uring, which makes sockets past the list; new mount calls; pidfd_getfd; process_madvise"""
_SOCKET = {"x86_64": 41, "aarch64": 198}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def enter_namespaces(names: Iterable[str]) -> list[str]:
    """Those that stand. A user namespace comes first where we are not root, and gives the right to others."""
    lib, stand = libc(), []
    uid, gid = os.getuid(), os.getgid()
    if uid != 0 and lib.unshare(_NEW["user"]) == 0:
        stand.append("user")
        with suppress(OSError):
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{uid} {uid} 1")
            _write("/proc/self/gid_map", f"{gid} {gid} 1")
    return stand + [name for name in names if lib.unshare(_NEW[name]) == 0]


def raise_loopback() -> None:
    """A new network namespace has a loopback that is down."""
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 1))


def take_user(uid: int) -> bool:
    """From root to a user that nothing else runs as."""
    try:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError:
        return False
    return True


def drop_capabilities() -> bool:
    lib = libc()
    for capability in range(_LAST_CAPABILITY + 1):
        lib.prctl(_CAPBSET_DROP, capability, 0, 0, 0)
    number = {"x86_64": 126, "aarch64": 91}.get(platform.machine())
    if number is None:
        return False
    return bool(lib.syscall(number, struct.pack("<Ii", 0x2008_0522, 0), bytes(24)) == 0)


def no_new_privileges() -> bool:
    return bool(libc().prctl(_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def landlock_version() -> int:
    if sys.platform != "linux":
        return 0
    return max(0, int(libc().syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)))


def landlock(readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> bool:
    """From here on only these paths, and what is below them, can be opened."""
    version, lib = landlock_version(), libc()
    if version < 1:
        return False
    handled = (1 << 13) - 1
    for since, bit in ((2, 13), (3, 14), (5, 15)):
        handled |= (1 << bit) if version >= since else 0
    attributes = struct.pack("<Q", handled)
    if version >= 6:
        # No TCP rule: the network has walls of its own. Abstract sockets and signals stay inside.
        attributes += struct.pack("<QQ", 0, 3)
    ruleset = lib.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    on_files = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15
    rights = [(path, _READ) for path in readable]
    rights += [(path, handled) for path in writable]
    rights += [(path, 1 << 1 | 1 << 2 | 1 << 15) for path in devices]
    for path, allowed in rights:
        try:
            found = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        possible = handled if stat.S_ISDIR(os.fstat(found).st_mode) else handled & on_files
        rule = struct.pack("<Qi", allowed & possible, found)
        lib.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0)
        os.close(found)
    stands = lib.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0
    os.close(ruleset)
    return bool(stands)


def limit(*, data_bytes: int, processes: int | None, cpu_s: int, open_files: int, file_bytes: int) -> None:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_DATA: data_bytes,
        resource.RLIMIT_CPU: cpu_s,
        resource.RLIMIT_NOFILE: open_files,
        resource.RLIMIT_FSIZE: file_bytes,
    }
    if processes is not None:
        limits[resource.RLIMIT_NPROC] = processes
    for which, value in limits.items():
        hard = resource.getrlimit(which)[1]
        chosen = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (chosen, chosen))


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def can_filter() -> bool:
    return sys.platform == "linux" and platform.machine() in _ARCHITECTURES


def filter_calls(families: Iterable[int]) -> bool:
    """Refuse the listed calls, and sockets of all families but these; pairs of sockets stay possible."""
    if not can_filter():
        return False
    content = _filter(platform.machine(), tuple(families))
    buffer = ctypes.create_string_buffer(content, len(content))
    program = _Program(len(content) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return bool(libc().prctl(_SECCOMP, 2, ctypes.byref(program), 0, 0) == 0)


def _filter(machine: str, families: tuple[int, ...]) -> bytes:
    """BPF over the call's number, its architecture and, of two calls, the first argument."""

    def step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
        return struct.pack("<HBBI", code, if_so, if_not, value)

    refuse = step(_RETURN, _ERRNO | errno.EPERM)
    number, architecture, first = 0, 4, 16
    steps = [step(_LOAD, architecture), step(_EQUAL, _ARCHITECTURES[machine], 1, 0)]
    steps += [step(_RETURN, _KILL), step(_LOAD, number)]
    # x86_64 has a second set of numbers for the same calls.
    steps += [step(_AT_LEAST, 0x4000_0000, 0, 1), step(_RETURN, _KILL)]
    for call in (*_REFUSED[machine], *_REFUSED_EVERYWHERE):
        steps += [step(_EQUAL, call, 0, 1), refuse]
    # Its flags are behind a pointer; without it, libraries use clone, whose flags can be seen.
    steps += [step(_EQUAL, _CLONE3, 0, 1), step(_RETURN, _ERRNO | errno.ENOSYS)]
    flags = [step(_LOAD, first), step(_ANY_BIT, _ANY_NEW, 0, 1), refuse, step(_RETURN, _ALLOW)]
    steps += [step(_EQUAL, _CLONE[machine], 0, len(flags)), *flags]
    family = [step(_LOAD, first)]
    for allowed in families:
        family += [step(_EQUAL, allowed, 0, 1), step(_RETURN, _ALLOW)]
    family.append(step(_RETURN, _ERRNO | errno.EACCES))
    steps += [step(_EQUAL, _SOCKET[machine], 0, len(family)), *family]
    return b"".join([*steps, step(_RETURN, _ALLOW)])


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
