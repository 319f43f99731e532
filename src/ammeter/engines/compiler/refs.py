"""References within one document. Another document is never read: such a reference is a finding.

`Refs.follow` gives the object that a chain of local references ends at, and where it stands; None where
it leads out of the document, nowhere, or round in a circle.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from ammeter.engines.compiler.findings import Findings

_MAX_CHAIN = 50
_INDEX = re.compile(r"[0-9]{1,9}")


class Refs:
    def __init__(self, document: dict[str, Any], findings: Findings) -> None:
        self._document = document
        self._findings = findings

    def follow(self, value: Any, where: str) -> tuple[dict[str, Any], str] | None:
        """An object and its pointer, after any references; None with a finding otherwise."""
        seen: list[str] = []
        here = where
        while isinstance(value, dict) and isinstance(value.get("$ref"), str):
            target = value["$ref"]
            if target in seen or len(seen) >= _MAX_CHAIN:
                told = f"The reference {target[:200]!r} leads back to itself."
                self._findings.warning("cyclic_ref", where, told)
                return None
            seen.append(target)
            found = self.find(target, where)
            if found is None:
                return None
            value, here = found
        if not isinstance(value, dict):
            self._findings.warning("not_an_object", where, "An object is expected here.")
            return None
        return value, here

    def find(self, target: str, where: str) -> tuple[Any, str] | None:
        """What a local reference names, and its pointer."""
        if not target.startswith("#"):
            self._findings.warning(
                "external_ref",
                where,
                f"The reference {target[:200]!r} leads out of the document; it is not followed.",
            )
            return None
        value: Any = self._document
        path = unquote(target[1:])
        head, *steps = path.split("/")
        is_found = not head
        for step in steps:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                value = value[key]
            elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
                value = value[int(key)]
            else:
                is_found = False
                break
        if not is_found:
            self._findings.warning(
                "unresolved_ref", where, f"The reference {target[:200]!r} leads nowhere in this document."
            )
            return None
        return value, path

    def component_schemas(self) -> list[str]:
        components = self._document.get("components")
        found = components.get("schemas") if isinstance(components, dict) else None
        return list(found) if isinstance(found, dict) else []
