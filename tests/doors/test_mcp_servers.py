"""`/mcp-servers`: sources are made with their jobs, listed, read, changed; credentials are refused."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.base.ids import is_id, new_id
from ammeter.features.orgs import keys
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service
from tests.doors.test_org import INSTANT
from tests.household import API, OPERATOR, Household, details, refusal

HTTP = {"name": "Orders", "baseUrl": "https://mcp.example.com/mcp"}
PROCESS = {
    "name": "Files",
    "transportType": "stdio_hosted",
    "connectionConfig": {"command": ["some-server"], "args": ["--quiet"]},
}


def create(tenant: Household, body: dict[str, Any], role: Role = Role.editor) -> Any:
    return tenant.call("POST", "/mcp-servers", role, json=body)


def made(tenant: Household, body: dict[str, Any]) -> str:
    answer = create(tenant, body)
    assert answer.status_code == 201, answer.text
    source_id: str = answer.json()["server"]["id"]
    return source_id


def read(tenant: Household, source_id: str) -> Any:
    return tenant.call("GET", f"/mcp-servers/{source_id}", Role.viewer).json()


def test_a_source_over_http_is_made_with_a_profile_and_a_discovery_job(tenant: Household) -> None:
    profile = {"name": "CI", "authType": "bearer_token", "authConfig": {"header_name": "Authorization"}}
    answer = create(tenant, HTTP | {"authProfile": profile})
    assert answer.status_code == 201
    told = answer.json()
    assert set(told) == {"server", "authProfile", "discoveryJob", "provisioningJob"}
    assert set(told["server"]) == set(told["authProfile"]) == {"id", "name"}
    assert (told["server"]["name"], told["authProfile"]["name"]) == ("Orders", "CI")
    assert told["discoveryJob"] == {"id": told["discoveryJob"]["id"], "status": "queued"}
    assert is_id(told["discoveryJob"]["id"])
    assert told["provisioningJob"] is None


def test_a_process_has_a_provisioning_job_too_and_no_network_unless_told(tenant: Household) -> None:
    told = create(tenant, PROCESS).json()
    assert told["provisioningJob"]["status"] == "queued"
    record = read(tenant, told["server"]["id"])
    assert record["network_policy"] == {"mode": "none", "allow": []}
    assert record["provisioning"]["status"] == "queued"
    assert record["connection_config"] == PROCESS["connectionConfig"]


def test_the_full_record_is_in_snake_case(tenant: Household) -> None:
    record = read(tenant, made(tenant, HTTP))
    assert set(record) == {
        *("id", "name", "transport_type", "base_url", "categories", "target_kind", "status", "environment"),
        *("connection_config", "network_policy", "auth_profiles", "source_slug", "code_mode", "discovery"),
        *("provisioning", "created_at", "updated_at"),
    }
    assert (record["transport_type"], record["target_kind"]) == ("streamable_http", "mcp")
    assert (record["status"], record["environment"]) == ("active", "production")
    assert record["auth_profiles"][0] | {"id": ""} == {
        "id": "",
        "name": "Default",
        "auth_type": "none",
        "auth_config": {},
    }
    assert (record["source_slug"], record["code_mode"]) == (None, False)
    assert record["discovery"]["status"] == "queued"
    assert record["discovery"]["tools"] == []
    assert INSTANT.fullmatch(record["created_at"])


def test_the_list_has_active_production_sources_newest_first(tenant: Household) -> None:
    first, second = made(tenant, HTTP), made(tenant, HTTP | {"name": "Second"})
    made(tenant, HTTP | {"environment": "staging"})
    gone = made(tenant, HTTP)
    assert tenant.call("PATCH", f"/mcp-servers/{gone}", json={"status": "archived"}).status_code == 200
    listed = tenant.call("GET", "/mcp-servers", Role.viewer).json()
    assert [row["id"] for row in listed["rows"]] == [second, first]
    assert set(listed["rows"][0]) == {"id", "name", "transport_type", "base_url", "categories"}
    assert set(listed) == {"rows"}


def test_categories_choose_rows_and_unknown_ones_choose_none(tenant: Household) -> None:
    pay, chat = made(tenant, HTTP), made(tenant, HTTP)
    for source_id, categories in ((pay, ["payments", "crm"]), (chat, ["communication"])):
        answer = tenant.call("PATCH", f"/mcp-servers/{source_id}", json={"categories": categories})
        assert answer.json()["categories"] == categories

    def chosen(query: str) -> set[str]:
        return {row["id"] for row in tenant.call("GET", f"/mcp-servers?{query}").json()["rows"]}

    assert chosen("category=payments") == chosen("categorySlug=crm") == {pay}
    assert chosen("category=payments,communication") == {pay, chat}
    assert chosen("category=payments&category=communication") == {pay, chat}
    assert chosen("category=nothing") == chosen("categorySlug=nothing") == set()
    assert chosen("category=payments&categorySlug=communication") == set()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"baseUrl": None}, "$.baseUrl"),
        ({"baseUrl": "ftp://example.com"}, "$.baseUrl"),
        ({"baseUrl": "https://user:pass@example.com/mcp"}, "$.baseUrl"),
        ({"baseUrl": "http://127.0.0.1:9/mcp"}, "$.baseUrl"),
        ({"baseUrl": "http://localhost/mcp"}, "$.baseUrl"),
        ({"baseUrl": "http://169.254.169.254/latest"}, "$.baseUrl"),
        ({"baseUrl": "http://[::1]/mcp"}, "$.baseUrl"),
        ({"baseUrl": "https://example.com/mcp?api_key=abc"}, "$.baseUrl"),
        ({"transportType": "websocket"}, "$.transportType"),
        ({"targetKind": "rest"}, "$.targetKind"),
        ({"environment": "Not One"}, "$.environment"),
        (
            {"connectionConfig": {"headers": {"Authorization": "anything"}}},
            "$.connectionConfig.headers.Authorization",
        ),
        (
            {"connectionConfig": {"headers": {"X-Tenant": "ghp_" + "a1B2" * 9}}},
            "$.connectionConfig.headers.X-Tenant",
        ),
        ({"connectionConfig": {"headers": {"a b": "c"}}}, "$.connectionConfig.headers.a b"),
        ({"connectionConfig": {"command": ["x"]}}, "$.connectionConfig.command"),
        ({"connectionConfig": {"timeoutSeconds": 0}}, "$.connectionConfig.timeoutSeconds"),
        ({"networkPolicy": {"mode": "open"}}, "$.networkPolicy"),
        ({"authProfile": {"authType": "magic"}}, "$.authProfile.authType"),
        (
            {"authProfile": {"authType": "bearer_token", "authConfig": {"token": "abc"}}},
            "$.authProfile.authConfig.token",
        ),
        (
            {"authProfile": {"authType": "bearer_token", "authConfig": {"secret_ref": "sk-live-123"}}},
            "$.authProfile.authConfig.secret_ref",
        ),
        (
            {"authProfile": {"authType": "basic", "authConfig": {"header_name": "X"}}},
            "$.authProfile.authConfig.header_name",
        ),
        (
            {"authProfile": {"authType": "oauth2_client_credentials", "authConfig": {"client_id": "x"}}},
            "$.authProfile.authConfig.token_url",
        ),
    ],
)
def test_what_a_source_cannot_be_is_refused_by_its_path(
    tenant: Household, change: dict[str, Any], path: str
) -> None:
    body = {name: value for name, value in (HTTP | change).items() if value is not None}
    answer = create(tenant, body)
    assert refusal(answer) == (422, "validation_failed")
    assert path in details(answer)
    assert tenant.call("GET", "/mcp-servers").json()["rows"] == []


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({}, "$.connectionConfig"),
        ({"command": ["x"], "headers": {"a": "b"}}, "$.connectionConfig.headers"),
        ({"command": ["x"], "env": {"API_TOKEN": "hello"}}, "$.connectionConfig.env.API_TOKEN"),
        ({"command": ["x"], "env": {"PLAIN": "sk-proj-" + "a1B2" * 9}}, "$.connectionConfig.env.PLAIN"),
        ({"command": ["x"], "env": {"A": {"secretRef": "nothing"}}}, "$.connectionConfig.env.A.secretRef"),
        ({"command": ["x", "--token=ghp_" + "a1B2" * 9]}, "$.connectionConfig.command[1]"),
        ({"command": ["x"], "workingFiles": {"../up": "x"}}, "$.connectionConfig.workingFiles.../up"),
        ({"package": {"registry": "npm", "name": "Not A Name"}}, "$.connectionConfig.package.name"),
        (
            {"package": {"registry": "npm", "name": "x", "version": "^1"}},
            "$.connectionConfig.package.version",
        ),
        ({"package": {"registry": "apt", "name": "x"}}, "$.connectionConfig.package.registry"),
    ],
)
def test_what_a_process_cannot_be_is_refused_by_its_path(
    tenant: Household, config: dict[str, Any], path: str
) -> None:
    answer = create(tenant, PROCESS | {"connectionConfig": config})
    assert refusal(answer) == (422, "validation_failed")
    assert path in details(answer)


def test_a_refused_credential_is_told_how_to_be_a_reference(tenant: Household) -> None:
    token = "ghp_" + "a1B2" * 9
    answer = create(tenant, HTTP | {"connectionConfig": {"headers": {"X-Key": token}}})
    told = details(answer)["$.connectionConfig.headers.X-Key"]
    assert "secret:NAME" in told
    assert "PUT /org/secrets/NAME" in told
    assert token not in answer.text


def test_references_are_taken_and_shown_as_they_are(tenant: Household) -> None:
    config = {"headers": {"X-Key": "secret:UPSTREAM_KEY"}, "timeoutSeconds": 5}
    auth = {"authType": "api_key_header", "authConfig": {"header_name": "X-Key", "secret_ref": "env:TOKEN"}}
    record = read(tenant, made(tenant, HTTP | {"connectionConfig": config, "authProfile": auth}))
    assert record["connection_config"] == config
    assert record["auth_profiles"][0]["auth_config"] == auth["authConfig"]


def test_a_misspelt_field_is_refused_with_what_was_meant(tenant: Household) -> None:
    answer = create(tenant, HTTP | {"transport_type": "sse", "connectionConfig": {"header": {}}})
    assert 'Did you mean "transportType"?' in details(answer)["$.transport_type"]
    assert 'Did you mean "headers"?' in details(answer)["$.connectionConfig.header"]


def test_viewers_read_and_editors_write(tenant: Household) -> None:
    assert refusal(create(tenant, HTTP, Role.viewer)) == (403, "insufficient_role")
    source_id = made(tenant, HTTP)
    for method, path, body in (
        ("PATCH", f"/mcp-servers/{source_id}", {"name": "x"}),
        ("POST", f"/mcp-servers/{source_id}/skills", {"name": "x", "text": "y"}),
    ):
        assert refusal(tenant.call(method, path, Role.viewer, json=body)) == (403, "insufficient_role")
    answer = tenant.call("POST", f"/mcp-servers/{source_id}/discover", Role.viewer)
    assert refusal(answer) == (403, "insufficient_role")


def test_foreign_malformed_and_unknown_ids_are_alike(tenant: Household, neighbour: Household) -> None:
    foreign = made(neighbour, HTTP)
    for wrong in (foreign, new_id(), "nonsense", "%00"):
        for method, path in (("GET", ""), ("PATCH", ""), ("POST", "/discover"), ("GET", "/skills")):
            body: dict[str, Any] = {"json": {"name": "x"}} if method == "PATCH" else {}
            answer = tenant.call(method, f"/mcp-servers/{wrong}{path}", **body)
            assert refusal(answer) == (404, "not_found")


def test_a_key_of_some_sources_sees_only_those_and_makes_none(tenant: Household) -> None:
    mine, other = made(tenant, HTTP), made(tenant, HTTP)
    with tenant.house.db.write() as tx:
        _, token = keys.mint_key(tx, OPERATOR, tenant.org.id, name="one", role=Role.editor, source_ids=[mine])
    headers = {"authorization": f"Bearer {token}"}
    listed = tenant.client.get(f"{API}/mcp-servers", headers=headers).json()
    assert [row["id"] for row in listed["rows"]] == [mine]
    assert tenant.client.get(f"{API}/mcp-servers/{other}", headers=headers).status_code == 404
    refused = tenant.client.post(f"{API}/mcp-servers", headers=headers, json=HTTP)
    assert refusal(refused) == (403, "insufficient_role")


def test_a_change_keeps_what_it_does_not_name(tenant: Household) -> None:
    source_id = made(tenant, HTTP)
    changed = tenant.call("PATCH", f"/mcp-servers/{source_id}", Role.editor, json={"name": "New"}).json()
    assert (changed["name"], changed["base_url"], changed["status"]) == ("New", HTTP["baseUrl"], "active")
    wrong = tenant.call("PATCH", f"/mcp-servers/{source_id}", json={"categories": ["payment"]})
    assert 'Did you mean "payments"?' in details(wrong)["$.categories[0]"]
    archived = tenant.call("PATCH", f"/mcp-servers/{source_id}", json={"status": "archived"})
    assert archived.json()["status"] == "archived"
    assert refusal(tenant.call("POST", f"/mcp-servers/{source_id}/discover")) == (409, "conflict")


def test_looking_anew_while_one_look_is_queued_is_that_look(tenant: Household) -> None:
    told = create(tenant, HTTP).json()
    again = tenant.call("POST", f"/mcp-servers/{told['server']['id']}/discover", Role.editor)
    assert again.status_code == 202
    assert again.json() == {"discoveryJob": told["discoveryJob"]}


def test_a_source_that_is_served_here_is_met_at_its_own_endpoint(tenant: Household) -> None:
    slug = f"shop-{new_id()}"
    with tenant.house.db.write() as tx:
        source = service.provision_source(tx, OPERATOR, tenant.org.id, name="Shop", source_slug=slug)
    record = read(tenant, source.id)
    assert record["base_url"] == f"{tenant.house.settings.public_url}/product-mcp/{slug}"
    assert record["source_slug"] == slug
    assert record["discovery"]["status"] is None
    assert record["auth_profiles"] == []
    own = create(tenant, {"name": "Itself", "baseUrl": record["base_url"]})
    assert own.status_code == 201


def test_skills_are_kept_in_versions(tenant: Household) -> None:
    path = f"/mcp-servers/{made(tenant, HTTP)}/skills"
    first = tenant.call("POST", path, Role.editor, json={"name": "Refunds", "text": "Ask first."})
    assert first.status_code == 201
    second = tenant.call("POST", path, json={"name": "Refunds", "text": "Never ask."}).json()
    other = tenant.call("POST", path, json={"name": "Tone", "text": "Be kind."}).json()
    assert (first.json()["number"], second["number"], other["number"]) == (1, 2, 1)
    rows = tenant.call("GET", path, Role.viewer).json()["rows"]
    assert [row["id"] for row in rows] == [other["id"], second["id"], first.json()["id"]]
    assert "text" not in rows[0]
    shown = tenant.call("GET", f"{path}/{first.json()['id']}", Role.viewer).json()
    assert (shown["text"], shown["name"]) == ("Ask first.", "Refunds")
    assert refusal(tenant.call("GET", f"{path}/{new_id()}")) == (404, "not_found")


def test_every_change_is_in_the_audit_log(tenant: Household) -> None:
    source_id = made(tenant, HTTP)
    tenant.call("PATCH", f"/mcp-servers/{source_id}", json={"name": "New"})
    tenant.call("POST", f"/mcp-servers/{source_id}/discover")
    tenant.call("POST", f"/mcp-servers/{source_id}/skills", json={"name": "a", "text": "b"})
    rows = tenant.call("GET", "/org/audit").json()["rows"]
    actions = [row["action"] for row in rows if row["action"].startswith(("source.", "skill."))]
    assert actions == ["skill.add", "source.discover", "source.change", "source.create"]
