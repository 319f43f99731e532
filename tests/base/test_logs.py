"""Logs: one JSON object a line, and no secret in any part of it."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ammeter.base import logs

SECRET = "q" * 48
TOKEN = f"amt_abcdefghij23_{SECRET}"
BEARER = "eyJhbGciOi.JIUzI1NiJ9-_~+/="
PASSWORD = "correct-horse"

Written = Callable[[Callable[[logging.Logger], object]], str]


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield root
    root.handlers[:], root.level = handlers, level


def written(form: logging.Formatter, log: Callable[[logging.Logger], object]) -> str:
    """What a logger with this formatter writes."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(form)
    logger = logging.Logger("ammeter.test")
    logger.addHandler(handler)
    log(logger)
    return out.getvalue()


def json_line(log: Callable[[logging.Logger], object]) -> dict[str, Any]:
    text = written(logs.JsonLines(), log)
    assert text.count("\n") == 1
    line: dict[str, Any] = json.loads(text)
    return line


def test_a_log_line_is_one_json_object_with_its_extra_fields() -> None:
    line = json_line(lambda log: log.warning("%s is\nslow", "disk", extra={"took_ms": 12, "who": {"a": [1]}}))
    assert line.pop("at").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "ammeter.test",
        "message": "disk is\nslow",
        "took_ms": 12,
        "who": {"a": [1]},
    }


def test_a_value_that_json_does_not_know_is_written_as_text() -> None:
    assert json_line(lambda log: log.info("x", extra={"kind": ValueError("é")}))["kind"] == "é"


def test_a_traceback_is_a_field_of_the_same_line() -> None:
    assert "ZeroDivisionError" in json_line(fail_with("plainly"))["traceback"]


@pytest.mark.parametrize("form", [logs.JsonLines(), logs.PlainLines()], ids=["json", "plain"])
@pytest.mark.parametrize(
    ("text", "kept", "hidden"),
    [
        (TOKEN, "amt_abcdefghij23_***", SECRET),
        (f"two lines:\n{TOKEN}", "amt_abcdefghij23_***", SECRET),
        (f"old_{TOKEN}", "amt_abcdefghij23_***", SECRET),
        (f"Authorization: Bearer {BEARER}", "Bearer ***", BEARER),
        (f"Authorization:\nbearer {BEARER}", "bearer ***", BEARER),
        (f"BEARER\t{BEARER}", "***", BEARER),
        ("Basic dXNlcjpwYXNzd29yZA==", "Basic ***", "dXNlcjpwYXNzd29yZA"),
        (f"postgresql://ammeter:{PASSWORD}@db:5432/x", "postgresql://ammeter:***@db:5432/x", PASSWORD),
        (f"redis://:{PASSWORD}@cache/0", "redis://:***@cache/0", PASSWORD),
        (f"https://u:p@{PASSWORD}@host/", "https://u:***@host/", PASSWORD),
    ],
)
@pytest.mark.parametrize("place", ["message", "argument", "extra", "nested", "traceback"])
def test_secrets_are_blanked_wherever_they_stand(
    form: logging.Formatter, text: str, kept: str, hidden: str, place: str
) -> None:
    ways: dict[str, Callable[[logging.Logger], object]] = {
        "message": lambda log: log.info(text),
        "argument": lambda log: log.info("seen: %s", text),
        "extra": lambda log: log.info("seen", extra={"header": text}),
        "nested": lambda log: log.info("seen", extra={"headers": {"authorization": [text]}}),
        "traceback": fail_with(text),
    }
    out = written(form, ways[place])
    assert hidden not in out
    assert kept in out


def test_what_is_no_secret_stays_as_it_is() -> None:
    text = "amt_ is our prefix; see http://127.0.0.1:8321/docs or mail ops@example.com, bearer of news"
    assert logs.blank_secrets(text) == text


def test_configuring_sets_one_handler_and_the_least_level(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(level="warning", json_lines=True)
    logging.getLogger("ammeter.a").info("too quiet")
    logging.getLogger("ammeter.a").warning("heard")
    logs.configure(level="debug", json_lines=False)
    logging.getLogger("ammeter.a").debug("plainly", extra={"n": 1})
    first, second = capsys.readouterr().err.splitlines()
    assert json.loads(first)["message"] == "heard"
    assert second.endswith("debug   plainly n=1")


def test_what_the_library_takes_is_written_by_a_configured_log(
    root: logging.Logger, capsys: pytest.CaptureFixture[str]
) -> None:
    logs.configure(level="info", json_lines=True)
    log = logging.getLogger("ammeter.a")
    log.info("no arguments, 100 %")
    log.info("%s and %d", "two", 2)
    log.info("%(name)s by name", {"name": "one"})
    log.info("an empty mapping: %s", {})
    log.log(35, "a level of its own", extra={"name_of_it": "x"})
    log.warning("with a stack", stack_info=True)
    fail_with("in the middle")(log)
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["message"] for line in lines] == [
        "no arguments, 100 %",
        "two and 2",
        "one by name",
        "an empty mapping: {}",
        "a level of its own",
        "with a stack",
        "failed",
    ]
    assert [line["level"] for line in lines[3:]] == ["info", "level 35", "warning", "error"]
    assert lines[4]["name_of_it"] == "x"
    assert "in the middle" in lines[6].pop("traceback")
    assert set(lines[6]) == {"at", "level", "logger", "message"}


def test_a_line_tells_the_time_in_utc_to_the_millisecond() -> None:
    record = logging.makeLogRecord({"name": "ammeter.a", "msg": "x", "created": 1_800_000_000.0456})
    assert json.loads(logs.JsonLines().format(record))["at"] == "2027-01-15T08:00:00.045Z"


def fail_with(text: str) -> Callable[[logging.Logger], object]:
    def log_it(log: logging.Logger) -> None:
        try:
            try:
                _ = 1 / 0
            except ZeroDivisionError as error:
                raise RuntimeError(text) from error
        except RuntimeError:
            log.exception("failed")

    return log_it
