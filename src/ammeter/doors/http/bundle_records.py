"""Bundles and diffs as the interface writes them, and how much of a large diff is written.

Each of a diff's four lists has its share of characters, so that the rewrite of a large API is still an
answer that people and CI can read; what is left out is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ammeter.doors.http.records import Instant
from ammeter.doors.http.strict import Record
from ammeter.engines.compiler.diff import ApiDiff, Entry
from ammeter.engines.compiler.model import Finding, Level
from ammeter.features.bundles.model import RecentScript, Status, StoredBundle, Use
from ammeter.features.sources.model import Source

MAX_LIST_CHARACTERS = 450_000
MAX_CHANGES = 50
_MESSAGES = 5
# What JSON puts around the values of an entry or a change.
_FRAME = 80


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
    changes_left_out: int


class UseRecord(Record):
    scripts: int
    sessions: int


class BreakingRecord(EntryRecord):
    recent_use: UseRecord


class LeftOutRecord(Record):
    added: int
    removed: int
    signature_changed: int
    breaking: int


class DiffRecord(Record):
    added: Sequence[EntryRecord]
    removed: Sequence[EntryRecord]
    signature_changed: Sequence[EntryRecord]
    breaking: Sequence[BreakingRecord]
    entries_left_out: LeftOutRecord


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


class BrokenOperationRecord(Record):
    operation_id: str
    sdk_name: str
    messages: Sequence[str]


class BrokenScriptRecord(Record):
    event_id: str
    session_id: str
    last_run_at: Instant
    runs: int
    intent: str | None
    operations: Sequence[BrokenOperationRecord]
    code: str | None


class ReadRecord(PromotedRecord):
    api_diff: DiffRecord
    broken_scripts: Sequence[BrokenScriptRecord]
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


def diff_record(diff: ApiDiff, uses: Mapping[str, Use]) -> DiffRecord:
    added, removed = _listed(diff.added), _listed(diff.removed)
    changed, breaking = _listed(diff.signature_changed), _listed(diff.breaking)
    return DiffRecord(
        added=added,
        removed=removed,
        signature_changed=changed,
        breaking=[
            BreakingRecord(**dict(entry), recent_use=_use(uses.get(entry.operation_id))) for entry in breaking
        ],
        entries_left_out=LeftOutRecord(
            added=len(diff.added) - len(added),
            removed=len(diff.removed) - len(removed),
            signature_changed=len(diff.signature_changed) - len(changed),
            breaking=len(diff.breaking) - len(breaking),
        ),
    )


def script_records(scripts: Sequence[RecentScript], diff: ApiDiff) -> list[BrokenScriptRecord]:
    """Stored scripts that would break, each with the operations that break it, and how."""
    entries = {entry.operation_id: entry for entry in diff.breaking}
    return [
        BrokenScriptRecord(
            event_id=script.event_id,
            session_id=script.session_id,
            last_run_at=script.last_run_at,
            runs=script.runs,
            intent=script.intent,
            operations=[
                BrokenOperationRecord(
                    operation_id=name,
                    sdk_name=entries[name].sdk_name,
                    messages=[c.message for c in entries[name].changes if c.level == "error"][:_MESSAGES],
                )
                for name in script.operation_ids
                if name in entries
            ],
            code=script.code,
        )
        for script in scripts
    ]


def findings_records(findings: Sequence[Finding]) -> list[FindingRecord]:
    return [FindingRecord(level=f.level, code=f.code, pointer=f.pointer, message=f.message) for f in findings]


def _use(use: Use | None) -> UseRecord:
    return UseRecord(scripts=use.scripts if use else 0, sessions=use.sessions if use else 0)


def _listed(entries: Sequence[Entry]) -> list[EntryRecord]:
    """Entries while there is room; each may take an equal part of what is left, its worst change always."""
    listed: list[EntryRecord] = []
    room = MAX_LIST_CHARACTERS
    for place, entry in enumerate(entries):
        if room <= 0:
            break
        share = room // (len(entries) - place)
        record, size = _entry(entry, share)
        listed.append(record)
        room -= size
    return listed


def _entry(entry: Entry, share: int) -> tuple[EntryRecord, int]:
    """As many of the changes as a share has room for, and the characters that were taken."""
    size = _FRAME + len(entry.operation_id) + len(entry.path) + len(entry.sdk_name)
    changes: list[ChangeRecord] = []
    for c in entry.changes[:MAX_CHANGES]:
        more = _FRAME + len(c.rule) + len(c.pointer) + len(c.message)
        if changes and size + more > share:
            break
        changes.append(ChangeRecord(rule=c.rule, level=c.level, pointer=c.pointer, message=c.message))
        size += more
    record = EntryRecord(
        operation_id=entry.operation_id,
        method=entry.method.upper(),
        path=entry.path,
        sdk_name=entry.sdk_name,
        changes=changes,
        changes_left_out=len(entry.changes) - len(changes),
    )
    return record, size
