"""Scripts hunt for the credential of their API, which echoes it on purpose: nothing that a client receives,
no row, no line of the logs and no file of the server holds it, in any of its spellings.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.features.gateway.shop import BEARER
from tests.features.gateway.test_host import BASIC, HEADER, QUERY, oauth
from tests.flows.shop_server import ShopServer, every_row, serving_shop
from tests.server import until
from tests.upstream import CLIENT_SECRET, PASSWORD, TOKEN, USER, Upstream, running_upstream

CANARY = "canary-3c1d5e"
ECHO = "await client.echo.postThing({ id: 'x', name: 'y' })"
HUNTS = {
    "headers that come back": f"return {ECHO}",
    "a log": f"const t = {ECHO}; console.log(t); console.log(JSON.stringify(t), Object.entries(t.headers))",
    "an error of its own": f"throw new Error(JSON.stringify({ECHO}))",
    "letter by letter": f"return [...JSON.stringify({ECHO})].map(c => c + '|').join('')",
    "turned and packed": f"""
const s = JSON.stringify({ECHO});
return [btoa(unescape(encodeURIComponent(s))), [...s].reverse().join(''), encodeURIComponent(s)];""",
    "a refusal that repeats it": """
const told = [];
for (const kind of ['bearer', 'header', 'query', 'basic', 'oauth'])
  try { told.push(await client.private.getPrivate({ kind })) }
  catch (e) { told.push(e.message, e.stack, e.body, String(e.cause), JSON.stringify(e), Object.entries(e)) }
return told;""",
    "a redirect that carries it off": """
try { return await client.redirect.getRedirect({ status: 302 }) }
catch (e) { console.error(e); return [e.message, e.stack, e.body] }""",
    "links to the next page": """
const told = [];
for await (const row of client.links.listLinks()) told.push(row);
return [told, await client.links.listLinks()];""",
    "the client's insides": """
const seen = new Set(), told = [];
(function walk(value, path) {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
  seen.add(value);
  if (typeof value === 'function') told.push(Function.prototype.toString.call(value));
  for (const key of Reflect.ownKeys(value)) {
    let inner;
    try { inner = value[key] } catch (e) { told.push(String(e)); continue }
    if (typeof inner === 'string') told.push(`${path}.${String(key)}=${inner}`);
    if (told.length < 3000) walk(inner, `${path}.${String(key)}`);
  }
  walk(Object.getPrototypeOf(value), path + '.__proto__');
})({ client, globalThis }, '');
return told.join('\\n').slice(-20000);""",
    "functions as JSON": """
const shown = JSON.stringify(client, (key, value) => typeof value === 'function' ? String(value) : value);
const post = client.echo.postThing;
return [shown, String(post), post.constructor('return this')() === globalThis];
""",
    "borrowed prototypes": f"""
const caught = [];
for (const [owner, name] of [[JSON, 'parse'], [JSON, 'stringify'], [Promise.prototype, 'then'],
    [Array.prototype, 'map'], [Object, 'assign'], [Reflect, 'apply'], [String.prototype, 'slice']]) {{
  const real = owner[name];
  try {{ owner[name] = function (...args) {{
    try {{ caught.push(args.map(String).join()) }} catch {{}}
    return real.apply(this, args);
  }} }} catch (e) {{ caught.push(String(e)) }}
}}
Object.defineProperty(Object.prototype, 'authorization',
  {{ set(v) {{ caught.push('set ' + v) }}, get() {{ return caught }}, configurable: true }});
try {{ const t = {ECHO}; caught.push(t.headers.authorization ?? '') }} catch (e) {{ caught.push(e.stack) }}
return caught.join('\\n').slice(0, 20000);""",
    "who called": """
const told = [];
const stack = (work) => { try { work() } catch (e) { told.push(e.stack) } };
function f() { stack(() => told.push(String(f.caller))); told.push(String(arguments.callee)) }
stack(f);
Error.prepareStackTrace = (e, frames) => { told.push(frames.map(x => String(x.getFunction?.()))); return '' };
const sent = new Proxy({ id: 'x', name: 'y' }, { get(t, k) { stack(() => null.x); return t[k] } });
told.push(await client.echo.postThing(sent).catch(e => e.stack));
return told;""",
    "addresses": f"""
const told = [];
for (const make of [() => new URL('/', 'http://x').href, () => location.href, () => process.env,
    () => new Request('/'), () => new Worker('/')])
  try {{ told.push(String(make())) }} catch (e) {{ told.push(String(e)) }}
return [told, ({ECHO}).target];""",
    "a call that is left behind": f"{ECHO.removeprefix('await ')}; return '{CANARY}'",
}
CALL_NOTHING = ("the client's insides", "functions as JSON", "a call that is left behind")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ShopServer, Upstream]]:
    with running_upstream() as upstream:
        auths = {"bearer": BEARER, "header": HEADER, "query": QUERY, "basic": BASIC, "oauth": oauth(upstream)}
        with serving_shop(tmp_path_factory.mktemp("hunt"), upstream, auths) as server:
            yield server, upstream


def test_no_script_and_no_file_ever_holds_a_credential(shop: tuple[ShopServer, Upstream]) -> None:
    server, upstream = shop
    own = {"basic": PASSWORD, "oauth": CLIENT_SECRET}
    for kind in server.places:
        upstream.redirect_to = f"http://elsewhere.example/{quote(own.get(kind, TOKEN))}"
        for name, code in HUNTS.items():
            upstream.seen.clear()
            server.execute(kind, code)
            if name not in CALL_NOTHING:
                sent = {word for seen in upstream.seen for word in _sent(seen.headers, seen.target)}
                assert _values(kind, upstream) & sent, (kind, name)
    until(lambda: every_row(server.folder).count(b'"code": "') >= 5 * len(HUNTS), "events are stored")
    assert server.server.stop() == 0
    files = {path: path.read_bytes() for path in server.folder.rglob("*") if path.is_file()}
    logs = server.server.log.read_bytes()
    assert logs.count(b"POST /product-mcp/") >= len(server.places) * len(HUNTS)
    places = {
        "what clients received": b"\n".join(server.received),
        "rows": every_row(server.folder),
        "logs": logs,
        **{str(path): content for path, content in files.items()},
    }
    # The search finds what is there: a word of a script is in its answer, its row and the database's file.
    assert CANARY.encode() in places["what clients received"]
    assert CANARY.encode() in places["rows"]
    assert any(CANARY.encode() in content for path, content in files.items() if path.suffix.startswith(".db"))
    found = {
        (place, needle)
        for place, content in places.items()
        for value in {TOKEN, PASSWORD, CLIENT_SECRET, *upstream.tokens}
        for needle in _spellings(value)
        if needle in content
    }
    assert found == set()


def _values(kind: str, upstream: Upstream) -> set[str]:
    pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return {"basic": {pair}, "oauth": set(upstream.tokens)}.get(kind, {TOKEN})


def _sent(headers: dict[str, str], target: str) -> set[str]:
    words = {word for value in headers.values() for word in value.split()}
    return words | {part.partition("=")[2] for part in target.partition("?")[2].split("&")}


def _spellings(value: str) -> list[bytes]:
    raw = value.encode()
    packed = {base64.b64encode(b"x" * n + raw)[4 * ((n + 2) // 3) : -4] for n in range(3)}
    return [
        raw,
        raw[::-1],
        quote(value, safe="").encode(),
        raw.hex().encode(),
        *packed,
        b"|".join(bytes([byte]) for byte in raw),
    ]
