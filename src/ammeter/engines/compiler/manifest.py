"""What an owner says about a bundle beside its description: names, base URLs, auth, tags, limits, policy.

Comes in: the `manifest` of an upload, untrusted. Goes out: a `Manifest` whose defaults are filled in, or
every fault with its JSON path. Credentials are references only (`secret:NAME`, `env:NAME`); a value that
looks like one is refused and never repeated in a message. Absent: reading what a reference names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from ammeter.base.errors import Detail
from ammeter.engines.compiler.manifest_fields import ManifestForm, details_of

TagSource = Literal["header", "static", "jsdoc"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseUrl:
    url: str
    """Without a slash at the end."""
    environment: str | None = None
    """None: for every environment that has none of its own."""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAuth:
    type: Literal["none"] = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerAuth:
    secret_ref: str
    prefix: str = "Bearer"
    type: Literal["bearer"] = "bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderAuth:
    header_name: str
    secret_ref: str
    prefix: str = ""
    type: Literal["header"] = "header"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAuth:
    query_name: str
    secret_ref: str
    type: Literal["query"] = "query"


@dataclass(frozen=True, slots=True, kw_only=True)
class BasicAuth:
    """One of `username` and `username_ref` is given; no `secret_ref`: an empty password."""

    username: str | None = None
    username_ref: str | None = None
    secret_ref: str | None = None
    type: Literal["basic"] = "basic"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentialsAuth:
    """One of `client_id` and `client_id_ref` is given; `secret_ref` is the client secret."""

    token_url: str
    secret_ref: str
    client_id: str | None = None
    client_id_ref: str | None = None
    scopes: tuple[str, ...] = ()
    audience: str | None = None
    client_authentication: Literal["basic", "body"] = "basic"
    type: Literal["oauth2_client_credentials"] = "oauth2_client_credentials"


Auth = NoAuth | BearerAuth | HeaderAuth | QueryAuth | BasicAuth | ClientCredentialsAuth


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyticsTag:
    name: str
    source: TagSource
    value: str
    """The header's name, the text itself, or the JSDoc tag without its @."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    max_calls: int = 50
    memory_mb: int = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    read_only: bool = False
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    vendor_name: str | None = None
    client_name: str = "client"
    base_urls: tuple[BaseUrl, ...] = ()
    """Empty: the servers of the description are used."""
    auth: Auth = field(default_factory=NoAuth)
    analytics_tags: tuple[AnalyticsTag, ...] = ()
    script_timeout_env: str | None = None
    limits: Limits = field(default_factory=Limits)
    policy: Policy = field(default_factory=Policy)

    def base_url_for(self, environment: str) -> str | None:
        """That environment's own URL, else the one for all; None where the manifest tells neither."""
        by_environment = {base.environment: base.url for base in self.base_urls}
        return by_environment.get(environment, by_environment.get(None))

    @property
    def secret_refs(self) -> tuple[str, ...]:
        names = ("secret_ref", "username_ref", "client_id_ref")
        return tuple(ref for name in names if (ref := getattr(self.auth, name, None)))


def check(value: Any, *, path: str = "$.manifest") -> tuple[Manifest | None, tuple[Detail, ...]]:
    """The manifest, or None and every fault. No manifest at all is one of defaults."""
    if value is None:
        return Manifest(), ()
    if not isinstance(value, Mapping):
        return None, (Detail(path=path, message="an object is expected"),)
    try:
        form = ManifestForm.model_validate(dict(value))
    except ValidationError as error:
        return None, details_of(error, path)
    return _resolved(form), ()


def to_json(manifest: Manifest) -> dict[str, Any]:
    """The manifest as it is written into a bundle; `check` reads it back."""
    auth = {
        _camel(name): list(value) if isinstance(value, tuple) else value
        for name in manifest.auth.__slots__
        if (value := getattr(manifest.auth, name)) not in (None, ())
    }
    urls = [
        {key: value for key, value in _pairs(base) if value not in (None, "")} for base in manifest.base_urls
    ]
    tags = {tag.name: f"{tag.source}:{tag.value}" for tag in manifest.analytics_tags}
    made: dict[str, Any] = {
        "vendorName": manifest.vendor_name,
        "clientName": manifest.client_name,
        "baseUrls": urls or None,
        "auth": auth,
        "analyticsTags": tags or None,
        "scriptTimeoutEnv": manifest.script_timeout_env,
        "limits": dict(_pairs(manifest.limits)),
        "policy": {"readOnly": manifest.policy.read_only, "deny": list(manifest.policy.deny)},
    }
    return {key: value for key, value in made.items() if value is not None}


def _resolved(form: ManifestForm) -> Manifest:
    urls = [BaseUrl(url=form.base_url)] if form.base_url else []
    urls += [
        BaseUrl(url=base.url, environment=base.environment, description=base.description or "")
        for base in form.base_urls or ()
    ]
    tags = [(name, *value.split(":", 1)) for name, value in (form.analytics_tags or {}).items()]
    limits, policy = form.limits, form.policy
    return Manifest(
        vendor_name=form.vendor_name,
        client_name=form.client_name,
        base_urls=tuple(urls),
        auth=_auth(form),
        analytics_tags=tuple(
            AnalyticsTag(name=name, source=source, value=value)  # type: ignore[arg-type]
            for name, source, value in tags
        ),
        script_timeout_env=form.script_timeout_env,
        limits=Limits(max_calls=limits.max_calls, memory_mb=limits.memory_mb) if limits else Limits(),
        policy=Policy(read_only=policy.read_only, deny=tuple(policy.deny)) if policy else Policy(),
    )


def _auth(form: ManifestForm) -> Auth:
    if form.auth is None:
        return NoAuth()
    given = form.auth.model_dump(exclude_none=True)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    made: Auth = _AUTH_KINDS[form.auth.type](**values)
    return made


_AUTH_KINDS: dict[str, Any] = {
    "none": NoAuth,
    "bearer": BearerAuth,
    "header": HeaderAuth,
    "query": QueryAuth,
    "basic": BasicAuth,
    "oauth2_client_credentials": ClientCredentialsAuth,
}


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return [(_camel(name), getattr(value, name)) for name in value.__slots__]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
