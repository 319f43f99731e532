"""Starts a program behind walls and ends it with all its children. Runs as a process of its own, on the
standard library alone: `python -c … <json> program args…`; standard input and output go to the program.

Stays as the parent: when the program ends, when it is told to end, or when whoever started it is gone, every
process of the program is killed. In a PID namespace the system sees to that; elsewhere orphans come to us.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from ammeter.engines.hosting import walls

_PDEATHSIG, _SUBREAPER = 1, 36
_NO_WALLS = 125
_TOO_MUCH = -1
_ROUND_S = 0.5


def main() -> None:
    told: dict[str, Any] = json.loads(sys.argv[1])
    program = sys.argv[2:]
    parent = os.getppid()
    if sys.platform != "linux":
        _start_plainly(told, program)
    spaces = walls.enter_namespaces(("pid", "net", "ipc", "uts"))
    if told["proxy"] and "net" not in spaces:
        _give_up("the system gives it no network of its own")
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT})
    child = os.fork()
    if child == 0:
        try:
            _become(told, program, spaces)
        finally:
            os._exit(_NO_WALLS)
    os.close(0)
    os.close(1)
    status = _watch(child, parent, **told["folder"])
    _kill_all(child)
    if status == _TOO_MUCH:
        mib = told["folder"]["bytes"] >> 20
        _give_up(f"it filled its working folder: more than {mib} MiB, or files that cannot be counted")
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF if status is not None else 1)


def _watch(child: int, parent: int, *, path: str, bytes: int, files: int) -> int | None:  # noqa: A002
    """The program's status, or None where it is to end before it has; _TOO_MUCH where it wrote too much."""
    looked_at = time.monotonic()
    while True:
        with suppress(ChildProcessError):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended == child:
                return status
        seen = signal.sigtimedwait({signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}, _ROUND_S)
        if (seen is not None and seen.si_signo != signal.SIGCHLD) or os.getppid() != parent:
            return None
        if time.monotonic() - looked_at >= _ROUND_S:
            if _is_over(path, bytes, files):
                return _TOO_MUCH
            looked_at = time.monotonic()


def _is_over(path: str, most_bytes: int, most_files: int) -> bool:
    """Whether the folder holds more than that. One that its owner closed to us is taken for full."""
    folders = [path]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    most_files -= 1
                    with suppress(FileNotFoundError):
                        most_bytes -= entry.stat(follow_symlinks=False).st_blocks * 512
                    if most_files < 0 or most_bytes < 0:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except FileNotFoundError:
            continue
        except OSError:
            return True
    return False


def _kill_all(child: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with suppress(ChildProcessError):
        while True:
            for orphan in _children():
                with suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listed:
            return [int(word) for word in listed.read().split()]
    except OSError:
        return []


def _become(told: dict[str, Any], program: list[str], spaces: list[str]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.setsid()
    if told["proxy"]:
        walls.raise_loopback()
        _relay(told["proxy"], told["port"])
    own_user = told["uid"] is not None and walls.take_user(told["uid"])
    # After the user is another: a change of it would clear this.
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    stands = {
        "capabilities": walls.drop_capabilities(),
        "privileges": walls.no_new_privileges(),
        "files": walls.landlock([*told["readable"], "/proc/self"], told["writable"], told["devices"]),
    }
    counted = own_user or "user" in spaces
    walls.limit(**told["limits"], processes=told["processes"] if counted else None)
    families = (walls.AF_INET, walls.AF_INET6, walls.AF_NETLINK) if told["proxy"] else ()
    stands["calls"] = walls.filter_calls(families)
    missing = [name for name, stand in stands.items() if not stand]
    if missing and told["required"]:
        _give_up(f"the system does not let it be confined ({', '.join(missing)})")
    _start_plainly(told, program)


def _start_plainly(told: dict[str, Any], program: list[str]) -> None:
    try:
        os.execv(program[0], program)  # noqa: S606  that is what it is for
    except OSError as error:
        _give_up(f"{program[0]} cannot be started: {error.strerror}")


def _give_up(reason: str) -> None:
    os.write(2, f"ammeter: {reason}\n".encode())
    os._exit(_NO_WALLS)


def _relay(path: str, port: int) -> None:
    """Beside the program, in its network that leads nowhere: what comes to `port` goes on to the proxy."""
    listening = socket.create_server(("127.0.0.1", port), backlog=64)
    if os.fork():
        listening.close()
        return
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    os.closerange(0, 3)
    while True:
        one, _ = listening.accept()
        other = socket.socket(socket.AF_UNIX)
        try:
            other.connect(path)
        except OSError:
            one.close()
            continue
        for source, sink in ((one, other), (other, one)):
            threading.Thread(target=_pump, args=(source, sink), daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65_536):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
