"""How a gate ends: with what it found, or with whose fault it is that it found nothing.

0 passed, 1 not passed, 2 wrong use, 3 infrastructure. A release is stopped by 1 alone: no fault of the
network, the server, a source or the command line ever gives it.
"""

from __future__ import annotations

from typing import Any

from ammeter.base.errors import AmmeterError
from ammeter.cli.remote import Refused

PASSED, NOT_PASSED, WRONG_USE, INFRASTRUCTURE = 0, 1, 2, 3

_OF_STATUS = {"pass": PASSED, "fail": NOT_PASSED}
# The request was wrong, and would be at every other time: a key, an id, a field.
_WRONG = frozenset({400, 401, 403, 404, 405, 406, 409, 413, 415, 422})


class Infrastructure(AmmeterError):
    """The gate could not be carried out; nothing is known about what was to be tested."""

    code = "infrastructure"


def exit_code_of(suite_run: dict[str, Any]) -> int:
    """What could not be decided is nobody's failure, and no pass either."""
    return _OF_STATUS.get(suite_run["status"], INFRASTRUCTURE)


def exit_code_of_fault(error: AmmeterError) -> int:
    if isinstance(error, Refused):
        return WRONG_USE if error.status in _WRONG else INFRASTRUCTURE
    return WRONG_USE if error.code == "settings" else INFRASTRUCTURE
