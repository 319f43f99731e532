"""The SDK's JavaScript as scripts meet it: in the real sandbox, against a host that answers from a list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ammeter.engines.compiler.document import read_document
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.javascript import sdk_source
from ammeter.engines.sandbox.pool import Pool, PoolOptions
from ammeter.engines.sandbox.port import Outcome, Script, ScriptError, Value
from tests.golden.outputs import FOLDER, compiled


def source(feature: str) -> str:
    document = read_document((FOLDER / feature / "openapi.yaml").read_bytes()).document
    assert document is not None
    return sdk_source(compiled(document, Findings()))


@dataclass
class Answers:
    """A host that gives one answer after the other, and {} when there are no more."""

    answers: list[Any]
    asked: list[tuple[str, Any]] = field(default_factory=list)

    async def call(self, operation_id: str, arguments: Any) -> Any:
        self.asked.append((operation_id, arguments))
        return self.answers.pop(0) if self.answers else {"body": {}, "next": None}


Play = Callable[[str, str, Answers], Outcome]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    with asyncio.Runner() as runner:
        pool = Pool(PoolOptions(cache=tmp_path_factory.mktemp("sandbox"), workers=1))
        runner.run(pool.start())
        try:
            yield lambda feature, code, host: runner.run(
                pool.run(Script(code=code, sdk=source(feature)), host)
            )
        finally:
            runner.run(pool.stop())


def value(outcome: Outcome) -> Any:
    assert isinstance(outcome, Value), outcome
    return outcome.json


ALL = "const ids = []; for await (const row of client.rows.%s) ids.push(row.id); return ids;"


def rows(*ids: int) -> list[dict[str, int]]:
    return [{"id": i} for i in ids]


@pytest.mark.parametrize(
    ("call", "bodies", "asked"),
    [
        ("byOffset({ limit: 2 })", [rows(1, 2), rows(3)], [{"limit": 2}, {"limit": 2, "offset": 2}]),
        (
            "byOffset({ limit: 9, offset: 5 })",
            [rows(1, 2), rows(3)],
            [{"limit": 9, "offset": 5}, {"limit": 9, "offset": 7}],
        ),
        (
            "byPage()",
            [{"results": rows(1, 2), "next": "/x?page=2"}, {"results": rows(3), "next": None}],
            [{}, {"page": 2}],
        ),
        (
            "byCursor()",
            [
                {"items": rows(1), "has_more": True, "meta": {"next_cursor": "c1"}},
                {
                    "items": rows(2),
                    "has_more": True,
                    "meta": {"next_cursor": "https://x/y?a=1&cursor=c%2F2+z#f"},
                },
                {"items": rows(3), "has_more": False, "meta": {"next_cursor": "c9"}},
            ],
            [{}, {"cursor": "c1"}, {"cursor": "c/2 z"}],
        ),
        (
            "byLastId()",
            [{"data": rows(1, 2), "has_more": True}, {"data": rows(3), "has_more": False}],
            [{}, {"starting_after": 2}],
        ),
        (
            "bySpeakeasy()",
            [{"data": {"rows": rows(1, 2)}}, {"data": {"rows": rows(3)}}, {"data": {"rows": []}}],
            [{}, {"since": 2}, {"since": 3}],
        ),
        (
            "byFern()",
            [{"results": rows(1, 2), "more": True}, {"results": rows(3), "more": False}],
            [{}, {"page_number": 2}],
        ),
    ],
)
def test_every_kind_of_page_is_followed_to_the_end(
    play: Play, call: str, bodies: list[Any], asked: list[Any]
) -> None:
    host = Answers([{"body": body, "next": None} for body in bodies])
    assert value(play("pagination", ALL % call, host)) == [1, 2, 3]
    assert [arguments for _, arguments in host.asked] == asked


def test_links_are_followed_as_the_host_reads_them(play: Play) -> None:
    host = Answers([{"body": rows(1), "next": {"page": "2"}}, {"body": rows(2), "next": None}])
    assert value(play("pagination", ALL % "byLink()", host)) == [1, 2]
    assert [arguments for _, arguments in host.asked] == [{}, {"page": "2"}]


def test_the_page_after_the_last_may_be_not_found(play: Play) -> None:
    host = Answers([{"body": rows(1, 2), "next": None}, {"fault": {"message": "none", "status": 404}}])
    assert value(play("pagination", ALL % "byOffset()", host)) == [1, 2]
    host = Answers([{"body": rows(1, 2), "next": None}, {"fault": {"message": "down", "status": 500}}])
    outcome = play("pagination", ALL % "byOffset()", host)
    assert isinstance(outcome, ScriptError)
    assert outcome.message == "down"


def test_a_cursor_that_does_not_move_ends(play: Play) -> None:
    page = {"body": {"items": rows(1), "has_more": True, "meta": {"next_cursor": "c"}}, "next": None}
    host = Answers([dict(page) for _ in range(5)])
    assert value(play("pagination", ALL % "byCursor()", host)) == [1, 1]


def test_awaiting_gives_the_first_answer_and_nothing_is_sent_before(play: Play) -> None:
    host = Answers([{"body": rows(1), "next": None}])
    code = "const never = client.rows.byOffset(); return await client.rows.byOffset({ limit: 1 });"
    assert value(play("pagination", code, host)) == rows(1)
    assert host.asked == [("byOffset", {"limit": 1})]


def test_one_call_awaited_and_iterated_is_sent_once_per_page(play: Play) -> None:
    host = Answers([{"body": [], "next": None}])
    code = "const all = client.rows.byOffset(); await all; for await (const row of all) {} return 1;"
    assert value(play("pagination", code, host)) == 1
    assert len(host.asked) == 1


def test_a_fault_is_an_error_with_all_that_the_api_said(play: Play) -> None:
    fault = {"message": "Not today", "status": 409, "code": "busy", "body": {"a": 1}, "requestId": "r1"}
    code = """
      try { await client.pets.get({ petId: 1 }); } catch (e) {
        return [e instanceof Error, e.name, e.message, e.status, e.code, e.body, e.requestId];
      }"""
    assert value(play("tags", code, Answers([{"fault": fault}]))) == [
        True,
        "ApiError",
        "Not today",
        409,
        "busy",
        {"a": 1},
        "r1",
    ]
    code = "try { await client.pets.get({}); } catch (e) { return [e.status, e.code, e.body, e.requestId]; }"
    assert value(play("tags", code, Answers([{"fault": {"message": "m"}}]))) == [0, None, None, None]


@pytest.mark.parametrize("given", ["1", "'x'", "null", "[1]", "{}, {}", "() => 1"])
def test_anything_but_one_object_is_refused_before_a_call(play: Play, given: str) -> None:
    host = Answers([])
    outcome = play("tags", f"return await client.pets.get({given});", host)
    assert isinstance(outcome, ScriptError)
    assert outcome.message == "pets.get takes one object with named arguments"
    assert host.asked == []


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("client.pets.listPet()", "The SDK has no pets.listPet. Did you mean pets.listPets?"),
        ("client.pets.list_pets()", "The SDK has no pets.list_pets. Did you mean pets.listPets?"),
        ("client.listPets()", "The SDK has no listPets. Did you mean pets.listPets?"),
        ("client.zebra.list()", "The SDK has no zebra. There is health, pets, storeOrders."),
    ],
)
def test_an_unknown_name_says_what_was_meant(play: Play, call: str, told: str) -> None:
    outcome = play("tags", f"return await {call};", Answers([]))
    assert isinstance(outcome, ScriptError)
    assert (outcome.name, outcome.message) == ("TypeError", told)


def test_the_client_cannot_be_changed_and_is_a_plain_value(play: Play) -> None:
    code = """
      for (const change of [
        () => { client.evil = 1; }, () => { client.pets.get = 1; }, () => { delete client.pets.get; },
        () => { client.pets.get.x = 1; }, () => { Object.setPrototypeOf(client.pets, { a: 1 }); },
      ]) { try { change(); } catch (e) { if (e.name !== "TypeError") throw e; } }
      await client;
      const held = [client, client.pets, client.pets.get].map(Object.isFrozen);
      return [held, Object.keys(client), typeof client.pets.get, "x" in client.pets.get, "a" in client.pets,
        client.then, client.constructor];"""
    held, keys, *rest = value(play("tags", code, Answers([])))
    assert held == [True, True, True]
    assert keys == ["health", "pets", "storeOrders"]
    assert rest == ["function", False, False, None, None]


def test_no_name_or_answer_pollutes_a_prototype(play: Play) -> None:
    host = Answers([{"body": {"__proto__": {"polluted": 1}}, "next": None}])
    code = (
        "await client.proto.x1Alert1({ x: '1' }); return [({}).polluted === undefined, Object.keys(client)];"
    )
    assert value(play("hostile", code, host)) == [True, ["proto"]]
    host = Answers([{"body": rows(1), "next": {"__proto__": {"page": 7}}}, {"body": rows(2), "next": None}])
    assert value(play("pagination", ALL % "byLink()", host)) == [1, 2]


def test_names_in_any_script_and_nested_groups_are_called_as_written(play: Play) -> None:
    host = Answers([])
    calls = ("用户.größe", "admin.users.listAPIs", "admin.users_")
    code = "".join(f"await client.{call}();" for call in calls) + "return 1;"
    assert value(play("naming-extensions", code, host)) == 1
    assert [operation_id for operation_id, _ in host.asked] == ["größe", "one", "users"]
