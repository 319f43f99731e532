"""What agents send as code. In goes the text as it was sent: bare statements with `await` and `return`, a
last expression as the result, a function, a module with `export default`, any of them in a Markdown fence.
Out come readings: sources that evaluate to one async function, each with the way back to the user's places.

Which reading parses is for the caller to find out. Nothing is put between two lines of the text, so every
line keeps its number; what stands where is for `lines.py`. Types are stripped elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ammeter.engines.sandbox.scan import Scanned, Statement, scan

_FENCE = re.compile(
    r"^[ \t]*(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[^\s`]*)[^\n`]*\n"
    r"(?P<code>.*?)(?:^[ \t]*(?P=marks)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_LANGUAGES = frozenset(("ts", "js", "typescript", "javascript", "tsx", "jsx", "mts", "mjs", "node", "deno"))
_ENTRIES = ("run", "main")
_LAST_LINE = re.compile(r"(?:^|\n)[ \t]*return\b[^\n]*\s*\Z")
_MAYBE_MODULE = re.compile(r"\b(?:import|export|run|main)\b")
_IMPORT = re.compile(
    r"import\s+(?P<type>type\s+(?!from\b|,))?(?P<names>[^'\"]*?)\s*(?:\bfrom\s*)?['\"](?P<module>[^'\"\n]*)['\"]"
)
_EXPORT_DEFAULT = re.compile(r"export\s+default\b")
_EXPORT_LIST = re.compile(r"export\s*\{(?P<names>[^}]*)\}")
_EXPORTED = re.compile(
    r"export\s+(?=(?:async|function|const|let|var|class|type|interface|enum|abstract|declare)\b)"
)
_AS_DEFAULT = re.compile(r"([\w$]+)\s+as\s+default\b")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_ARROW = re.compile(r"(?:async\b\s*)?(?:\([^()]*\)|[A-Za-z_$][\w$]*)\s*(?::[^=;{}]*)?=>")
_DEFAULT_NAME = "__main__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """Letters that were put into a line of the user's, counted from 1."""

    line: int
    column: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to understand the text."""

    source: str
    prefix: int
    """How many columns stand before the user's text on the first line."""
    added: Added | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What no reading can help: told to the user at this place."""

    message: str
    line: int
    column: int


def readings(text: str, client_name: str) -> list[Reading] | Refusal:
    """The likeliest first; the last one's errors are the ones to show."""
    return _readings(_plain(text), client_name)


def _readings(body: str, client_name: str) -> list[Reading] | Refusal:
    if _ends_with_return(body) and not _MAYBE_MODULE.search(body):
        # So does nearly every script, and the rest of it need not be looked at.
        return [_wrapped(body, "")]
    scanned = scan(body)
    statements = scanned.statements
    if not statements:
        return [_wrapped(body, "")]
    if any(statement.words[0] in ("import", "export") for statement in statements):
        return _module(body, scanned, client_name)
    # Functions may stand after the statement that calls them.
    last = next((one for one in reversed(statements) if not one.is_function), statements[-1])
    if len(statements) == 1 and (last.is_function or last.words[0] == "{"):
        return [_returning(body, last, called=True), _wrapped(body, "")]
    if call := _entry_call(body, scanned, client_name):
        return [_wrapped(body, call)]
    if last.is_expression:
        return [_returning(body, last, called=_is_function_like(body, last)), _wrapped(body, "")]
    return [_wrapped(body, "")]


def unfenced(text: str) -> str:
    """The first fenced block of JavaScript, at the lines where it stood; text without one as it is."""
    untagged = None
    for found in _FENCE.finditer(text):
        if untagged is None and _looks_like_code(text[: found.start()]):
            return text
        if found["language"].lower() in _LANGUAGES:
            return _at_its_lines(text, found)
        if untagged is None and not found["language"]:
            untagged = found
    return text if untagged is None else _at_its_lines(text, untagged)


def _at_its_lines(text: str, found: re.Match[str]) -> str:
    return "\n" * text.count("\n", 0, found.start("code")) + found["code"]


def _looks_like_code(text: str) -> bool:
    return text.count("`") % 2 == 1 or text.rstrip().endswith((";", "{", "}", "=", "(", ","))


def _plain(text: str) -> str:
    body = (unfenced(text) if "```" in text or "~~~" in text else text).replace("\r\n", "\n")
    if body.startswith("#!"):
        end = body.find("\n") % (len(body) + 1)
        body = " " * end + body[end:]
    return body


def _ends_with_return(body: str) -> bool:
    found = _LAST_LINE.search(body, max(len(body) - 400, 0))
    return found is not None and found[0].count("}") <= found[0].count("{")


def _wrapped(body: str, after: str) -> Reading:
    # The line break ends a comment that the text may end with.
    before = "(async()=>{"
    return Reading(source=f"{before}{body}{after}\n}})", prefix=len(before))


def _returning(body: str, last: Statement, *, called: bool) -> Reading:
    """With the last expression as the result; a function is only called where it is what was written."""
    before, into = "(async()=>{" if called else "[async()=>{", "return("
    line, column = _place(body, last.start)
    source = f"{before}{body[: last.start]}{into}{body[last.start : last.end]}){body[last.end :]}\n}}"
    return Reading(
        source=source + (")" if called else ",1]"),
        prefix=len(before),
        added=Added(line=line, column=column, width=len(into)),
    )


def _is_function_like(body: str, last: Statement) -> bool:
    text = body[last.start : last.end]
    return last.words[:1] in (["async"], ["function"]) or bool(_NAME.fullmatch(text) or _ARROW.match(text))


def _entry_call(body: str, scanned: Scanned, client_name: str) -> str:
    """`run` or `main`, or the only function among types, is called for the user who only defined it."""
    functions = [one for one in scanned.statements if one.is_function]
    for name in _ENTRIES:
        for statement in scanned.statements:
            if _defines(body, statement, name):
                used = _is_used(name, body, statement, scanned)
                return "" if used else f"\n;return {name}({client_name});"
    others = [one for one in scanned.statements if not one.is_function]
    if len(functions) == 1 and all(one.words[0] in ("interface", "type", "declare") for one in others):
        name = next(word for word in functions[0].words if word not in ("async", "function", "*"))
        return f"\n;return {name}({client_name});" if _NAME.fullmatch(name) else ""
    return ""


def _is_used(name: str, body: str, own: Statement, scanned: Scanned) -> bool:
    for found in re.finditer(rf"(?<![\w$.]){name}(?![\w$])", body):
        place = found.start()
        if not own.start <= place < own.end and not scanned.is_hidden(place):
            return True
    return False


def _defines(body: str, statement: Statement, name: str) -> bool:
    words = [word for word in statement.words if word not in ("export", "default", "async", "*")]
    if words[:2] == ["function", name]:
        return True
    if words[:2] not in (["const", name], ["let", name], ["var", name]):
        return False
    text = body[statement.start : statement.end]
    return "=>" in text or "function" in text


def _module(body: str, scanned: Scanned, client_name: str) -> list[Reading] | Refusal:
    """Without its imports and exports; each is replaced by as many letters, so columns stay."""
    pieces, at, default = [], 0, None
    for statement in scanned.statements:
        text = body[statement.start : statement.end]
        kept = text
        if statement.words[0] == "import" and (found := _IMPORT.match(text)):
            if not _is_needless(found, client_name):
                return _refused(body, statement, found["module"], client_name)
            kept = _blank(text)
        elif statement.words[0] == "export":
            kept, name = _unexported(text)
            default = name or default
        pieces += [body[at : statement.start], kept]
        at = statement.end
    plain = "".join([*pieces, body[at:]])
    if default is not None:
        call = f"\n;return typeof {default} === 'function' ? {default}({client_name}) : {default};"
        return [_wrapped(plain, call)]
    return [_wrapped(plain, "")] if plain == body else _readings(plain, client_name)


def _unexported(text: str) -> tuple[str, str | None]:
    """The statement without its `export`, and the name of the default where it says which."""
    if found := _EXPORT_DEFAULT.match(text):
        return f"var {_DEFAULT_NAME} =".ljust(len(found[0])) + text[found.end() :], _DEFAULT_NAME
    if found := _EXPORT_LIST.fullmatch(text):
        chosen = _AS_DEFAULT.search(found["names"])
        return _blank(text), chosen[1] if chosen else None
    return _EXPORTED.sub(lambda found: _blank(found[0]), text, count=1), None


def _refused(body: str, statement: Statement, module: str, client_name: str) -> Refusal:
    told = (
        f"'{module[:100]}' cannot be imported: a script has the global `{client_name}` and plain JavaScript,"
        " and no modules. Remove the import."
    )
    line, column = _place(body, statement.start)
    return Refusal(message=told, line=line, column=column)


def _place(body: str, at: int) -> tuple[int, int]:
    return body.count("\n", 0, at) + 1, at - body.rfind("\n", 0, at)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def _is_needless(found: re.Match[str], client_name: str) -> bool:
    """Only types, or the client, which is there anyway."""
    if found["type"]:
        return True
    names = [name.strip() for name in found["names"].strip().strip("{}").split(",") if name.strip()]
    return bool(names) and all(name.startswith("type ") or name == client_name for name in names)
