"""`ammeter demo seed`: three months of made-up telemetry for the demo organization."""

from __future__ import annotations

from typing import Annotated

import typer

from ammeter.cli.demo_seed.load import DAYS, MANY_A_DAY, demo_shop, has_telemetry, seed, show_insights
from ammeter.cli.house import AsJson, opened
from ammeter.cli.shown import show


def demo_commands() -> typer.Typer:
    demo = typer.Typer(no_args_is_help=True, help="The demo organization that `ammeter serve --demo` makes.")
    demo.command("seed")(seed_demo)
    # With one command alone, typer would take its name away.
    demo.callback()(_no_options)
    return demo


def seed_demo(
    days: Annotated[int, typer.Option(min=1, max=365, help="How many days, up to today.")] = DAYS,
    sessions: Annotated[int, typer.Option(min=1, max=10_000, help="Sessions on a working day.")] = MANY_A_DAY,
    as_json: AsJson = False,
) -> None:
    """Fill the demo organization with telemetry; what is there already stays, what is missing is added."""
    with opened() as house:
        org_id = demo_shop(house.db).org_id
        is_first = not has_telemetry(house.db, org_id)
        seeded = seed(house.db, days=days, a_day=sessions)
        if seeded.events:
            show_insights(house, org_id, name_topics=is_first)
    show(seeded, as_json=as_json, title="Seeded the demo organization" if seeded.events else "Nothing to add")


def _no_options() -> None:
    return
