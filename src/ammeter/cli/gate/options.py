"""What `ammeter gate` is told on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

SuiteOption = Annotated[str | None, typer.Option(help="Name or id of a suite.", show_default=False)]
CaseOption = Annotated[
    list[str] | None,
    typer.Option(help="Name or id of a workflow; may be given again.", show_default=False),
]
Category = Annotated[str | None, typer.Option(help="All active cases of this category.", show_default=False)]
Models = Annotated[
    list[str] | None,
    typer.Option(help="Model that every case has; may be given again.", show_default="each case's own"),
]
Baseline = Annotated[
    str | None, typer.Option(help="Suite run to compare with, or `last`.", show_default=False)
]
Bundle = Annotated[
    str | None, typer.Option(help="Bundle to run against before it is promoted.", show_default=False)
]
Reason = Annotated[str, typer.Option(help="Shown next to the runs.")]
IdempotencyKey = Annotated[
    str | None, typer.Option(help="A second start with it gives the same suite run.", show_default=False)
]
Timeout = Annotated[float, typer.Option(min=1, help="Seconds to wait for the end.")]
PatienceS = Annotated[
    float, typer.Option(min=0, help="Seconds to put up with 429s and a server out of reach.")
]
Junit = Annotated[Path | None, typer.Option(help="Write JUnit XML here.", show_default=False)]
Markdown = Annotated[
    Path | None,
    typer.Option("--markdown", help="Append Markdown here.", show_default="GITHUB_STEP_SUMMARY"),
]
ReportFile = Annotated[Path | None, typer.Option(help="Write JSON here.", show_default=False)]
Annotations = Annotated[
    Literal["auto", "github", "none"], typer.Option(help="auto: where GitHub Actions runs it.")
]
PrintJson = Annotated[bool, typer.Option("--json", help="Print the report as JSON.")]
