"""From a source to a live connection: whoever tests or looks at a source asks here.

A source and an auth profile come in; a Connection of `mcp_client` comes out, whatever the source is: a server
over HTTP, a process that is installed and confined first, or a command line in an MCP server's clothes.
Every fault is a SourceFault.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ammeter.base.clock import now
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.egress.auth import (
    ClientCredentials,
    HeaderCredential,
    Tokens,
    client_values,
    injection,
)
from ammeter.engines.egress.base_url import Url
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.engines.egress.port import Answer, EgressFault, Request
from ammeter.engines.hosting.host import Hosting
from ammeter.engines.hosting.port import HostingFault, Launch, NetworkPolicy, Package, Prepared
from ammeter.engines.mcp_client.port import Connection, Renew, Renewed, SourceFault, Target
from ammeter.features.orgs import keys
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.secrets.references import Credentials, MissingCredential
from ammeter.features.sources import store
from ammeter.features.sources.cli import CommandLine
from ammeter.features.sources.model import AuthProfile, Source
from ammeter.features.sources.targets import (
    base_url_of,
    credential_of,
    open_target,
    own_slug,
    preview_of,
    revealed,
)

_KEY_LIFE = timedelta(hours=12)
_KEY_SPARE = timedelta(hours=1)
_OURSELVES = Actor(kind="operator", name="ammeter", role=Role.owner, origin="worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class _OwnKey:
    token: str
    until: datetime


def connect(target: Target, *, guard: Guard) -> AbstractAsyncContextManager[Connection]:
    # Imported here: the SDK costs a start half a second and is needed only by those who connect.
    from ammeter.engines.mcp_client.connect import connect as connect_now

    return connect_now(target, guard=guard)


class Connector:
    def __init__(
        self,
        db: Database,
        *,
        guard: Callable[[], Guard],
        public_url: str,
        credentials: Callable[[str], Credentials],
        hosting: Hosting,
    ) -> None:
        """`credentials`: by the id of an organization, what opens its references. `guard` makes one."""
        self._db = db
        self._public_url = public_url
        self._credentials = credentials
        self.hosting = hosting
        self._guard = guard()
        self._egress = Egress(guard())
        self._tokens = Tokens(self._send_for_token)
        self._own_keys: dict[tuple[str, str, Role], _OwnKey] = {}
        self._minting = asyncio.Lock()

    @asynccontextmanager
    async def open(
        self, source: Source, profile: AuthProfile | None, *, bundle_id: str | None = None
    ) -> AsyncIterator[Connection]:
        """A connection that nobody has initialized yet; what was started for it ends with it. With
        `bundle_id`, to that stored bundle at the source's hosted endpoint here, promoted or not."""
        try:
            if bundle_id is not None:
                target = await self._http_target(preview_of(source, self._public_url), profile, bundle_id)
                made: AbstractAsyncContextManager[Connection] = connect(target, guard=self._guard)
            elif source.is_hosted:
                made = self._process(source)
            else:
                made = connect(await self._http_target(source, profile), guard=self._guard)
        except (MissingCredential, EgressFault) as fault:
            raise SourceFault("auth", str(fault)) from None
        async with made as connection:
            yield connection

    async def close(self) -> None:
        await self._tokens.close()
        await self._egress.close()
        self._guard.close()

    async def _http_target(
        self, source: Source, profile: AuthProfile | None, bundle_id: str | None = None
    ) -> Target:
        credentials = self._credentials(source.org_id)
        credential = await credential_of(profile, credentials)
        secrets: frozenset[str] = frozenset()
        renew: Renew | None = None
        if isinstance(credential, ClientCredentials):
            secrets, client = client_values(credential), credential
            credential = await self._tokens.token(client)
            renew = self._renew(client, credential)
        added = injection(credential)
        headers = dict([added.header] if added.header else [])
        target = await open_target(
            source, headers, credentials, public_url=self._public_url, secrets=secrets | added.values
        )
        target = replace(target, renew=renew)
        if bundle_id is not None:
            # Whatever a profile says: a bundle is previewed with a key that may promote it, and no other.
            bare = {name: value for name, value in target.headers.items() if name.lower() != "authorization"}
            target = replace(target, url=f"{target.url}?bundle={bundle_id}", headers=bare, renew=None)
            return await self._with_own_key(source, target, Role.admin)
        if target.own and not any(name.lower() == "authorization" for name in target.headers):
            return await self._with_own_key(source, target, Role.editor)
        return target

    async def _with_own_key(self, source: Source, target: Target, role: Role) -> Target:
        """Our own endpoint asks us for a key as it does anybody: a short-lived one of the organization."""
        slug = own_slug(base_url_of(source, self._public_url) or "", self._public_url)

        def mint() -> _OwnKey | None:
            with self._db.write() as tx:
                return _mint(tx, source.org_id, slug or "", role)

        async with self._minting:
            place = (source.org_id, slug or "", role)
            key = self._own_keys.get(place)
            if key is None or key.until - _KEY_SPARE < now():
                key = await self._db.run(mint)
                if key is None:
                    return target
                self._own_keys[place] = key
        return replace(
            target,
            headers={**target.headers, "Authorization": f"Bearer {key.token}"},
            own=True,
            secrets=target.secrets | {key.token},
        )

    @asynccontextmanager
    async def _process(self, source: Source) -> AsyncIterator[Connection]:
        told = source.connection_config.get("env") or {}
        try:
            env, secrets = await revealed(told, self._credentials(source.org_id))
            launch = launch_of(source, env)
            async with self.hosting.prepared(launch) as prepared:
                if source.target_kind == "cli":
                    yield CommandLine(prepared, frozenset(secrets))
                    return
                async with connect(
                    _stdio_target(prepared, frozenset(secrets)), guard=self._guard
                ) as connection:
                    yield connection
        except MissingCredential as fault:
            raise SourceFault("auth", str(fault)) from None
        except HostingFault as fault:
            raise SourceFault(
                "blocked" if fault.kind == "confinement" else "unreachable", fault.message
            ) from None

    def _renew(self, client: ClientCredentials, refused: HeaderCredential) -> Renew:
        async def renew() -> Renewed | None:
            nonlocal refused
            try:
                refused = await self._tokens.token(client, refused=refused.value)
            except EgressFault:
                return None
            added = injection(refused)
            return Renewed(headers=dict([added.header] if added.header else []), secrets=added.values)

        return renew

    async def _send_for_token(self, request: Request, url: Url) -> Answer:
        return await self._egress.send(request, base=url)


def launch_of(source: Source, env: dict[str, str]) -> Launch:
    told = source.connection_config
    package = told.get("package")
    return Launch(
        package=Package(registry=package["registry"], name=package["name"], version=package.get("version"))
        if package
        else None,
        command=tuple(told.get("command") or ()),
        args=tuple(told.get("args") or ()),
        env=env,
        files=dict(told.get("workingFiles") or {}),
        network=NetworkPolicy(
            mode=source.network_policy.get("mode", "none"),
            allow=tuple(source.network_policy.get("allow", ())),
        ),
    )


def _stdio_target(prepared: Prepared, secrets: frozenset[str]) -> Target:
    return Target(
        transport="stdio",
        command=prepared.command,
        env=prepared.env,
        cwd=prepared.cwd,
        secrets=secrets,
    )


def _mint(tx: Tx, org_id: str, slug: str, role: Role) -> _OwnKey | None:
    served = store.find_source(tx, org_id, slug)
    if served is None:
        return None
    until = now() + _KEY_LIFE
    _, token = keys.mint_key(
        tx,
        _OURSELVES,
        org_id,
        name=f"Ammeter's own tests of {slug}"[:200],
        role=role,
        expires_at=until,
        source_ids=[served.id],
    )
    return _OwnKey(token=token, until=until)
