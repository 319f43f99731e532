"""Uploading, reading, listing and promoting bundles, through the door, on both databases."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import provision_source
from ammeter.wiring import House
from tests.household import OPERATOR, Household, details, make_client, make_household, refusal

BASE = "/api/openapi-artifacts"


def pets(*paths: str, version: str = "1") -> dict[str, Any]:
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": {"type": "object"}}}}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": version},
        "servers": [{"url": "https://pets.example/v1"}],
        "paths": {path: {"get": {"tags": ["pets"], "responses": answer}} for path in paths or ("/pets",)},
    }


@pytest.fixture
def owner(house: House) -> Iterator[Household]:
    """An organization with code mode on and a source `pets`."""
    with make_client(house) as client:
        household = make_household(house, client)
        with house.db.write() as tx:
            service.set_features(tx, OPERATOR, household.org, code_mode=True)
            provision_source(tx, OPERATOR, household.org.id, name="Pets", source_slug="pets")
        yield household


def send(owner: Household, role: Role = Role.owner, *, token: str = "", raw: bytes = b"", **body: Any) -> Any:
    """A signed upload, as CI sends it."""
    token = token or owner.tokens[role]
    stamp = str(body.pop("stamp", int(time.time())))
    raw = raw or json.dumps({"source": "pets", **body}).encode()
    signature = hmac.new(token.encode(), f"{stamp}.".encode() + raw, hashlib.sha256).hexdigest()
    headers = {
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "x-service-timestamp": stamp,
        "x-service-signature": signature,
    }
    return owner.client.post(f"{BASE}/upload", content=raw, headers=headers)


def call(owner: Household, method: str, path: str, role: Role = Role.owner) -> Any:
    return owner.client.request(method, path, headers={"authorization": f"Bearer {owner.tokens[role]}"})


def test_an_upload_is_stored_promoted_and_rolled_back(owner: Household) -> None:
    first = send(owner, openapi=pets(), promote=True, commitSha="abc", pullRequestNumber=7)
    assert first.status_code == 201
    one = first.json()
    assert one["bundle"]["status"] == "active"
    assert one["bundle"]["commitSha"] == "abc"
    assert [entry["sdkName"] for entry in one["apiDiff"]["added"]] == ["pets.list"]
    assert one["rollback"] == {"previousBundleId": None}
    assert one["bundleId"] == one["bundle"]["id"]
    assert one["openapiHash"].startswith("sha256:")
    assert one["overlayHash"] is None

    second = send(owner, openapi=pets("/pets", "/owners"), promote=True).json()
    assert second["rollback"] == {"previousBundleId": one["bundleId"]}
    assert [entry["path"] for entry in second["apiDiff"]["added"]] == ["/owners"]
    assert call(owner, "GET", f"{BASE}/{one['bundleId']}").json()["bundle"]["status"] == "generated"

    back = call(owner, "POST", f"{BASE}/{one['bundleId']}/promote")
    assert back.status_code == 200
    assert back.json()["bundle"]["status"] == "active"
    assert back.json()["rollback"] == {"previousBundleId": second["bundleId"]}
    listed = call(owner, "GET", f"{BASE}?source=pets&environment=production").json()
    assert [(row["id"], row["status"]) for row in listed["rows"]] == [
        (second["bundleId"], "generated"),
        (one["bundleId"], "active"),
    ]


def test_equal_content_is_one_bundle_whatever_text_it_came_as(owner: Household) -> None:
    as_object = send(owner, openapi=pets()).json()
    as_yaml = send(owner, openapi=yaml.safe_dump(pets())).json()
    as_json = send(owner, openapi=json.dumps(pets(), indent=3)).json()
    assert as_object["bundleId"] == as_yaml["bundleId"] == as_json["bundleId"]
    assert as_object["openapiHash"] == as_yaml["openapiHash"]
    elsewhere = send(owner, openapi=pets(), environment="staging").json()
    assert elsewhere["bundleId"] != as_object["bundleId"]
    assert elsewhere["bundle"]["environment"] == "staging"


def test_an_overlay_changes_what_is_built_and_has_a_hash(owner: Household) -> None:
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": "t", "version": "1"},
        "actions": [{"target": "$.paths['/pets'].get", "update": {"x-ammeter-name": "findAll"}}],
    }
    answer = send(owner, openapi=pets(), overlay=overlay).json()
    assert [entry["sdkName"] for entry in answer["apiDiff"]["added"]] == ["pets.findAll"]
    assert answer["overlayHash"].startswith("sha256:")


def test_roles_features_and_sources_are_looked_at_before_anything_is_built(owner: Household) -> None:
    assert refusal(send(owner, Role.viewer, openapi=pets())) == (403, "insufficient_role")
    assert send(owner, Role.editor, openapi=pets()).status_code == 201
    assert refusal(send(owner, Role.editor, openapi=pets(), promote=True)) == (403, "insufficient_role")
    bundle = send(owner, Role.editor, openapi=pets()).json()["bundleId"]
    promote = f"{BASE}/{bundle}/promote"
    assert refusal(call(owner, "POST", promote, Role.editor)) == (403, "insufficient_role")
    assert call(owner, "POST", promote, Role.admin).status_code == 200
    assert refusal(send(owner, openapi=pets(), source="nothing")) == (404, "not_found")
    with owner.house.db.write() as tx:
        service.set_features(tx, OPERATOR, owner.org, code_mode=False)
    assert refusal(send(owner, openapi=pets())) == (403, "feature_disabled")


def test_a_key_limited_to_other_sources_sees_neither_source_nor_bundle(owner: Household) -> None:
    bundle = send(owner, openapi=pets()).json()["bundleId"]
    with owner.house.db.write() as tx:
        other = provision_source(tx, OPERATOR, owner.org.id, name="Other", source_slug="other")
        _, token = keys.mint_key(tx, OPERATOR, owner.org.id, name="k", role=Role.admin, source_ids=[other.id])
    assert refusal(send(owner, token=token, openapi=pets())) == (404, "not_found")
    headers = {"authorization": f"Bearer {token}"}
    assert refusal(owner.client.get(f"{BASE}/{bundle}", headers=headers)) == (404, "not_found")


@pytest.mark.parametrize("off", [-301, 400, -100_000])
def test_a_stale_or_future_timestamp_is_refused(owner: Household, off: int) -> None:
    assert refusal(send(owner, openapi=pets(), stamp=int(time.time()) + off)) == (401, "stale_timestamp")


def test_a_missing_malformed_or_wrong_signature_is_refused(owner: Household) -> None:
    raw = json.dumps({"source": "pets", "openapi": pets()}).encode()
    bearer = {"authorization": f"Bearer {owner.tokens[Role.owner]}", "content-type": "application/json"}
    now = str(int(time.time()))
    for signed in (
        {},
        {"x-service-timestamp": now},
        {"x-service-timestamp": "soon", "x-service-signature": "0" * 64},
        {"x-service-timestamp": now, "x-service-signature": "xyz"},
        {"x-service-timestamp": now, "x-service-signature": "0" * 64},
    ):
        answer = owner.client.post(f"{BASE}/upload", content=raw, headers=bearer | signed)
        assert refusal(answer) == (401, "invalid_signature")
    stranger = owner.client.post(f"{BASE}/upload", content=raw)
    assert refusal(stranger) == (401, "unauthenticated")


@pytest.mark.parametrize(
    ("openapi", "code"),
    [
        ("", "empty"),
        ("{", ""),
        ("\x00\x01", ""),
        ([1], "validation"),
        ({"openapi": "9.9", "paths": {}}, ""),
        (pets() | {"paths": {}}, "no_operations"),
        (pets() | {"servers": []}, "no_base_url"),
    ],
)
def test_a_description_that_gives_no_bundle_is_told_why(owner: Household, openapi: Any, code: str) -> None:
    answer = send(owner, openapi=openapi)
    if code == "validation":
        assert refusal(answer) == (422, "validation_failed")
        return
    assert refusal(answer) == (422, "compile_failed")
    assert any(code in message for message in details(answer).values())
    assert call(owner, "GET", f"{BASE}?source=pets").json()["total"] == 0


def test_unknown_fields_and_wrong_manifests_are_named(owner: Household) -> None:
    assert details(send(owner, openapi=pets(), promot=True)) == {
        "$.promot": 'unknown field. Did you mean "promote"?'
    }
    answer = send(owner, openapi=pets(), manifest={"clientNam": "x"})
    assert refusal(answer) == (422, "validation_failed")
    assert "$.manifest.clientNam" in details(answer)
    assert "$.environment" in details(send(owner, openapi=pets(), environment="Prod!"))


def test_a_body_over_six_megabytes_is_refused(owner: Household) -> None:
    answer = send(owner, openapi="x" * (6 * 1024 * 1024))
    assert refusal(answer) == (413, "payload_too_large")
    assert send(owner, openapi=pets() | {"x-big": "x" * 5_000_000}).status_code == 201


def test_promoting_again_says_the_same_and_unknown_bundles_are_not_found(owner: Household) -> None:
    bundle = send(owner, openapi=pets(), promote=True).json()["bundleId"]
    again = call(owner, "POST", f"{BASE}/{bundle}/promote")
    assert (again.status_code, again.json()["rollback"]) == (200, {"previousBundleId": None})
    for path in ("nothing", "01a1dd54-7c8c-7f66-8000-000000000000"):
        assert refusal(call(owner, "GET", f"{BASE}/{path}")) == (404, "not_found")
        assert refusal(call(owner, "POST", f"{BASE}/{path}/promote")) == (404, "not_found")
