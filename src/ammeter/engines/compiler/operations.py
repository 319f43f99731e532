"""From a document to its operations: parameters, bodies and answers as scripts will use them.

In comes an OpenAPI 3 document; out goes an Api without sdk names. An operation that cannot be called as it
is described is left out, with an error finding that names it; what can be mended is mended, with a
warning. Nothing is left out silently: operations in the document = operations out + findings.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from ammeter.engines.compiler.bodies import read_body, read_responses
from ammeter.engines.compiler.findings import Findings, pointer, shown
from ammeter.engines.compiler.model import Api, Level, Method, Operation
from ammeter.engines.compiler.parameters import read_parameters
from ammeter.engines.compiler.refs import Refs
from ammeter.engines.compiler.schemas import Schemas

METHODS: tuple[Method, ...] = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
_PLACE = {"parameters", "servers", "summary", "description", "$ref"}
_WORD = re.compile(r"[^A-Za-z0-9]+")
_MAX_OPERATIONS = 20_000


def read_api(document: dict[str, Any], findings: Findings) -> Api:
    refs = Refs(document, findings)
    reader = _Reader(document, refs, Schemas(refs, findings), findings)
    operations = reader.operations()
    info = document.get("info") if isinstance(document.get("info"), dict) else {}
    assert isinstance(info, dict)
    return Api(
        title=_text(info.get("title")),
        version=_text(info.get("version")),
        description=_text(info.get("description")),
        servers=reader.servers(document, ""),
        operations=operations,
        schemas=reader.schemas.named(),
        security_schemes=reader.security_schemes(),
        tag_descriptions={
            str(tag["name"]): _text(tag.get("description"))
            for tag in _list(document.get("tags"))
            if isinstance(tag, dict) and "name" in tag
        },
    )


def extensions(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each operation's own object in the document, by the pointer that `read_api` gives the operation."""
    refs = Refs(document, Findings())
    paths = document.get("paths")
    found: dict[str, dict[str, Any]] = {}
    for path, given in paths.items() if isinstance(paths, dict) else ():
        where = pointer("paths", path)
        if (followed := refs.follow(given, where)) is None:
            continue
        item = _beside(followed[0], given)
        for key in item:
            if _method(key, item) and (raw := refs.follow(item[key], where)) is not None:
                found[f"{where}/{key}"] = raw[0]
    return found


class _Reader:
    def __init__(self, document: dict[str, Any], refs: Refs, schemas: Schemas, findings: Findings) -> None:
        self._document = document
        self._refs = refs
        self.schemas = schemas
        self._findings = findings

    def operations(self) -> tuple[Operation, ...]:
        paths = self._document.get("paths")
        if not isinstance(paths, dict):
            self._findings.error(
                "no_paths", "/paths", "The description has no paths, so there is nothing to call."
            )
            return ()
        found: list[Operation] = []
        for path, item in paths.items():
            if path.startswith("x-"):
                continue
            found += self._path(path, item)
            if len(found) > _MAX_OPERATIONS:
                message = (
                    f"The description has more than {_MAX_OPERATIONS:,} operations; the rest is left out."
                )
                self._findings.error("too_many_operations", pointer("paths", path), message)
                break
        return _with_ids(found, self._findings)

    def _path(self, path: str, item: Any) -> list[Operation]:
        where = pointer("paths", path)
        followed = self._refs.follow(item, where)
        if followed is None:
            self._findings.error(
                "bad_path_item", where, f"{path!r} cannot be read; its operations are left out."
            )
            return []
        item = _beside(followed[0], item)
        found: list[Operation] = []
        for key in item:
            if (method := _method(key, item)) is not None:
                operation = self._operation(method, path, item, item[key], f"{where}/{key}")
                if operation is not None:
                    found.append(operation)
            elif key not in _PLACE and not key.startswith("x-"):
                told = f"{shown(key)} is no method that can be called; {path!r} keeps its others."
                level: Level = "error" if isinstance(item[key], dict) else "warning"
                self._findings.add(level, "unknown_method", where + pointer(key), told)
        return found

    def _operation(
        self, method: Method, path: str, item: dict[str, Any], given: Any, where: str
    ) -> Operation | None:
        label = f"{method.upper()} {path}"
        followed = self._refs.follow(given, where)
        if followed is None:
            self._findings.error("bad_operation", where, f"{label} is not an object; it is left out.")
            return None
        raw, _ = followed
        path = self._template(path, where)
        parameters = read_parameters(raw, item, path, where, self._refs, self.schemas, self._findings)
        if parameters is None:
            self._findings.error(
                "operation_left_out", where, f"{label} is left out: it needs a parameter that cannot be read."
            )
            return None
        taken = {parameter.arg for parameter in parameters}
        body = read_body(raw, where, taken, self._refs, self.schemas, self._findings)
        if body == "unreadable":
            self._findings.error(
                "operation_left_out", where, f"{label} is left out: it needs a body that cannot be read."
            )
            return None
        return Operation(
            id=_text(raw.get("operationId")),
            method=method,
            path=path,
            pointer=where,
            group=(),
            name="",
            summary=_text(raw.get("summary")) or _text(item.get("summary")),
            description=_text(raw.get("description")) or _text(item.get("description")),
            tags=tuple(tag for tag in _list(raw.get("tags")) if isinstance(tag, str) and tag.strip()),
            deprecated=raw.get("deprecated") is True,
            parameters=parameters,
            body=body,
            responses=read_responses(raw, where, self._refs, self.schemas, self._findings),
            security=self._security(raw),
            servers=self.servers(raw, where) or self.servers(item, where.rpartition("/")[0]),
        )

    def _template(self, path: str, where: str) -> str:
        if path.startswith("/"):
            return path
        self._findings.warning(
            "path_without_slash", where, f"The path {path!r} should begin with a slash; one is added."
        )
        return "/" + path

    def _security(self, raw: dict[str, Any]) -> tuple[tuple[str, ...], ...]:
        needed = raw.get("security", self._document.get("security"))
        return tuple(tuple(sorted(map(str, part))) for part in _list(needed) if isinstance(part, dict))

    def security_schemes(self) -> dict[str, Any]:
        components = self._document.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, dict) else None
        if not isinstance(schemes, dict):
            return {}
        followed = {
            str(name): self._refs.follow(scheme, pointer("components", "securitySchemes", name))
            for name, scheme in schemes.items()
        }
        return {name: found[0] for name, found in followed.items() if found is not None}

    def servers(self, holder: dict[str, Any], where: str) -> tuple[str, ...]:
        urls: list[str] = []
        for i, server in enumerate(_list(holder.get("servers"))):
            if isinstance(server, dict) and isinstance(server.get("url"), str):
                urls.append(_filled(server))
            else:
                self._findings.warning(
                    "bad_server", f"{where}/servers/{i}", "A server needs a url; this one is left out."
                )
        return tuple(urls)


def _beside(target: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """A path's item: what stands beside a reference belongs to it as well."""
    return {**target, **{key: value for key, value in given.items() if key != "$ref"}}


def _method(key: str, item: dict[str, Any]) -> Method | None:
    method = key.lower()
    return method if method in METHODS and (key == method or method not in item) else None


def _with_ids(operations: list[Operation], findings: Findings) -> tuple[Operation, ...]:
    """Every operation with an id of its own. Of several that claim one, the shortest path keeps it: order
    in the document plays no part."""
    claimed = Counter(operation.id for operation in operations)
    ids: dict[str, str] = {}
    holders: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for operation in sorted(operations, key=lambda o: (not o.id, len(o.path), o.path, o.method)):
        long = "_".join([operation.method, *(word for word in _WORD.split(operation.path) if word)])
        name = operation.id or long
        if operation.id and claimed[name] > 1 and name in holders:
            told = f"The operationId {shown(name)} is also that of {holders[name]}; the path is added here."
            findings.warning("duplicate_operation_id", operation.pointer, told)
            name = f"{name}_{long}"
        unique = name
        while unique in holders:
            numbers[name] += 1
            unique = f"{name}_{numbers[name] + 1}"
        holders[unique] = operation.pointer
        ids[operation.pointer] = unique
    return tuple(replace(operation, id=ids[operation.pointer]) for operation in operations)


def _filled(server: dict[str, Any]) -> str:
    """A server's URL with the defaults of its variables."""
    url: str = server["url"].strip()
    variables = server.get("variables")
    for name, variable in variables.items() if isinstance(variables, dict) else ():
        if isinstance(variable, dict) and isinstance(variable.get("default"), str | int):
            url = url.replace("{" + str(name) + "}", str(variable["default"]))
    return url.rstrip("/") if url != "/" else url


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
