"""How far a gate is, on standard error: one line that lives on a terminal; in CI a line for each case that
ended, and nothing else."""

from __future__ import annotations

import time
from typing import Any, TextIO

from ammeter.cli.suite.shown import WORDS, case_row


class Progress:
    def __init__(self, out: TextIO, *, quiet: bool = False) -> None:
        self._out = out
        self._live = out.isatty() and not quiet
        self._quiet = quiet
        self._width = 0
        self._began = time.monotonic()
        self._told: set[tuple[str, str]] = set()

    def see(self, suite_run: dict[str, Any]) -> None:
        if self._live:
            self._line(self._summary(suite_run))
            return
        for case in suite_run["cases"]:
            key = (case["caseId"], case["modelId"])
            if case["outcome"] != "running" and key not in self._told:
                self._told.add(key)
                word, name, model, score, held = case_row(case)
                self.say(f"{word:<9} {name}  ({model}, score {score}, {held} runs hold)")

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._quiet:
            return
        self.clear()
        self._write(text + "\n")

    def clear(self) -> None:
        """The live line goes; what comes next begins at the left."""
        if self._live and self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def _summary(self, suite_run: dict[str, Any]) -> str:
        outcomes = [case["outcome"] for case in suite_run["cases"]]
        counts = [
            f"{outcomes.count(outcome)} {word}"
            for outcome, word in WORDS.items()
            if outcome != "running" and outcomes.count(outcome)
        ]
        progress = suite_run["progress"]
        seconds = time.monotonic() - self._began
        ended = f"{progress['runsEnded']}/{progress['runs']} runs"
        parts = [ended, *counts, f"{suite_run['cost']['usd']:.4f} USD", f"{seconds:.0f} s"]
        return f"{suite_run['name']}: {', '.join(parts)}"

    def _line(self, text: str) -> None:
        self._write("\r" + text.ljust(self._width))
        self._width = len(text)

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
