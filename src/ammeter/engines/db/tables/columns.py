"""What all tables share: one collection, names of constraints, and the two columns that nearly each has."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, MetaData, Text, event

from ammeter.engines.db.dialects import limit_partial_indexes

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)
event.listen(metadata, "before_create", limit_partial_indexes)


def id_column() -> Column[str]:
    return Column("id", Text, primary_key=True)


def org_column() -> Column[str]:
    return Column("org_id", Text, ForeignKey("organizations.id"), nullable=False)
