"""Looking at real servers through the real feature: a real worker, processes behind real walls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ammeter.engines.hosting.port import Package
from ammeter.engines.jobs.port import Pace
from ammeter.features.orgs.model import Organization
from ammeter.features.sources import service
from ammeter.features.sources.checks import NewSource
from ammeter.features.sources.model import Source
from ammeter.wiring import House
from tests.engines.mcp_client.faulty import answering, said
from tests.household import CACHE, OPERATOR, make_settings, opened_house
from tests.mcp_servers.real import EVERYTHING, FILESYSTEM, GIT, MEMORY, TIME, everything, put_packages
from tests.shared import fresh_url, new_org

QUICK = Pace(poll_s=0.02, watch_s=0.1)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def workshop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A House in which the packages are installed already, and which may call this machine."""
    folder = tmp_path_factory.mktemp("sources")
    cache = CACHE / "sources"
    put_packages(cache / "hosting")
    with fresh_url(request.param, folder) as url:
        settings = make_settings(url, folder, cache_dir=cache, allow_private_networks=("127.0.0.0/8",))
        with opened_house(settings) as house:
            yield house


@pytest.fixture
def org(workshop: House) -> Organization:
    with workshop.db.write() as tx:
        return new_org(tx)


def look(house: House, org: Organization, new: NewSource) -> Source:
    """Create the source, work until its jobs are done, read it again."""

    async def story() -> Source:
        with house.db.write() as tx:
            made = service.create_source(tx, OPERATOR, org.id, new, jobs=house.jobs, place=house.place)
        await worked(house, made.discovery_job.id)
        return found(house, made.source)

    return asyncio.run(story())


async def worked(house: House, job_id: str) -> None:
    worker = house.jobs.worker(house.handlers, pace=QUICK)
    await worker.start()
    try:
        async with asyncio.timeout(60):
            while True:
                with house.db.read() as tx:
                    job = house.jobs.find(tx, job_id)
                if job and job.finished_at:
                    return
                await asyncio.sleep(0.02)
    finally:
        await worker.stop()


def found(house: House, source: Source) -> Source:
    with house.db.read() as tx:
        read = service.get_source(tx, source.org_id, source.id)
        return replace(read, discovery=service.discovery_of(tx, read, house.jobs))


def hosted(package: Package, **more: Any) -> NewSource:
    told = {"registry": package.registry, "name": package.name, "version": package.version}
    return NewSource(
        name=package.name.rpartition("/")[2],
        transport_type="stdio_hosted",
        connection_config={"package": told, **more},
    )


@pytest.mark.parametrize(
    ("new", "server", "tool", "category"),
    [
        (hosted(EVERYTHING), "mcp-servers/everything", "echo", None),
        (hosted(FILESYSTEM, args=["."]), "secure-filesystem-server", "read_text_file", "files"),
        (hosted(MEMORY), "memory-server", "create_entities", "knowledge"),
        (hosted(TIME), "mcp-time", "get_current_time", "time"),
        (hosted(GIT), "mcp-git", "git_status", "developer-tools"),
    ],
    ids=["everything", "filesystem", "memory", "time", "git"],
)
def test_servers_of_the_registries_are_discovered_behind_walls(
    workshop: House, org: Organization, new: NewSource, server: str, tool: str, category: str | None
) -> None:
    source = look(workshop, org, new)
    assert (source.discovery.status, source.discovery.error) == ("succeeded", None)
    assert (source.discovery.server_info or {})["name"] == server
    tools = {row["name"]: row for row in source.discovery.tools}
    assert set(tools[tool]) == {"name", "title", "description", "input_schema", "annotations"}
    assert tools[tool]["input_schema"]["type"] == "object"
    assert category is None or category in source.categories


@pytest.mark.parametrize("transport", ["streamable_http", "sse"])
def test_servers_over_http_are_discovered(
    workshop: House, org: Organization, tmp_path: Path, transport: Any
) -> None:
    with everything("sse" if transport == "sse" else "streamableHttp", tmp_path) as url:
        source = look(workshop, org, NewSource(name="all", transport_type=transport, base_url=url))
        assert source.discovery.status == "succeeded"
        assert source.discovery.protocol_version == "2025-11-25"
        assert source.discovery.instructions
        assert source.discovery.resources
        assert source.discovery.prompts


def test_a_failed_look_says_why_and_keeps_what_was_known(
    workshop: House, org: Organization, tmp_path: Path
) -> None:
    with everything("streamableHttp", tmp_path) as url:
        before = look(workshop, org, NewSource(name="all", base_url=url))
    with workshop.db.write() as tx:
        job = service.discover_again(tx, OPERATOR, org.id, before.id, jobs=workshop.jobs)
    asyncio.run(worked(workshop, job.id))
    after = found(workshop, before)
    assert after.discovery.status == "failed"
    assert "Nothing listens at" in (after.discovery.error or "")
    assert after.discovery.tools == before.discovery.tools


def test_a_server_that_wants_credentials_gets_those_of_the_profile(
    workshop: House, org: Organization
) -> None:
    heads: list[bytes] = []

    async def refuse(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        await said("401 Unauthorized")(head, body, writer)

    async def story() -> Source:
        with workshop.db.write() as tx:
            workshop.secrets.put(tx, OPERATOR, org.id, name="TOKEN", value="the-very-token")
        async with answering(refuse) as url:
            new = NewSource(
                name="guarded",
                base_url=url,
                auth_type="bearer_token",
                auth_config={"secret_ref": "secret:TOKEN"},
                connection_config={"headers": {"X-Plain": "yes", "X-Key": "secret:TOKEN"}},
            )
            with workshop.db.write() as tx:
                made = service.create_source(
                    tx, OPERATOR, org.id, new, jobs=workshop.jobs, place=workshop.place
                )
            await worked(workshop, made.discovery_job.id)
        return found(workshop, made.source)

    source = asyncio.run(story())
    assert b"authorization: bearer the-very-token" in heads[0].lower()
    assert b"x-plain: yes" in heads[0].lower()
    assert b"x-key: the-very-token" in heads[0].lower()
    assert source.discovery.status == "failed"
    assert "401" in (source.discovery.error or "")
    assert "the-very-token" not in str(source)


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (
            NewSource(
                name="x",
                base_url="http://127.0.0.1:9/mcp",
                auth_type="bearer_token",
                auth_config={"secret_ref": "secret:NOT_THERE"},
            ),
            "secret:NOT_THERE",
        ),
        (
            NewSource(name="x", base_url="http://127.0.0.1:9/mcp", auth_type="bearer_token"),
            "has no secret_ref",
        ),
        (
            NewSource(
                name="x", transport_type="stdio_hosted", connection_config={"command": ["no-such-program"]}
            ),
            "no program 'no-such-program'",
        ),
        (hosted(EVERYTHING, command=["other"]), "has no program 'other'"),
        (
            NewSource(
                name="x",
                transport_type="stdio_hosted",
                connection_config={"command": ["sh", "-c", "echo broken >&2; exit 4"]},
            ),
            "exit code 4.*broken",
        ),
    ],
    ids=["no secret", "no reference", "no program", "no such bin", "ends at once"],
)
def test_a_source_that_cannot_work_is_told_so(
    workshop: House, org: Organization, new: NewSource, words: str
) -> None:
    source = look(workshop, org, new)
    assert source.discovery.status == "failed"
    assert re.search(words, source.discovery.error or "")


def test_a_command_line_is_a_source_with_one_tool(workshop: House, org: Organization) -> None:
    new = NewSource(
        name="wc",
        target_kind="cli",
        connection_config={"command": ["sort"], "workingFiles": {"in.txt": "b\na\n"}},
    )
    source = look(workshop, org, new)
    assert source.discovery.status == "succeeded"
    assert [tool["name"] for tool in source.discovery.tools] == ["run"]
    assert "Usage" in (source.discovery.instructions or "")

    async def use() -> None:
        async with workshop.connector.open(source, None) as connection:
            sorted_ = await connection.call_tool("run", {"args": ["in.txt", "-o", "out.txt"]})
            assert (sorted_.is_error, sorted_.structured["exitCode"]) == (False, 0)
            again = await connection.call_tool("run", {"args": ["-r", "out.txt"]})
            assert again.raw_text == "b\na\n"
            from_input = await connection.call_tool("run", {"args": [], "stdin": "2\n1\n"})
            assert from_input.raw_text == "1\n2\n"
            wrong = await connection.call_tool("run", {"args": ["no-such-file"]})
            assert wrong.is_error
            assert "no-such-file" in wrong.raw_text
        async with workshop.connector.open(source, None) as fresh:
            gone = await fresh.call_tool("run", {"args": ["out.txt"]})
            assert gone.is_error

    asyncio.run(use())


def test_categories_that_a_person_chose_are_not_proposed_anew(workshop: House, org: Organization) -> None:
    source = look(workshop, org, hosted(MEMORY))
    with workshop.db.write() as tx:
        service.change_source(tx, OPERATOR, org.id, source.id, categories=["ai"])
        job = service.discover_again(tx, OPERATOR, org.id, source.id, jobs=workshop.jobs)
    asyncio.run(worked(workshop, job.id))
    assert found(workshop, source).categories == ("ai",)
