"""The laboratory of the runs' own tests, and a worker beside the server for agents that wait."""

from __future__ import annotations

from tests.features.evals.conftest import lab, lab_client, lab_house, notes

__all__ = ["lab", "lab_client", "lab_house", "notes"]
