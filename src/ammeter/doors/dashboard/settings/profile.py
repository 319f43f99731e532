"""`/settings/profile`: who one is, one's name and password, and where one is signed in."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from ammeter.base.errors import AmmeterError, Conflict, Detail, RateLimited, ValidationFailed
from ammeter.doors.dashboard.attempts import count_attempt
from ammeter.doors.dashboard.entering import keep_session
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.settings.tabs import Tab, tabs
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.doors.http.errors import STATUS_OF
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import profile, sessions
from ammeter.features.orgs.model import SignedIn
from ammeter.features.orgs.profile import NewPassword
from ammeter.features.orgs.sessions import Lifetime, OwnSession

PROFILE_PATH = "/settings/profile"
# Longer than any password may be; nobody has the server hash a whole form.
_MOST_TYPED = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilePage:
    tabs: tuple[Tab, ...]
    me: SignedIn
    has_password: bool
    elsewhere: str
    """What the button to the sign-in service says; empty where there is none."""
    sessions: tuple[OwnSession, ...]
    name_form: Form
    password_form: Form

    @property
    def others(self) -> int:
        return sum(not each.is_this for each in self.sessions)


async def show(visit: Visit) -> Response:
    return await _show(visit)


async def rename(visit: Visit) -> Response:
    form = await visit.form()
    try:
        name = await visit.write(_rename, form.text("name"))
    except ValidationFailed as fault:
        return await _show(visit, name_form=form.refused(fault), status=422)
    return visit.go(PROFILE_PATH, said=f"You are called {name} now.")


async def change_password(visit: Visit) -> Response:
    form = await visit.form()
    current, new = form.raw("current")[:_MOST_TYPED], form.raw("password")[:_MOST_TYPED]
    try:
        if form.raw("password") != form.raw("repeated"):
            raise ValidationFailed([Detail(path="$.repeated", message="this is not the same password")])
        await visit.house.db.run(
            count_attempt, visit.house, visit.request, visit.signed_in.email, "Too many attempts."
        )
        checked = await visit.read(_check, current, new)
        token = await visit.write(_change, checked)
    except (ValidationFailed, Conflict, RateLimited) as fault:
        return await _refused(visit, form, fault)
    response = visit.go(
        PROFILE_PATH, said="Your password is changed, and you are signed out everywhere else."
    )
    keep_session(visit.house, visit.request, response, token)
    return response


async def sign_out_others(visit: Visit) -> Response:
    ended = await visit.write(_end_others)
    told = "You were signed in nowhere else." if not ended else "You are signed out everywhere else."
    return visit.go(PROFILE_PATH, said=told)


async def _refused(visit: Visit, form: Form, fault: AmmeterError) -> Response:
    status = 422 if isinstance(fault, ValidationFailed) else STATUS_OF[fault.code]
    response = await _show(visit, password_form=form.refused(fault), status=status)
    if isinstance(fault, RateLimited):
        response.headers["retry-after"] = str(fault.retry_after_s)
    return response


async def _show(
    visit: Visit, *, name_form: Form | None = None, password_form: Form | None = None, status: int = 200
) -> Response:
    has_password, own = await visit.read(_read, visit.house.session_life)
    settings = visit.house.settings
    page = ProfilePage(
        tabs=tabs(visit),
        me=visit.signed_in,
        has_password=has_password,
        elsewhere=settings.oidc_label if visit.house.single_sign_on else "",
        sessions=tuple(own),
        name_form=name_form or Form(),
        password_form=password_form or Form(),
    )
    return visit.page("settings/templates/profile.html", page, title="Your profile", status=status)


def _read(tx: Tx, me: Me, life: Lifetime) -> tuple[bool, list[OwnSession]]:
    return profile.has_password(tx, me.signed_in), sessions.list_own(tx, me.signed_in, life)


def _rename(tx: Tx, me: Me, name: str) -> str:
    return profile.rename(tx, me.actor, me.signed_in, name)


def _check(tx: Tx, me: Me, current: str, new: str) -> NewPassword:
    return profile.check_password(tx, me.signed_in, current=current, new=new)


def _change(tx: Tx, me: Me, new: NewPassword) -> str:
    return profile.change_password(tx, me.actor, me.signed_in, new)


def _end_others(tx: Tx, me: Me) -> int:
    return sessions.end_others(tx, me.actor, me.signed_in)


VIEWS = (
    View(path=PROFILE_PATH, handle=show),
    View(path=f"{PROFILE_PATH}/name", method="POST", handle=rename),
    View(path=f"{PROFILE_PATH}/password", method="POST", handle=change_password),
    View(path=f"{PROFILE_PATH}/sign-out-others", method="POST", handle=sign_out_others),
)
