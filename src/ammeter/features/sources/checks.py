"""What may be said of a new source, beyond the shape that the door has checked: a draft in, problems by JSON
path out. Nothing that looks like a credential is let through: references stand in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from ammeter.base.errors import Detail
from ammeter.base.text import did_you_mean
from ammeter.engines.compiler.credentials import looks_like_credential
from ammeter.engines.egress.base_url import BadUrl, parse_url
from ammeter.engines.egress.guard import ForbiddenAddress
from ammeter.engines.redact.names import meaning
from ammeter.features.secrets.references import REFERENCE
from ammeter.features.sources.model import AuthType, TargetKind, TransportType
from ammeter.features.sources.targets import Place, own_slug

_ENVIRONMENT = re.compile(r"[a-z0-9-]{1,32}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HOST = re.compile(r"(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?|\[[0-9a-f:]+\](:[0-9]{1,5})?")
_NPM = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*")
_PYPI = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!_-]{0,63}")

_CONFIG_KEYS: dict[AuthType, frozenset[str]] = {
    "none": frozenset(),
    "bearer_token": frozenset({"header_name", "prefix", "secret_ref"}),
    "api_key_header": frozenset({"header_name", "prefix", "secret_ref"}),
    "basic": frozenset({"username_ref", "password_ref"}),
    "oauth2_client_credentials": frozenset({"token_url", "client_id", "client_secret_ref", "scopes"}),
}
_NEEDED = {"oauth2_client_credentials": ("token_url", "client_id")}
_HTTP_KEYS = frozenset({"headers", "timeoutSeconds"})
_PROCESS_KEYS = frozenset({"command", "package", "args", "env", "workingFiles"})
_HOW = (
    "this looks like a credential, and those are not kept here; store the value with"
    " PUT /org/secrets/NAME and write "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSource:
    """What a person asks for, in the shape of the request."""

    name: str
    transport_type: TransportType = "streamable_http"
    target_kind: TargetKind = "mcp"
    base_url: str | None = None
    connection_config: Mapping[str, Any] = field(default_factory=dict)
    network_policy: Mapping[str, Any] = field(default_factory=dict)
    environment: str = "production"
    auth_name: str = "Default"
    auth_type: AuthType = "none"
    auth_config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_hosted(self) -> bool:
        return self.transport_type == "stdio_hosted" or self.target_kind == "cli"


def problems(new: NewSource, place: Place) -> list[Detail]:
    found = [*_environment(new)]
    found += [*_process(new)] if new.is_hosted else [*_http(new, place)]
    return [*found, *_auth(new, place)]


def _environment(new: NewSource) -> Iterator[Detail]:
    if not _ENVIRONMENT.fullmatch(new.environment):
        yield Detail(
            path="$.environment", message="an environment is 1 to 32 lower-case letters, digits and hyphens"
        )


def _http(new: NewSource, place: Place) -> Iterator[Detail]:
    if new.base_url is None:
        yield Detail(path="$.baseUrl", message=f"this is needed for the transport {new.transport_type}")
    else:
        yield from _url(new.base_url, "$.baseUrl", place)
    for name in sorted(new.connection_config.keys() & _PROCESS_KEYS):
        yield Detail(
            path=f"$.connectionConfig.{name}",
            message="this is for sources that run as a process (transportType stdio_hosted, targetKind cli)",
        )
    if new.network_policy.get("mode", "none") != "none" or new.network_policy.get("allow"):
        yield Detail(
            path="$.networkPolicy", message="this is for sources that run as a process; leave it out"
        )
    for name, value in (new.connection_config.get("headers") or {}).items():
        path = f"$.connectionConfig.headers.{name}"
        if not _HEADER.fullmatch(name):
            yield Detail(path=path, message="this is not the name of a header")
        elif not value.isprintable():
            yield Detail(path=path, message="a header's value is one line of visible characters")
        elif _is_credential(name, value):
            yield Detail(path=path, message=f'{_HOW}"secret:NAME" here, or use authProfile')


def _url(text: str, path: str, place: Place) -> Iterator[Detail]:
    try:
        url = parse_url(text)
    except BadUrl as fault:
        yield Detail(path=path, message=f"{fault}; write it as https://host/path, without user and password")
        return
    if url.query and (looks_like_credential(url.query) or _named_in_query(url.query)):
        yield Detail(path=path, message=f"{_HOW}a secret_ref into authProfile.authConfig")
    if own_slug(text, place.public_url) is not None:
        return
    try:
        place.guard.check_literal(url.host)
        if url.host == "localhost" or url.host.endswith(".localhost"):
            place.guard.check(url.host, "127.0.0.1")
    except ForbiddenAddress as fault:
        yield Detail(path=path, message=str(fault))


def _named_in_query(query: str) -> bool:
    return any(meaning(part.partition("=")[0]) for part in query.split("&") if part.partition("=")[2])


def _process(new: NewSource) -> Iterator[Detail]:
    told = new.connection_config
    if not told.get("command") and not told.get("package"):
        yield Detail(path="$.connectionConfig", message="a process needs a command or a package")
    if new.base_url is not None:
        yield Detail(path="$.baseUrl", message="a process has no base URL; leave it out")
    for name in sorted(told.keys() & _HTTP_KEYS):
        yield Detail(path=f"$.connectionConfig.{name}", message="this is for sources that are met over HTTP")
    yield from _package(told.get("package") or {})
    for path, word in [
        *((f"$.connectionConfig.command[{i}]", word) for i, word in enumerate(told.get("command") or ())),
        *((f"$.connectionConfig.args[{i}]", word) for i, word in enumerate(told.get("args") or ())),
    ]:
        if "\0" in word:
            yield Detail(path=path, message="a NUL character is not allowed")
        elif looks_like_credential(word):
            yield Detail(path=path, message=f'{_HOW}{{"secretRef": "secret:NAME"}} into env instead')
    yield from _variables(told.get("env") or {})
    yield from _files(told.get("workingFiles") or {})
    yield from _network(new.network_policy)


def _package(package: Mapping[str, Any]) -> Iterator[Detail]:
    if not package:
        return
    pattern = _NPM if package["registry"] == "npm" else _PYPI
    if len(package["name"]) > 200 or not pattern.fullmatch(package["name"]):
        yield Detail(
            path="$.connectionConfig.package.name",
            message=f"this is not the name of a package of {package['registry']}",
        )
    version = package.get("version")
    if version is not None and not _VERSION.fullmatch(version):
        yield Detail(
            path="$.connectionConfig.package.version",
            message="give one exact version such as 1.4.2, or none for the newest",
        )


def _variables(env: Mapping[str, Any]) -> Iterator[Detail]:
    for name, value in env.items():
        path = f"$.connectionConfig.env.{name}"
        if not _VARIABLE.fullmatch(name):
            yield Detail(path=path, message="this is not the name of an environment variable")
        elif isinstance(value, Mapping):
            if not REFERENCE.fullmatch(value["secretRef"]):
                yield Detail(path=f"{path}.secretRef", message="a reference is secret:NAME or env:NAME")
        elif "\0" in value:
            yield Detail(path=path, message="a NUL character is not allowed")
        elif _is_credential(name, value):
            yield Detail(path=path, message=f'{_HOW}{{"secretRef": "secret:NAME"}} here')


def _files(files: Mapping[str, str]) -> Iterator[Detail]:
    for name in files:
        path = PurePosixPath(name)
        if not name or "\0" in name or path.is_absolute() or ".." in path.parts or len(name) > 255:
            yield Detail(
                path=f"$.connectionConfig.workingFiles.{name}", message="a path within the working folder"
            )


def _network(policy: Mapping[str, Any]) -> Iterator[Detail]:
    allow = policy.get("allow") or ()
    mode = policy.get("mode", "none")
    if mode == "allowlist" and not allow:
        yield Detail(path="$.networkPolicy.allow", message="name at least one host, as host or host:port")
    if mode != "allowlist" and allow:
        yield Detail(path="$.networkPolicy.allow", message=f"this goes with the mode allowlist, not {mode}")
    for i, host in enumerate(allow):
        if not _HOST.fullmatch(host):
            yield Detail(path=f"$.networkPolicy.allow[{i}]", message="write it as host or host:port")


def _auth(new: NewSource, place: Place) -> Iterator[Detail]:
    base = "$.authProfile.authConfig"
    if new.is_hosted and new.auth_type != "none":
        yield Detail(
            path="$.authProfile.authType",
            message="a process takes its credentials from connectionConfig.env; use none here",
        )
    for name, value in new.auth_config.items():
        yield from _auth_field(new.auth_type, name, value, f"{base}.{name}", place)
    for name in _NEEDED.get(new.auth_type, ()):
        if name not in new.auth_config:
            yield Detail(path=f"{base}.{name}", message=f"this is needed for {new.auth_type}")


def _auth_field(auth_type: AuthType, name: str, value: object, path: str, place: Place) -> Iterator[Detail]:
    known = _CONFIG_KEYS[auth_type]
    if name not in known:
        told = f"unknown field for {auth_type}.{did_you_mean(name, known)}"
        credential = f'{_HOW}"secret_ref": "secret:NAME"'
        yield Detail(path=path, message=credential if _secret_field(name, value) else told)
    elif name == "scopes":
        if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
            yield Detail(path=path, message="scopes are a list of texts")
    elif not isinstance(value, str) or not value:
        yield Detail(path=path, message="this is a text")
    elif name.endswith("_ref"):
        if not REFERENCE.fullmatch(value):
            yield Detail(path=path, message="a reference is secret:NAME or env:NAME, not the value itself")
    elif name == "token_url":
        yield from _url(value, path, place)
    elif name == "header_name":
        if not _HEADER.fullmatch(value):
            yield Detail(path=path, message="this is not the name of a header")
    elif looks_like_credential(value) or not value.isprintable():
        yield Detail(path=path, message=f'{_HOW}"secret_ref": "secret:NAME"')


def _secret_field(name: str, value: object) -> bool:
    return meaning(name) is not None or (isinstance(value, str) and looks_like_credential(value))


def _is_credential(name: str, value: str) -> bool:
    return not REFERENCE.fullmatch(value) and bool(value) and _secret_field(name, value)
