"""What changed between two descriptions, for the scripts that call them."""

from ammeter.engines.compiler.diff.compare import diff_apis
from ammeter.engines.compiler.diff.model import ApiDiff, Change, Entry

__all__ = ["ApiDiff", "Change", "Entry", "diff_apis"]
