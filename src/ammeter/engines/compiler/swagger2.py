"""A Swagger 2.0 document in the shape of OpenAPI 3.0.

Comes in: a read document. Goes out: a new one and what could not be carried over. Operations stay at
their `/paths/<path>/<method>`, so a pointer to one is good in both; extensions stay where they were.
Absent: judgement of the document; what is malformed passes as it is to the phases that name it.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

from ammeter.engines.compiler.findings import Findings, pointer
from ammeter.engines.compiler.model import Finding
from ammeter.engines.compiler.swagger2_parameters import (
    convert_body,
    convert_form,
    convert_parameter,
    convert_response,
)
from ammeter.engines.compiler.swagger2_schemas import convert_schema, moved_ref

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_CONVERTED = frozenset(
    {
        *("swagger", "host", "basePath", "schemes", "consumes", "produces"),
        *("paths", "definitions", "parameters", "responses", "securityDefinitions"),
    }
)
_FLOWS = {
    "implicit": "implicit",
    "password": "password",
    "application": "clientCredentials",
    "accessCode": "authorizationCode",
}
_MAX_CHAIN = 20


def to_openapi3(document: dict[str, Any]) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    findings = Findings()
    return _Conversion(document, findings).whole(), findings.all()


class _Conversion:
    """One document on its way; holds what every operation falls back to."""

    def __init__(self, document: dict[str, Any], findings: Findings) -> None:
        self._document = document
        self._findings = findings
        self._consumes = _strings(document.get("consumes"))
        self._produces = _strings(document.get("produces"))

    def whole(self) -> dict[str, Any]:
        document = self._document
        made: dict[str, Any] = {"openapi": "3.0.3"}
        made |= {key: value for key, value in document.items() if key not in _CONVERTED}
        if servers := self._servers(document.get("schemes"), "/schemes"):
            made["servers"] = servers
        paths = document.get("paths")
        made["paths"] = (
            {path: self._path_item(path, item) for path, item in paths.items()}
            if isinstance(paths, dict)
            else paths
        )
        if components := self._components():
            made["components"] = components
        return made

    def _components(self) -> dict[str, Any]:
        found = self._findings
        schemas = {
            name: convert_schema(schema, pointer("definitions", name), found)
            for name, schema in _object(self._document.get("definitions")).items()
        }
        parameters, bodies = {}, {}
        for name, parameter in _object(self._document.get("parameters")).items():
            where = pointer("parameters", name)
            place = parameter.get("in") if isinstance(parameter, dict) else None
            if place == "body":
                bodies[name] = convert_body(parameter, self._consumes, where, found)
            elif isinstance(parameter, dict) and place != "formData":
                parameters[name] = convert_parameter(parameter, where, found)
        responses = {
            name: convert_response(response, self._produces, pointer("responses", name), found)
            for name, response in _object(self._document.get("responses")).items()
        }
        schemes = {
            name: self._security_scheme(scheme, pointer("securityDefinitions", name))
            for name, scheme in _object(self._document.get("securityDefinitions")).items()
        }
        parts = {
            "schemas": schemas,
            "parameters": parameters,
            "requestBodies": bodies,
            "responses": responses,
            "securitySchemes": schemes,
        }
        return {name: part for name, part in parts.items() if part}

    def _servers(self, schemes: Any, where: str) -> list[dict[str, Any]]:
        host, base = self._document.get("host"), self._document.get("basePath")
        host = host.strip().rstrip("/") if isinstance(host, str) else ""
        base = "/" + base.strip().strip("/") if isinstance(base, str) else ""
        names = [name.lower() for name in _strings(schemes)]
        if "://" in host:
            own, _, host = host.partition("://")
            names = names or [own.lower()]
            message = f"'host' takes no scheme; '{own[:20]}://' is read as one of 'schemes'."
            self._findings.warning("host_with_scheme", "/host", message)
        if not host:
            return [_server(base)] if base.strip("/") else []
        usable = sorted(dict.fromkeys(n for n in names if n in ("https", "http")), reverse=True)
        if not usable:
            message = "No 'schemes' of http or https are given; https is used."
            self._findings.info("scheme_assumed", where, message)
        return [_server(f"{name}://{host}{base.rstrip('/')}") for name in usable or ["https"]]

    def _path_item(self, path: str, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        where = pointer("paths", path)
        made = dict(item)
        shared = self._parameters(item.get("parameters"), f"{where}/parameters")
        if isinstance(item.get("parameters"), list):
            made["parameters"] = [
                self._kept(given, parameter, here)
                for given, parameter, here in shared
                if _place(parameter) not in ("body", "formData")
            ]
        for method in _METHODS:
            if isinstance(item.get(method), dict):
                made[method] = self._operation(item[method], shared, f"{where}/{method}")
        return made

    def _parameters(self, given: Any, where: str) -> list[tuple[Any, Any, str]]:
        """Each parameter as it was given, as it is after its references, and its pointer."""
        if not isinstance(given, list):
            return []
        return [(one, self._followed(one), f"{where}/{index}") for index, one in enumerate(given)]

    def _kept(self, given: Any, parameter: Any, where: str) -> Any:
        if isinstance(given, dict) and isinstance(given.get("$ref"), str):
            return {**given, "$ref": moved_ref(given["$ref"])}
        if not isinstance(parameter, dict):
            return given
        return convert_parameter(parameter, where, self._findings)

    def _operation(
        self, operation: dict[str, Any], shared: list[tuple[Any, Any, str]], where: str
    ) -> dict[str, Any]:
        gone = ("consumes", "produces", "schemes", "parameters", "responses")
        made = {key: value for key, value in operation.items() if key not in gone}
        own = self._parameters(operation.get("parameters"), f"{where}/parameters")
        if "parameters" in operation:
            plain = [part for part in own if _place(part[1]) not in ("body", "formData")]
            made["parameters"] = (
                [self._kept(*part) for part in plain]
                if isinstance(operation["parameters"], list)
                else operation["parameters"]
            )
        if (body := self._body(operation, own, shared, where)) is not None:
            made["requestBody"] = body
        if "responses" in operation:
            made["responses"] = self._responses(operation, f"{where}/responses")
        if "schemes" in operation and operation["schemes"] != self._document.get("schemes"):
            made["servers"] = self._servers(operation["schemes"], f"{where}/schemes")
        return made

    def _body(
        self,
        operation: dict[str, Any],
        own: list[tuple[Any, Any, str]],
        shared: list[tuple[Any, Any, str]],
        where: str,
    ) -> dict[str, Any] | None:
        consumes = _strings(operation["consumes"]) if "consumes" in operation else self._consumes
        bodies = [part for part in own if _place(part[1]) == "body"]
        fields = {str(part[1].get("name")): part for part in own if _place(part[1]) == "formData"}
        if not bodies:
            for part in (part for part in shared if _place(part[1]) == "formData"):
                fields.setdefault(str(part[1].get("name")), part)
        if not fields:
            bodies = bodies or [part for part in shared if _place(part[1]) == "body"]
        if len(bodies) > 1:
            message = f"{len(bodies)} body parameters are given; an operation has one. The first is used."
            self._findings.error("several_bodies", where, message)
        if bodies and fields:
            message = "Body and form parameters exclude each other; the body is used."
            self._findings.error("body_and_form", where, message)
        if bodies:
            given, body, here = bodies[0]
            name = _global_name(given)
            if name is not None and consumes == self._consumes:
                return {"$ref": f"#/components/requestBodies/{name}"}
            return convert_body(body, consumes, here, self._findings)
        if fields:
            pairs = [(field, here) for _, field, here in fields.values()]
            return convert_form(pairs, consumes, self._findings)
        return None

    def _responses(self, operation: dict[str, Any], where: str) -> Any:
        responses = operation["responses"]
        if not isinstance(responses, dict):
            return responses
        produces = _strings(operation["produces"]) if "produces" in operation else self._produces
        made = {}
        for status, response in responses.items():
            if status.startswith("x-"):
                made[status] = response
                continue
            # A shared response is of the global types; an operation with its own gets its own copy.
            one = response if produces == self._produces else self._followed(response)
            made[status] = convert_response(one, produces, f"{where}/{status}", self._findings)
        return made

    def _followed(self, value: Any) -> Any:
        """What a chain of local references ends at; the value itself where it leads nowhere."""
        found = value
        for _ in range(_MAX_CHAIN):
            if not (isinstance(found, dict) and isinstance(found.get("$ref"), str)):
                return found
            ref = found["$ref"]
            found = self._document
            if not ref.startswith("#/"):
                return value
            for step in unquote(ref[2:]).split("/"):
                name = step.replace("~1", "/").replace("~0", "~")
                if isinstance(found, dict) and name in found:
                    found = found[name]
                elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                    found = found[int(name)]
                else:
                    return value
        return value

    def _security_scheme(self, scheme: Any, where: str) -> Any:
        if not isinstance(scheme, dict):
            return scheme
        kind = scheme.get("type")
        rest = {k: v for k, v in scheme.items() if k == "description" or k.startswith("x-")}
        if kind == "basic":
            return {"type": "http", "scheme": "basic", **rest}
        if kind == "oauth2":
            flow = _FLOWS.get(str(scheme.get("flow")))
            if flow is None:
                message = f"The OAuth 2 flow {str(scheme.get('flow'))[:40]!r} is not known; it is left out."
                self._findings.warning("oauth_flow_unknown", where, message)
            urls = {k: scheme[k] for k in ("authorizationUrl", "tokenUrl") if k in scheme}
            flows = {flow: {**urls, "scopes": scheme.get("scopes", {})}} if flow else {}
            return {"type": "oauth2", "flows": flows, **rest}
        if kind != "apiKey":
            message = f"The security type {str(kind)[:40]!r} is not one of basic, apiKey and oauth2."
            self._findings.warning("security_type_unknown", where, message)
        return dict(scheme)


def _server(url: str) -> dict[str, Any]:
    names = re.findall(r"\{([^{}]+)\}", url)
    variables = {name: {"default": name} for name in names}
    return {"url": url, "variables": variables} if variables else {"url": url}


def _global_name(given: Any) -> str | None:
    ref = given.get("$ref") if isinstance(given, dict) else None
    prefix = "#/parameters/"
    if isinstance(ref, str) and ref.startswith(prefix) and "/" not in ref[len(prefix) :]:
        return ref[len(prefix) :]
    return None


def _place(parameter: Any) -> Any:
    return parameter.get("in") if isinstance(parameter, dict) else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
