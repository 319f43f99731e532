"""Names on the client that do not exist are found before a script runs, and nothing else is."""

from __future__ import annotations

import pytest

from ammeter.features.gateway.names import invented_names, name_tree

TREE = name_tree(["books.list", "books.get", "books.reviews.list", "orders.create", "ping"])

RIGHT = [
    "return await client.books.list()",
    "const b = await client.books.get({ id: 1 }).then(x => x.title)",
    "for await (const r of client.books.reviews.list({})) console.log(r)",
    "return client.ping()",
    "// client.nope.list() is not here",
    "/* client.nope */ return 1",
    "const text = 'client.nope.x()'; return text",
    'return "client.nope.x()"',
    "return `client.nope.x() ${1 + 1}`",
    "return /client.nope/.test('x')",
    "if (typeof client.nope === 'undefined') return 1",
    "return client.books.nope?.()",
    "return 'nope' in client",
    "const client = { nope: 1 }; return client.nope",
    "return myclient.nope + other.client.nope",
    "return Object.keys(client)",
    "return client.books.list.name",
    "return client.toString()",
    "return client['nope']",
    "return client\n  .books\n  .list()",
    "",
]

WRONG = {
    "return client.boks.list()": [("client.boks", 1, "client.books.list")],
    "\n\nawait client.books.lst()": [("client.books.lst", 3, "client.books.list")],
    "client.create()": [("client.create", 1, "client.orders.create")],
    "client.orders.zzz()": [("client.orders.zzz", 1, None)],
    "return `${client.nope.x()} and ${`${client.books.gett({})}`}`": [
        ("client.nope", 1, None),
        ("client.books.gett", 1, "client.books.get"),
    ],
    "const a = b / 2; client.nope(); const c = d / 3": [("client.nope", 1, None)],
    "client.books\n  .reviews\n  .all()": [("client.books.reviews.all", 1, None)],
    "client.nope(); client.nope()": [("client.nope", 1, None)],
    "async function run(client) { return client.nope() }": [("client.nope", 1, None)],
}


@pytest.mark.parametrize("code", RIGHT)
def test_what_may_be_right_is_not_refused(code: str) -> None:
    assert invented_names(code, "client", TREE) == ()


@pytest.mark.parametrize("code", WRONG)
def test_what_is_wrong_is_named_with_its_line_and_what_was_meant(code: str) -> None:
    found = [(name.name, name.line, name.meant) for name in invented_names(code, "client", TREE)]
    assert found == WRONG[code]


def test_the_client_has_the_name_of_the_manifest() -> None:
    assert invented_names("$shop.nope(); client.other()", "$shop", TREE)[0].name == "$shop.nope"
    assert invented_names("client.nope()", "$shop", TREE) == ()


def test_a_script_of_a_megabyte_is_read_in_one_pass() -> None:
    code = "const x = `" + "a${1}" * 100_000 + "`;\n" + "client.books.list();\n" * 20_000 + "client.nope()"
    assert [name.name for name in invented_names(code, "client", TREE)] == ["client.nope"]
    unfinished = "`" * 1001 + "${" * 1000 + "'" * 1001 + "/" * 1001
    assert invented_names(unfinished + "client.nope", "client", TREE) is not None
