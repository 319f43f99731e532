"""A list of findings that a phase adds to, and how a JSON pointer is written."""

from __future__ import annotations

from ammeter.engines.compiler.model import Finding, Level

_MAX_FINDINGS = 5_000


def pointer(*steps: str | int) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def shown(value: object, limit: int = 80) -> str:
    """A value of the description in a message, short whatever it is."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


class Findings:
    """What was found so far, each once; past a bound only counted, so that a bomb of small faults
    does not become a large answer."""

    def __init__(self) -> None:
        self._found: dict[Finding, None] = {}
        self._left_out = 0

    def add(self, level: Level, code: str, where: str, message: str) -> None:
        finding = Finding(level=level, code=code, pointer=where, message=message)
        if len(self._found) < _MAX_FINDINGS or level == "error":
            self._found[finding] = None
        else:
            self._left_out += 1

    def error(self, code: str, where: str, message: str) -> None:
        self.add("error", code, where, message)

    def warning(self, code: str, where: str, message: str) -> None:
        self.add("warning", code, where, message)

    def info(self, code: str, where: str, message: str) -> None:
        self.add("info", code, where, message)

    def extend(self, findings: tuple[Finding, ...] | list[Finding]) -> None:
        self._found.update(dict.fromkeys(findings))

    def all(self) -> tuple[Finding, ...]:
        if not self._left_out:
            return tuple(self._found)
        message = f"{self._left_out} more findings below error level are not listed."
        last = Finding(level="info", code="findings_left_out", pointer="", message=message)
        return (*self._found, last)
