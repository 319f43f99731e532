"""What a person has sent with a form, and what was wrong with it, field by field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request

from ammeter.base.errors import AmmeterError, Detail, ValidationFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Empty for a page that is opened; filled, perhaps with problems, for one that was sent."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    problem: str = ""
    """Of the form as a whole."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """By field."""

    def text(self, name: str, default: str = "") -> str:
        """One line or many, without the blanks around it; browsers send line ends as CRLF."""
        given = self.values.get(name)
        return given[0].replace("\r\n", "\n").strip() if given else default

    def raw(self, name: str) -> str:
        """As it was typed: for passwords and secrets."""
        given = self.values.get(name)
        return given[0] if given else ""

    def all(self, name: str) -> list[str]:
        return list(self.values.get(name, ()))

    def flag(self, name: str) -> bool:
        return bool(self.values.get(name))

    def refused(self, fault: AmmeterError, fields: Mapping[str, str] | None = None) -> Form:
        """The same form with what was wrong. `fields` says which field a path of the fault means; without
        it `$.name` is the field `name`. What belongs to no field is said above the form."""
        problems: dict[str, str] = {}
        rest: list[Detail] = []
        for detail in fault.details:
            name = (fields or {}).get(detail.path) or detail.path.removeprefix("$.")
            if name in self.values or name in (fields or {}).values():
                problems.setdefault(name, _sentence(detail.message))
            else:
                rest.append(detail)
        if isinstance(fault, ValidationFailed):
            told = " ".join(f"{detail.path}: {_sentence(detail.message)}" for detail in rest)
        else:
            told = " ".join([fault.message, *(f"{d.path}: {_sentence(d.message)}" for d in rest[:20])])
        return replace(self, problem=told, problems=problems)


async def read_form(request: Request) -> Form:
    """Fields and files of the body; a file counts only where one was chosen."""
    try:
        return await _read(request)
    except (MultiPartException, HTTPException, UnicodeDecodeError):
        message = "the form cannot be read; open its page again"
        raise ValidationFailed([Detail(path="form", message=message)]) from None


async def _read(request: Request) -> Form:
    values: dict[str, list[str]] = {}
    files: dict[str, bytes] = {}
    async with request.form(max_files=4, max_fields=200, max_part_size=8 * 1024 * 1024) as sent:
        for name, value in sent.multi_items():
            if isinstance(value, UploadFile):
                if value.filename:
                    files[name] = await value.read()
            else:
                # Nobody types a NUL, and PostgreSQL takes none.
                values.setdefault(name, []).append(value.replace("\0", ""))
    return Form(values=values, files=files)


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")
