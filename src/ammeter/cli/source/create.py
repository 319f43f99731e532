"""`ammeter source create`: a source over HTTP from options, or any source from a JSON or YAML file."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import typer

from ammeter.cli.bundle.options import Key, Url, connect, read_object_file
from ammeter.cli.house import AsJson
from ammeter.cli.shown import show
from ammeter.cli.source.options import BASE, Wait, looked_at
from ammeter.cli.source.shown import exit_if_failed, show_source


def create(
    name: Annotated[str, typer.Option(help="Display name.")] = "",
    base_url: Annotated[str, typer.Option(help="Endpoint of an MCP server over HTTP.")] = "",
    transport: Annotated[
        Literal["streamable_http", "sse"], typer.Option(help="How it is spoken to.")
    ] = "streamable_http",
    secret_ref: Annotated[
        str, typer.Option(help="Bearer token, by reference: secret:NAME or env:NAME.")
    ] = "",
    npm: Annotated[str, typer.Option(help="Or a package of npm that runs here: name or name@version.")] = "",
    pypi: Annotated[str, typer.Option(help="Or one of PyPI: name or name==version.")] = "",
    file: Annotated[
        str, typer.Option("--file", help="Or the whole request, JSON or YAML, - for stdin.")
    ] = "",
    wait: Wait = True,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Create a source and wait until it was looked at; exits with 1 where that failed."""
    if sum(map(bool, (base_url, npm, pypi, file))) != 1:
        raise typer.BadParameter("give one of --base-url, --npm, --pypi and --file")
    body = read_object_file("--file", file) if file else _body(base_url, transport, secret_ref, npm, pypi)
    if name or "name" not in body:
        body["name"] = name or npm or pypi or base_url
    remote = connect(url, key)
    made = remote.post(BASE, json.dumps(body).encode())
    if not wait:
        show(made, as_json=True) if as_json else typer.echo(made["server"]["id"])
        return
    source = looked_at(remote, made["server"]["id"])
    show_source(source, as_json=as_json)
    exit_if_failed(source)


def _body(base_url: str, transport: str, secret_ref: str, npm: str, pypi: str) -> dict[str, Any]:
    if npm or pypi:
        if secret_ref:
            raise typer.BadParameter("goes with --base-url; use --file for env", param_hint="--secret-ref")
        word, sign = (npm, "@") if npm else (pypi, "==")
        # A scope of npm begins with the same sign as a version does.
        place = word.find(sign, 1)
        package = {"registry": "npm" if npm else "pypi", "name": word[:place] if place > 0 else word}
        if place > 0:
            package["version"] = word[place + len(sign) :]
        return {"transportType": "stdio_hosted", "connectionConfig": {"package": package}}
    body: dict[str, Any] = {"transportType": transport, "baseUrl": base_url}
    if secret_ref:
        body["authProfile"] = {"authType": "bearer_token", "authConfig": {"secret_ref": secret_ref}}
    return body
