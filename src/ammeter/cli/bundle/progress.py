"""How far an upload is, on standard error: one line that lives on a terminal, few plain lines elsewhere."""

from __future__ import annotations

from typing import TextIO

from ammeter.cli.remote import Watch

_PLAIN_EVERY_S = 15.0


class Progress:
    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = out.isatty()
        self._width = 0
        self._told_s = 0.0

    @property
    def watch(self) -> Watch:
        return Watch(sent=self._sent, waiting=self._waiting)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """The live line goes; what comes next begins at the left."""
        if self._live and self._width:
            self._write("\r" + " " * self._width + "\r")

    def _sent(self, sent: int, total: int) -> None:
        if self._live:
            self._line(f"uploading {size(sent)} of {size(total)}")
        elif sent == total:
            self._line(f"uploaded {size(total)}, compiling …")

    def _waiting(self, seconds: float) -> None:
        if self._live:
            self._line(f"compiling … {seconds:.0f} s")
        elif seconds >= self._told_s + _PLAIN_EVERY_S:
            self._told_s = seconds
            self._line(f"compiling … {seconds:.0f} s")

    def _line(self, text: str) -> None:
        if self._live:
            self._write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._write(text + "\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def size(count: int) -> str:
    """Bytes, as people say them."""
    if count < 1024:
        return f"{count} B"
    if count < 1024 * 1024:
        return f"{count / 1024:.1f} KiB"
    return f"{count / 1024 / 1024:.1f} MiB"
