"""Uploading, reading, listing and promoting bundles, through the door, on both databases."""

from __future__ import annotations

import json
import logging
import time

import pytest
import yaml
from sqlalchemy import text

from ammeter.engines.compiler.bundle import unpack
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import provision_source
from tests.doors.uploading import BASE, Publisher, make_publisher, pets, signed
from tests.household import OPERATOR, Household, details, refusal

UNKNOWN = "01a1dd54-7c8c-7f66-8000-000000000000"


@pytest.fixture
def owner(tenant: Household) -> Publisher:
    return make_publisher(tenant)


def test_an_upload_is_stored_promoted_and_rolled_back(owner: Publisher) -> None:
    one = owner.upload(openapi=pets(), promote=True, commitSha="abc", pullRequestNumber=7)
    assert one["bundle"]["status"] == "active"
    assert one["bundle"]["commitSha"] == "abc"
    assert [entry["sdkName"] for entry in one["apiDiff"]["added"]] == ["pets.list"]
    assert one["rollback"] == {"previousBundleId": None}
    assert one["bundleId"] == one["bundle"]["id"]
    assert one["openapiHash"].startswith("sha256:")
    assert one["overlayHash"] is None

    two = owner.upload(openapi=pets("/pets", "/owners"), promote=True)
    assert two["rollback"] == {"previousBundleId": one["bundleId"]}
    assert [entry["path"] for entry in two["apiDiff"]["added"]] == ["/owners"]
    assert owner.call("GET", f"/{one['bundleId']}").json()["bundle"]["status"] == "generated"

    back = owner.call("POST", f"/{one['bundleId']}/promote")
    assert back.status_code == 200
    assert back.json()["bundle"]["status"] == "active"
    assert back.json()["rollback"] == {"previousBundleId": two["bundleId"]}
    listed = owner.call("GET", f"?source={owner.slug}&environment=production").json()
    assert [(row["id"], row["status"]) for row in listed["rows"]] == [
        (two["bundleId"], "generated"),
        (one["bundleId"], "active"),
    ]


def test_equal_content_is_one_bundle_whatever_text_it_came_as(owner: Publisher) -> None:
    as_object = owner.upload(openapi=pets(), branch="main")
    as_yaml = owner.upload(openapi=yaml.safe_dump(pets()), manifest={"clientName": "client"})
    as_json = owner.upload(openapi=json.dumps(pets(), indent=3), manifest={}, branch="other")
    assert as_object["bundleId"] == as_yaml["bundleId"] == as_json["bundleId"]
    assert as_object["openapiHash"] == as_yaml["openapiHash"]
    assert as_json["bundle"]["branch"] == "main"
    assert owner.total() == 1
    elsewhere = owner.upload(openapi=pets(), environment="staging")
    assert elsewhere["bundleId"] != as_object["bundleId"]
    assert elsewhere["bundle"]["environment"] == "staging"
    named = owner.upload(openapi=pets(), manifest={"clientName": "api"})
    assert named["bundleId"] != as_object["bundleId"]


def test_content_that_is_stored_is_not_compiled_again(owner: Publisher) -> None:
    # What is stored stands, even where compiling would say something else.
    one = owner.upload(openapi=pets())
    with owner.household.house.db.write() as tx:
        tx.execute(text("UPDATE bundles SET operations = 77 WHERE id = :id"), {"id": one["bundleId"]})
    again = owner.upload(openapi=pets(), promote=True)
    assert again["bundleId"] == one["bundleId"]
    assert (again["bundle"]["operations"], again["bundle"]["status"]) == (77, "active")


def test_an_overlay_changes_what_is_built_and_has_a_hash(owner: Publisher) -> None:
    overlay = {
        "overlay": "1.0.0",
        "info": {"title": "t", "version": "1"},
        "actions": [{"target": "$.paths['/pets'].get", "update": {"x-ammeter-name": "findAll"}}],
    }
    answer = owner.upload(openapi=pets(), overlay=overlay)
    assert [entry["sdkName"] for entry in answer["apiDiff"]["added"]] == ["pets.findAll"]
    assert answer["overlayHash"].startswith("sha256:")
    assert owner.upload(openapi=pets(), overlay=yaml.safe_dump(overlay))["bundleId"] == answer["bundleId"]


def test_roles_and_features_are_looked_at_before_anything_is_built(owner: Publisher) -> None:
    assert refusal(owner.send(Role.viewer, openapi=pets())) == (403, "insufficient_role")
    assert refusal(owner.send(Role.editor, openapi=pets(), promote=True)) == (403, "insufficient_role")
    assert owner.total() == 0
    bundle = owner.upload(role=Role.editor, openapi=pets())["bundleId"]
    for role in (Role.viewer, Role.editor):
        assert refusal(owner.call("POST", f"/{bundle}/promote", role)) == (403, "insufficient_role")
    assert owner.call("POST", f"/{bundle}/promote", Role.admin).status_code == 200
    with owner.household.house.db.write() as tx:
        service.set_features(tx, OPERATOR, owner.household.org, code_mode=False)
    assert refusal(owner.send(openapi=pets())) == (403, "feature_disabled")
    assert refusal(owner.call("POST", f"/{bundle}/promote")) == (403, "feature_disabled")


def test_what_is_another_organizations_or_another_sources_is_not_there(
    owner: Publisher, neighbour: Household
) -> None:
    bundle = owner.upload(openapi=pets())["bundleId"]
    with owner.household.house.db.write() as tx:
        org_id = owner.household.org.id
        slug = f"other-{owner.slug}"
        other = provision_source(tx, OPERATOR, org_id, name="Other", source_slug=slug)
        _, limited = keys.mint_key(tx, OPERATOR, org_id, name="k", role=Role.admin, source_ids=[other.id])
    stranger = make_publisher(neighbour).household.tokens[Role.owner]
    for token in (limited, stranger):
        assert refusal(owner.send(token=token, openapi=pets())) == (404, "not_found")
        assert refusal(owner.call("GET", f"/{bundle}", token=token)) == (404, "not_found")
        assert refusal(owner.call("POST", f"/{bundle}/promote", token=token)) == (404, "not_found")
        assert refusal(owner.call("GET", f"?source={owner.slug}", token=token)) == (404, "not_found")
    assert refusal(owner.send(openapi=pets(), source="nothing")) == (404, "not_found")
    assert owner.total() == 1


@pytest.mark.parametrize("off", [-301, 400, -100_000])
def test_a_stale_or_future_timestamp_is_refused(owner: Publisher, off: int) -> None:
    stamp = str(int(time.time()) + off)
    assert refusal(owner.send(openapi=pets(), stamp=stamp)) == (401, "stale_timestamp")


@pytest.mark.parametrize("stamp", ["", "soon", "-5", "1e9", "1700000000.5", "٣٣٣", "9" * 13])
def test_a_malformed_timestamp_is_refused(owner: Publisher, stamp: str) -> None:
    raw = b"{}"
    headers = {name.encode(): value.encode() for name, value in signed("amt", raw, stamp).items()}
    headers[b"authorization"] = b"Bearer " + owner.household.tokens[Role.owner].encode()
    answer = owner.household.client.post(f"{BASE}/upload", content=raw, headers=headers)
    assert refusal(answer) == (401, "invalid_signature")


def test_a_missing_malformed_or_wrong_signature_is_refused(owner: Publisher) -> None:
    raw = json.dumps({"source": owner.slug, "openapi": pets()}).encode()
    token, client = owner.household.tokens[Role.owner], owner.household.client
    good = signed(token, raw)
    for wrong in ("", "xyz", "0" * 64, good["x-service-signature"][:-1], "é" * 64):
        headers = {name.encode(): value.encode() for name, value in good.items()}
        headers[b"x-service-signature"] = wrong.encode()
        answer = client.post(f"{BASE}/upload", content=raw, headers=headers)
        assert refusal(answer) == (401, "invalid_signature")
    for missing in ("x-service-timestamp", "x-service-signature"):
        rest = {name: value for name, value in good.items() if name != missing}
        answer = client.post(f"{BASE}/upload", content=raw, headers=rest)
        assert refusal(answer) == (401, "invalid_signature")
    changed = client.post(f"{BASE}/upload", content=raw + b" ", headers=good)
    assert refusal(changed) == (401, "invalid_signature")
    of_another_key = {**good, "authorization": f"Bearer {owner.household.tokens[Role.admin]}"}
    answer = client.post(f"{BASE}/upload", content=raw, headers=of_another_key)
    assert refusal(answer) == (401, "invalid_signature")
    assert refusal(client.post(f"{BASE}/upload", content=raw)) == (401, "unauthenticated")
    assert owner.total() == 0


def test_a_replayed_upload_does_nothing_more(owner: Publisher) -> None:
    raw = json.dumps({"source": owner.slug, "openapi": pets(), "promote": True}).encode()
    headers = signed(owner.household.tokens[Role.owner], raw)
    first, second = (
        owner.household.client.post(f"{BASE}/upload", content=raw, headers=headers) for _ in range(2)
    )
    assert first.json()["bundleId"] == second.json()["bundleId"]
    assert second.json()["rollback"] == {"previousBundleId": None}
    assert owner.total() == 1
    audited = owner.household.call("GET", "/org/audit").json()["rows"]
    actions = [row["action"] for row in audited if row["target"] == first.json()["bundleId"]]
    assert sorted(actions) == ["bundle.promote", "bundle.upload"]


def test_a_body_over_six_megabytes_is_refused(owner: Publisher) -> None:
    answer = owner.send(openapi="x" * (6 * 1024 * 1024))
    assert refusal(answer) == (413, "payload_too_large")
    assert owner.send(openapi=pets() | {"x-big": "x" * 5_000_000}).status_code == 201


def test_promoting_again_says_the_same_and_unknown_bundles_are_not_found(owner: Publisher) -> None:
    bundle = owner.upload(openapi=pets(), promote=True)["bundleId"]
    again = owner.call("POST", f"/{bundle}/promote")
    assert (again.status_code, again.json()["rollback"]) == (200, {"previousBundleId": None})
    for path in ("nothing", UNKNOWN, "%00", "../upload", bundle.upper()[:-1]):
        assert refusal(owner.call("GET", f"/{path}"))[0] in (404, 405)
        assert refusal(owner.call("POST", f"/{path}/promote")) == (404, "not_found")


def test_bundles_are_listed_page_by_page_to_any_role(owner: Publisher) -> None:
    made = [owner.upload(openapi=pets(f"/p{n}"))["bundleId"] for n in range(3)]
    owner.upload(openapi=pets(), environment="staging")
    where = f"?source={owner.slug}&environment=production&pageSize=2"
    first = owner.call("GET", where, Role.viewer).json()
    second = owner.call("GET", where + "&page=2", Role.viewer).json()
    assert [row["id"] for row in first["rows"] + second["rows"]] == made[::-1]
    assert (first["total"], first["hasMore"], second["hasMore"]) == (3, True, False)
    assert owner.call("GET", f"?source={owner.slug}&environment=nowhere").json()["rows"] == []
    assert details(owner.call("GET", "")) == {"query.source": "this is required"}
    assert "query.enviroment" in details(owner.call("GET", where + "&enviroment=x"))


def test_one_bundle_is_read_with_the_diff_against_the_active_one(owner: Publisher) -> None:
    active = owner.upload(openapi=pets("/pets", "/owners"), promote=True)["bundleId"]
    other = owner.upload(openapi=pets("/pets", "/vets"))["bundleId"]
    read = owner.call("GET", f"/{other}", Role.viewer).json()
    assert [entry["path"] for entry in read["apiDiff"]["added"]] == ["/vets"]
    assert [entry["path"] for entry in read["apiDiff"]["removed"]] == ["/owners"]
    (broken,) = read["apiDiff"]["breaking"]
    assert (broken["path"], broken["recentUse"]) == ("/owners", {"scripts": 0, "sessions": 0})
    assert read["apiDiff"]["entriesLeftOut"] == dict.fromkeys(
        ("added", "removed", "signatureChanged", "breaking"), 0
    )
    itself = owner.call("GET", f"/{active}", Role.viewer).json()["apiDiff"]
    assert [itself[name] for name in ("added", "removed", "signatureChanged", "breaking")] == [[]] * 4


@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_lost_artifact_is_told_logged_and_made_anew(
    owner: Publisher, caplog: pytest.LogCaptureFixture, is_damaged: bool
) -> None:
    bundle = owner.upload(openapi=pets(), promote=True)["bundleId"]
    digest = owner.stored(bundle).digest
    blobs = owner.household.house.blobs
    blobs.delete(digest)
    if is_damaged:
        root = owner.household.house.settings.data_dir / "blobs"
        (root / blobs.path_of(digest)).write_bytes(b"PK no more")
    with caplog.at_level(logging.ERROR):
        answer = owner.call("GET", f"/{bundle}")
    assert refusal(answer) == (500, "internal")
    assert "Upload the same description again" in answer.json()["error"]["message"]
    assert any(bundle in record.getMessage() and record.exc_info is None for record in caplog.records)

    later = owner.upload(openapi=pets("/new"))
    assert [finding["code"] for finding in later["findings"]] == ["active_bundle_lost"]
    assert [entry["path"] for entry in later["apiDiff"]["added"]] == ["/new"]

    assert owner.upload(openapi=pets())["bundleId"] == bundle
    assert len(unpack(blobs.get(digest)).cards) == 1
    assert owner.call("GET", f"/{bundle}").status_code == 200
