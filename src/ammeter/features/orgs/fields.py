"""What names, slugs, addresses and passwords may look like: once, for every door and command."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, StringConstraints, TypeAdapter, ValidationError

from ammeter.base.errors import Detail, ValidationFailed
from ammeter.base.ids import is_id

# Visible text on one line: no control characters, no line separators, no blank at either end.
_CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_LINE = rf"^[^\s{_CONTROLS}]([^{_CONTROLS}]*[^\s{_CONTROLS}])?$"


def _no_id(slug: str) -> str:
    # Whatever has a slug is found by its slug or its id; one must never be another's.
    if is_id(slug):
        raise ValueError("a slug is not written as an id is")
    return slug


Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=_LINE)]
Slug = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"), AfterValidator(_no_id)
]
Email = Annotated[
    str,
    StringConstraints(max_length=254, pattern=r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$"),
    AfterValidator(str.lower),
]
Password = Annotated[str, StringConstraints(min_length=12, max_length=256)]
SecretName = Annotated[str, StringConstraints(max_length=64, pattern=r"^[A-Z][A-Z0-9_]*$")]
SecretValue = Annotated[str, StringConstraints(min_length=1, max_length=16_384)]

_EXPLAINED: dict[str, str] = {
    "$.name": "a name is 1 to 200 visible characters on one line",
    "$.slug": "a slug is 1 to 63 lower-case letters, digits and inner hyphens, and no id",
    "$.email": "this is not an e-mail address",
    "$.password": "a password has 12 to 256 characters",
    "$.secretName": "a secret's name is at most 64 upper-case letters, digits and _, a letter first",
    "$.value": "a secret's value has 1 to 16,384 characters",
}


def checked(kind: Any, value: str, path: str) -> str:
    """`value` as `kind` has it, or ValidationFailed naming `path`; for values that no model carried."""
    try:
        result: str = TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        message = _EXPLAINED.get(path, error.errors()[0]["msg"])
        raise ValidationFailed([Detail(path=path, message=message)]) from None
    return result
