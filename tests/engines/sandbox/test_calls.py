"""A script reaches its host through its client alone, many calls at once, each within limits."""

from __future__ import annotations

import pytest

from ammeter.engines.sandbox.port import Deadline, Script, Value
from tests.engines.sandbox.parts import SDK, Answering, Opened


def test_calls_made_at_once_are_under_way_at_once(sandbox: Opened) -> None:
    host = Answering()
    code = "return Promise.all(Array.from({length: 20}, (_, n) => client.slow(n)))"
    outcome = sandbox.run(code, host)
    assert isinstance(outcome, Value)
    assert outcome.json == list(range(20))
    assert host.most_under_way == 20
    assert [call.ended for call in outcome.calls] == ["answered"] * 20
    assert all(call.duration_ms >= 40 for call in outcome.calls)


def test_calls_in_a_row_keep_their_order(sandbox: Opened) -> None:
    host = Answering()
    code = "let sum = 0; for (let n = 0; n < 50; n++) sum += await client.echo(n); return sum"
    assert sandbox.value(code, host) == 1225
    assert host.asked == [("echo", n) for n in range(50)]


def test_arguments_and_answers_of_every_shape_travel(sandbox: Opened) -> None:
    shapes = '[null, true, 1.5, "é\\u0000😀", [], {}, {"a": {"b": [1, {"c": null}]}}]'
    assert sandbox.value(f"return Promise.all({shapes}.map(client.echo))") == [
        None,
        True,
        1.5,
        "é\x00😀",
        [],
        {},
        {"a": {"b": [1, {"c": None}]}},
    ]


def test_an_answer_of_megabytes_arrives(sandbox: Opened) -> None:
    code = "const text = 'x'.repeat(3e6); const back = await client.echo({text}); return back.text.length"
    assert sandbox.value(code) == 3_000_000


def test_an_answer_that_is_too_large_is_an_error_in_the_script(sandbox: Opened) -> None:
    code = "try { await client.echo('x'.repeat(2000)) } catch (e) { return e.name }"
    assert sandbox.value(code, call_bytes=1000, output_bytes=10_000) == "RangeError"


def test_arguments_that_are_no_json_are_the_scripts_error(sandbox: Opened) -> None:
    host = Answering()
    code = "const a = {}; a.a = a;\ntry { await client.echo(a) } catch (e) { return e.message }"
    assert "circular" in sandbox.value(code, host)
    assert host.asked == []


def test_more_calls_than_allowed_are_refused_in_the_script(sandbox: Opened) -> None:
    host = Answering()
    code = """
    const all = await Promise.allSettled(Array.from({length: 10_000}, () => client.echo(1)));
    return [all.filter((one) => one.status === "fulfilled").length, all.at(-1).reason.name];
    """
    assert sandbox.value(code, host, calls=30, cpu_ms=4000) == [30, "LimitError"]
    assert len(host.asked) == 30


def test_calls_under_way_when_a_script_ends_are_cancelled_and_told(sandbox: Opened) -> None:
    host = Answering()
    outcome = sandbox.run("client.never(); await client.echo(1); return 'done'", host)
    assert isinstance(outcome, Value)
    assert [(call.operation_id, call.ended) for call in outcome.calls] == [
        ("never", "in_flight"),
        ("echo", "answered"),
    ]
    assert host.under_way == 0


def test_a_deadline_tells_which_calls_were_under_way(sandbox: Opened) -> None:
    host = Answering()
    outcome = sandbox.run("console.log('before'); await client.never()", host, wall_ms=200)
    assert isinstance(outcome, Deadline)
    assert not outcome.stalled
    assert [call.ended for call in outcome.calls] == ["in_flight"]
    assert [log.text for log in outcome.logs] == ["before"]
    assert host.under_way == 0


def test_the_client_has_the_name_it_was_given(sandbox: Opened) -> None:
    script = Script(code="return [await acme.echo(1), typeof client]", sdk=SDK, client_name="acme")
    outcome = sandbox.within(sandbox.pool.run(script, Answering()))
    assert isinstance(outcome, Value)
    assert outcome.json == [1, "undefined"]


@pytest.mark.parametrize("name", ["", "a b", "a;b", "1a", "a.b", "ä", "x" * 65])
def test_a_name_that_is_no_identifier_is_the_callers_mistake(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        Script(code="", sdk=SDK, client_name=name)
