"""A diff as it is answered: whole where it is small, bounded where it is large, what is left out counted."""

from __future__ import annotations

from ammeter.doors.http.bundle_records import MAX_CHANGES, diff_record
from ammeter.engines.compiler.diff import ApiDiff, Change, Entry
from ammeter.features.bundles.model import Use

MAX_ANSWER_BYTES = 2 * 1024 * 1024


def entry(number: int, changes: int) -> Entry:
    return Entry(
        operation_id=f"operation{number}",
        method="get",
        path=f"/things/{number}/parts/{{partId}}",
        sdk_name=f"things.operation{number}",
        changes=tuple(
            Change(
                rule="response-property-removed",
                level="error" if place == 0 else "info",
                pointer=f"/paths/~1things~1{number}/get/responses/200/content/application~1json/schema/{place}",
                message=f"The answer has no field{place} any more; scripts that read it get undefined. " * 2,
            )
            for place in range(changes)
        ),
    )


def diff_of(count: int, changes: int) -> ApiDiff:
    entries = tuple(entry(number, changes) for number in range(count))
    return ApiDiff(added=entries, removed=entries, signature_changed=entries, breaking=entries)


def test_a_small_diff_is_answered_whole_and_says_who_used_what_breaks() -> None:
    record = diff_record(diff_of(3, 10), {"operation1": Use(scripts=4, sessions=2)})
    assert [len(listed.changes) for listed in record.signature_changed] == [10] * 3
    assert [listed.changes_left_out for listed in record.breaking] == [0] * 3
    assert [(listed.recent_use.scripts, listed.recent_use.sessions) for listed in record.breaking] == [
        (0, 0),
        (4, 2),
        (0, 0),
    ]
    assert record.entries_left_out.breaking == 0


def test_one_entry_has_a_bounded_number_of_changes() -> None:
    (listed,) = diff_record(diff_of(1, 500), {}).signature_changed
    assert (len(listed.changes), listed.changes_left_out) == (MAX_CHANGES, 500 - MAX_CHANGES)


def test_the_rewrite_of_a_large_api_is_bounded_and_tells_what_is_left_out() -> None:
    for count, changes in ((1_000, 40), (1_000, 1), (10_000, 5)):
        record = diff_record(diff_of(count, changes), {})
        assert len(record.model_dump_json(by_alias=True)) < MAX_ANSWER_BYTES
        listed = record.signature_changed
        assert len(listed) + record.entries_left_out.signature_changed == count
        assert all(shown.changes[0].level == "error" for shown in listed)
        assert all(len(shown.changes) + shown.changes_left_out == changes for shown in listed)
    assert len(diff_record(diff_of(1_000, 1), {}).added) > 900
