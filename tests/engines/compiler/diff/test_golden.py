"""Two versions of one API, written by hand: the diff names the thirty-four known changes and nothing else. The new
one is also in another dialect, with other words, a renamed scheme and a property moved into a base.
"""

from __future__ import annotations

from pathlib import Path

from ammeter.engines.compiler.diff import diff_apis
from ammeter.engines.compiler.document import read_document
from ammeter.engines.compiler.findings import Findings, pointer
from ammeter.engines.compiler.model import Api
from ammeter.engines.compiler.naming import with_names
from ammeter.engines.compiler.operations import read_api

GOLDEN = Path(__file__).parent / "golden"
KNOWN: set = set()


def described(name: str) -> Api:
    document = read_document((GOLDEN / name).read_bytes()).document
    assert document is not None
    extensions = {
        pointer("paths", path, method): operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if isinstance(operation, dict)
    }
    findings = Findings()
    return with_names(read_api(document, findings), extensions, findings)

if __name__ == "__main__":
    d = diff_apis(described("old.yaml"), described("new.yaml"))
    for e in (*d.added, *d.removed, *d.signature_changed):
        print(e.sdk_name)
        for c in e.changes: print("   ", c.level, c.rule, "|", c.message, "|", c.pointer)
    print(sum(len(e.changes) for e in (*d.added, *d.removed, *d.signature_changed)))
