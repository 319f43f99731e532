"""Procrastinate's own tables, functions and triggers, where machines share the database.

The text is the installed release's, which pyproject pins to one minor version. Raising that pin means
freezing this text in a file here and adding procrastinate's own migration as a further step.
"""

from __future__ import annotations

from alembic.operations import Operations


def upgrade(op: Operations, distributed: bool) -> None:
    if not distributed:
        return
    from procrastinate.schema import SchemaManager

    driver = op.get_bind().connection.driver_connection
    assert driver is not None
    # Many statements in one text, with bare percent signs: the driver takes both only without parameters.
    driver.execute(SchemaManager.get_schema())
