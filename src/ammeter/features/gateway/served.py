"""What a bundle means at run time: its operations by name, the base URL of its environment and its manifest
with defaults filled in. Made once per bundle and environment, shared by every script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ammeter.engines.compiler import manifest as manifests
from ammeter.engines.compiler.bundle import Bundle, DamagedBundle
from ammeter.engines.compiler.manifest import Auth, HeaderAuth, Manifest, QueryAuth
from ammeter.engines.compiler.model import Api, Operation, Parameter
from ammeter.engines.egress.base_url import BadUrl, Url, parse_base

# Set by the client itself or by the credentials; some could break the framing of a request.
_OURS = frozenset(
    {
        *("host", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection"),
        *("upgrade", "te", "trailer", "keep-alive", "expect", "cookie", "authorization", "accept-encoding"),
        *("proxy-authorization", "proxy-connection", "proxy-authenticate"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedApi:
    api: Api
    operations: Mapping[str, Operation]
    """By operation id."""
    by_sdk_name: Mapping[str, Operation]
    base_url: str
    base: Url
    """The same, in parts, for the check that nothing leaves it."""
    manifest: Manifest
    environment: str


def served_api(bundle: Bundle, environment: str) -> ServedApi:
    """DamagedBundle where the bundle's own manifest or base URL cannot be used."""
    manifest, faults = manifests.check(bundle.manifest)
    if manifest is None:
        told = "; ".join(f"{fault.path}: {fault.message}" for fault in faults)
        raise DamagedBundle(f"The manifest of the bundle cannot be used: {told}.")
    base_url = manifest.base_url_for(environment) or bundle.base_url
    try:
        base = parse_base(base_url)
    except BadUrl as fault:
        raise DamagedBundle(f"The base URL {base_url!r} of the bundle cannot be called: {fault}.") from None
    operations = [_without_ours(operation, manifest.auth) for operation in bundle.api.operations]
    return ServedApi(
        api=bundle.api,
        operations={operation.id: operation for operation in operations},
        by_sdk_name={operation.sdk_name: operation for operation in operations},
        base_url=base_url,
        base=base,
        manifest=manifest,
        environment=environment,
    )


def is_supplied(parameter: Parameter, auth: Auth) -> bool:
    """Whether the server itself gives this parameter its value."""
    name = parameter.name.lower()
    if parameter.location == "header":
        return name in _OURS or (isinstance(auth, HeaderAuth) and auth.header_name.lower() == name)
    return parameter.location == "query" and isinstance(auth, QueryAuth) and auth.query_name == parameter.name


def _without_ours(operation: Operation, auth: Auth) -> Operation:
    """The operation with nothing asked of a script that the server supplies."""
    if not any(is_supplied(parameter, auth) for parameter in operation.parameters):
        return operation
    parameters = (replace(p, required=p.required and not is_supplied(p, auth)) for p in operation.parameters)
    return replace(operation, parameters=tuple(parameters))
