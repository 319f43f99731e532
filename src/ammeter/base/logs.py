"""Structured logs: one JSON object a line on standard error, secrets blanked.

Blanking is a last line of defence: whoever logs should not hand a secret over at all. What has the
shape of an API key, a bearer token or a URL's password never leaves the formatter as it was.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from datetime import datetime
from functools import lru_cache
from typing import Any

# None asks for a word's edge in front: in JSON a line break is the letters \n, and no edge.
_SECRETS = [
    (re.compile(r"(amt_[a-z2-7]{12})_[A-Za-z0-9]+"), r"\1_***"),
    (re.compile(r"(?i)(bearer|basic)(?:\s|\\+[nrt])+[A-Za-z0-9._~+/=-]{8,}"), r"\1 ***"),
    (re.compile(r"(://[^\s:/@]*):[^\s/]+@"), r"\1:***@"),
]
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


_encoder = json.JSONEncoder(default=str, ensure_ascii=False)


def blank_secrets(text: str) -> str:
    lowered = text.lower()
    # One of these stands in whatever a pattern matches: most lines hold none of them and pass at once.
    if not ("amt_" in lowered or "bearer" in lowered or "basic" in lowered or "@" in lowered):
        return text
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


@lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    """Many lines share one, and to write an instant anew is a sixth of the time of a line."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        seconds, millis = divmod(int(record.created * 1000), 1000)
        line: dict[str, Any] = {
            "at": f"{_second(seconds)}.{millis:03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in record.__dict__.items():
            if name not in _PLAIN:
                line[name] = value
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return blank_secrets(_encoder.encode(line))


class PlainLines(logging.Formatter):
    """For a person at a terminal: time, level, message, then the extra fields."""

    def format(self, record: logging.LogRecord) -> str:
        extra = " ".join(f"{k}={v}" for k, v in vars(record).items() if k not in _PLAIN)
        at = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        line = f"{at} {record.levelname.lower():7} {record.getMessage()} {extra}".rstrip()
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return blank_secrets(line)


def _skip_what_is_not_shown() -> None:
    """As the library's manual advises: no search for the caller's line, no names of threads and processes."""
    logging._srcfile = None
    logging.logThreads = False
    logging.logProcesses = False
    logging.logMultiprocessing = False


def configure(*, level: str, json_lines: bool) -> None:
    _skip_what_is_not_shown()
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if json_lines else PlainLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for chatty in ("alembic", "uvicorn", "procrastinate", "httpx2", "httpcore2"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
    # The MCP SDK logs whole answers of servers, and raises whatever it logs.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
