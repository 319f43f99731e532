"""The machine that a figure was measured on, in one line."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def machine() -> str:
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in _lines("/proc/cpuinfo")
            if line.startswith(("model name", "Model"))
        ),
        platform.processor() or "unknown CPU",
    )
    memory_kib = next(
        (line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")), "0"
    )
    return (
        f"{platform.machine()}, {os.cpu_count()} cores ({cpu}), {int(memory_kib) // 1024**2} GiB,"
        f" {platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}"
    )


def _lines(path: str) -> list[str]:
    file = Path(path)
    return file.read_text().splitlines() if file.exists() else []
