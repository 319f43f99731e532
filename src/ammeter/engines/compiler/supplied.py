"""Parameters that no script may give: the client sets them itself, or the credentials of the manifest do.

They are left out of the API before anything is made of it, so that signatures, examples, cards and the
check of arguments all speak of the same method.
"""

from __future__ import annotations

from dataclasses import replace

from ammeter.engines.compiler.findings import Findings, shown
from ammeter.engines.compiler.manifest import Auth, HeaderAuth, QueryAuth
from ammeter.engines.compiler.model import Api, Operation, Parameter

# OpenAPI says that parameters of the first line are ignored; the others could break the framing of a
# request or take the place of credentials.
CLIENT_HEADERS = frozenset(
    {
        *("accept", "content-type", "authorization"),
        *("host", "content-length", "content-encoding", "transfer-encoding", "connection", "upgrade", "te"),
        *("trailer", "keep-alive", "expect", "cookie", "accept-encoding"),
        *("proxy-authorization", "proxy-connection", "proxy-authenticate"),
    }
)


def without_supplied(api: Api, auth: Auth, findings: Findings) -> Api:
    """The API as scripts see it; each parameter left out is told of where it stands."""
    operations = tuple(_without(operation, auth, findings) for operation in api.operations)
    return replace(api, operations=operations)


def _without(operation: Operation, auth: Auth, findings: Findings) -> Operation:
    kept = []
    for parameter in operation.parameters:
        if _is_supplied(parameter, auth):
            name = f"The {parameter.location} parameter {shown(parameter.name)}"
            message = f"{name} is set by the server from the manifest's auth; scripts do not give it."
            findings.info("supplied_parameter", operation.pointer, message)
        else:
            kept.append(parameter)
    return replace(operation, parameters=tuple(kept)) if len(kept) < len(operation.parameters) else operation


def _is_supplied(parameter: Parameter, auth: Auth) -> bool:
    name = parameter.name.lower()
    if parameter.location == "header":
        return name in CLIENT_HEADERS or (isinstance(auth, HeaderAuth) and auth.header_name.lower() == name)
    return parameter.location == "query" and isinstance(auth, QueryAuth) and auth.query_name == parameter.name
