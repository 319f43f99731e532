"""Bundles and diffs as the interface writes them."""

from __future__ import annotations

from collections.abc import Sequence

from ammeter.doors.http.records import Instant
from ammeter.doors.http.strict import Record
from ammeter.engines.compiler.diff import ApiDiff, Entry
from ammeter.engines.compiler.model import Level
from ammeter.features.bundles.model import Status, StoredBundle
from ammeter.features.sources.model import Source


class BundleRecord(Record):
    id: str
    source: str | None
    environment: str
    status: Status
    storage_path: str
    openapi_hash: str
    overlay_hash: str | None
    size_bytes: int
    operations: int
    created_at: Instant
    repository: str | None
    commit_sha: str | None
    branch: str | None
    pull_request_number: int | None


class ChangeRecord(Record):
    rule: str
    level: Level
    pointer: str
    message: str


class EntryRecord(Record):
    operation_id: str
    method: str
    path: str
    sdk_name: str
    changes: Sequence[ChangeRecord]


class UseRecord(Record):
    scripts: int
    sessions: int


class BreakingRecord(EntryRecord):
    recent_use: UseRecord


class DiffRecord(Record):
    added: Sequence[EntryRecord]
    removed: Sequence[EntryRecord]
    signature_changed: Sequence[EntryRecord]
    breaking: Sequence[BreakingRecord]


class RollbackRecord(Record):
    previous_bundle_id: str | None


class FindingRecord(Record):
    level: Level
    code: str
    pointer: str
    message: str


class PromotedRecord(Record):
    bundle: BundleRecord
    rollback: RollbackRecord


class ReadRecord(PromotedRecord):
    api_diff: DiffRecord
    findings: Sequence[FindingRecord]


class UploadedRecord(ReadRecord):
    bundle_id: str
    storage_path: str
    openapi_hash: str
    overlay_hash: str | None


def bundle_record(bundle: StoredBundle, source: Source, storage_path: str) -> BundleRecord:
    return BundleRecord(
        id=bundle.id,
        source=source.source_slug,
        environment=bundle.environment,
        status=bundle.status,
        storage_path=storage_path,
        openapi_hash=bundle.openapi_hash,
        overlay_hash=bundle.overlay_hash,
        size_bytes=bundle.size_bytes,
        operations=bundle.operations,
        created_at=bundle.created_at,
        repository=bundle.repository,
        commit_sha=bundle.commit_sha,
        branch=bundle.branch,
        pull_request_number=bundle.pull_request_number,
    )


def diff_record(diff: ApiDiff) -> DiffRecord:
    # No scripts are recorded yet, so none has used anything.
    unused = UseRecord(scripts=0, sessions=0)
    return DiffRecord(
        added=[_entry(entry) for entry in diff.added],
        removed=[_entry(entry) for entry in diff.removed],
        signature_changed=[_entry(entry) for entry in diff.signature_changed],
        breaking=[
            BreakingRecord(**_entry(entry).model_dump(by_alias=False), recent_use=unused)
            for entry in diff.breaking
        ],
    )


def findings_records(bundle: StoredBundle) -> list[FindingRecord]:
    return [FindingRecord(**finding) for finding in bundle.findings]


def _entry(entry: Entry) -> EntryRecord:
    return EntryRecord(
        operation_id=entry.operation_id,
        method=entry.method.upper(),
        path=entry.path,
        sdk_name=entry.sdk_name,
        changes=[
            ChangeRecord(rule=c.rule, level=c.level, pointer=c.pointer, message=c.message)
            for c in entry.changes
        ],
    )
