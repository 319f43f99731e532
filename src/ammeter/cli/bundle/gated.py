"""`ammeter bundle promote --require-suite`: a suite is run against the stored bundle where it is previewed,
and it is served only where that is ready to ship. Says what breaks, and which stored scripts with it."""

from __future__ import annotations

import sys
from typing import Any

from ammeter.cli.bundle.options import BASE, connect
from ammeter.cli.bundle.serve import show_promoted
from ammeter.cli.bundle.shown import diff_lines, script_lines, show_lines
from ammeter.cli.gate.command import Outputs, guarded, report_on
from ammeter.cli.gate.end import PASSED
from ammeter.cli.gate.patience import Patience
from ammeter.cli.gate.progress import Progress
from ammeter.cli.gate.suites import play_suite
from ammeter.cli.remote import Remote, path_of
from ammeter.cli.suite.find import suite_id_of

_PATIENCE_S = 120.0


def promote_gated(
    bundle_id: str, suite: str, *, url: str | None, key: str | None, as_json: bool, timeout_s: float
) -> int:
    """The exit code, as a gate has it."""
    progress = Progress(sys.stderr, quiet=as_json)

    def work() -> int:
        remote = connect(url, key)
        patience = Patience(lasts_s=_PATIENCE_S, tell=progress.say)
        order = {
            "suite": patience.ask(lambda: suite_id_of(remote, suite)),
            "bundleId": bundle_id,
            "baselineSuiteRunId": "last",
            "reason": f"bundle {bundle_id}",
        }
        outputs = Outputs(junit=None, markdown=None, report=None, annotations=False, as_json=as_json)
        played = play_suite(remote, order, patience, progress, timeout_s=timeout_s)
        code = report_on(remote, played, patience, outputs)
        if code == PASSED:
            answer = patience.ask(lambda: remote.post(f"{BASE}{path_of(bundle_id)}/promote"))
            show_promoted(answer, as_json=as_json)
        elif not as_json:
            _show_why(remote, bundle_id)
        return code

    return guarded(work, progress)


def _show_why(remote: Remote, bundle_id: str) -> None:
    """The bundle is not served; what it would break may be the reason."""
    found: Any = remote.get(BASE + path_of(bundle_id))
    print("The bundle is not promoted.")
    show_lines(diff_lines(found["apiDiff"]))
    show_lines(script_lines(found["brokenScripts"]))
