"""The areas of evals: cases, suites, runs."""

from __future__ import annotations

from ammeter.doors.dashboard.evals import case_editor, cases, run, runs, suite_editor, suite_runs, suites
from ammeter.doors.dashboard.site import Area, Entry

CASES = Area(
    entry=Entry(section="Test", label="Eval cases", path="/cases", icon="case"),
    # Fixed addresses stand before those with a part that varies.
    views=(*case_editor.VIEWS, *cases.VIEWS),
)
SUITES = Area(
    entry=Entry(section="Test", label="Suites", path="/suites", icon="suite"),
    views=(*suite_editor.VIEWS, *suite_runs.VIEWS, *suites.VIEWS),
)
RUNS = Area(
    entry=Entry(section="Test", label="Runs", path="/runs", icon="run"),
    views=(*runs.VIEWS, *run.VIEWS),
)
