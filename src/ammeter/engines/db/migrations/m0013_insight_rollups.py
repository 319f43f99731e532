"""Sums by day of topics and failed searches, and in the roll-ups of telemetry the sessions that are strained
or state an intent; all of them made from what is there."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    PrimaryKeyConstraint,
    Text,
    bindparam,
    column,
    table,
    text,
    update,
)

_COUNTED = text(
    "SELECT org_id, source_id, environment, started_at / :width * :width AS at,"
    " SUM(CASE WHEN strained THEN 1 ELSE 0 END) AS strained,"
    " SUM(CASE WHEN has_intent THEN 1 ELSE 0 END) AS asking"
    " FROM telemetry_sessions GROUP BY 1, 2, 3, 4"
)
_ROLL_UPS = (("telemetry_hours", 3_600_000), ("telemetry_days", 86_400_000))
_PLACE = ("org_id", "source_id", "environment", "at")


def upgrade(op: Operations, distributed: bool) -> None:
    _sessions(op)
    _spread(op)
    _topic_days(op)
    _cluster_days(op)
    _topic_clusters(op)


def _sessions(op: Operations) -> None:
    sessions = "telemetry_sessions"
    op.add_column(sessions, Column("counted_at", BigInteger, nullable=False, server_default="0"))
    op.execute("UPDATE telemetry_sessions SET counted_at = started_at")
    op.drop_index("ix_telemetry_sessions_strained", table_name=sessions)
    op.create_index("ix_telemetry_sessions_strained", sessions, ["org_id", "strained", "last_event_at"])
    for name, width in _ROLL_UPS:
        for count in ("strained_sessions", "sessions_with_intent"):
            op.add_column(name, Column(count, BigInteger, nullable=False, server_default="0"))
        counted = op.get_bind().execute(_COUNTED, {"width": width})
        if rows := [{f"its_{key}": value for key, value in row.items()} for row in counted.mappings()]:
            sums = table(name, *map(column, (*_PLACE, "strained_sessions", "sessions_with_intent")))
            changing = update(sums).where(*(sums.c[key] == bindparam(f"its_{key}") for key in _PLACE))
            told = {"strained_sessions": "its_strained", "sessions_with_intent": "its_asking"}
            changing = changing.values({count: bindparam(its) for count, its in told.items()})
            op.get_bind().execute(changing, rows)


def _spread(op: Operations) -> None:
    for name in ("insight_intents", "insight_misses"):
        op.add_column(name, Column("spread_at", BigInteger))
    op.execute(
        "CREATE TEMPORARY TABLE spread_sessions AS SELECT session_id FROM"
        " (SELECT session_id, last_at AS at FROM insight_intents"
        " UNION ALL SELECT session_id, at FROM insight_misses) AS seen"
        " GROUP BY session_id HAVING MIN(at / 86400000) <> MAX(at / 86400000)"
    )
    op.execute(
        "UPDATE insight_intents SET spread_at = last_at WHERE session_id IN"
        " (SELECT session_id FROM spread_sessions)"
    )
    op.execute(
        "UPDATE insight_misses SET spread_at = at WHERE session_id IN"
        " (SELECT session_id FROM spread_sessions)"
    )
    op.execute("DROP TABLE spread_sessions")
    for name in ("insight_intents", "insight_misses"):
        op.create_index(
            f"ix_{name}_spread",
            name,
            ["org_id", "spread_at"],
            sqlite_where=text("spread_at IS NOT NULL"),
            postgresql_where=text("spread_at IS NOT NULL"),
        )
    op.create_index("ix_insight_intents_topic_id_first_at", "insight_intents", ["topic_id", "first_at"])


def _topic_days(op: Operations) -> None:
    op.create_table(
        "insight_topic_days",
        Column("org_id", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("topic_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("intents", Integer, nullable=False),
        Column("sessions", Integer, nullable=False),
        Column("scripts", Integer, nullable=False),
        Column("frustration_sum", Integer, nullable=False),
        Column("frustration_count", Integer, nullable=False),
        PrimaryKeyConstraint("org_id", "at", "topic_id", "source_id", name="pk_insight_topic_days"),
    )
    op.execute(
        "INSERT INTO insight_topic_days"
        " SELECT org_id, last_at / 86400000 * 86400000, COALESCE(topic_id, ''), source_id, COUNT(*),"
        " COUNT(DISTINCT CASE WHEN spread_at IS NULL THEN session_id END), SUM(scripts),"
        " SUM(frustration_sum), SUM(frustration_count) FROM insight_intents GROUP BY 1, 2, 3, 4"
    )


def _cluster_days(op: Operations) -> None:
    op.create_table(
        "insight_cluster_days",
        Column("org_id", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("cluster_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("searches", Integer, nullable=False),
        Column("sessions", Integer, nullable=False),
        PrimaryKeyConstraint("org_id", "at", "cluster_id", "source_id", name="pk_insight_cluster_days"),
    )
    op.execute(
        "INSERT INTO insight_cluster_days"
        " SELECT org_id, at / 86400000 * 86400000, cluster_id, source_id, COUNT(*),"
        " COUNT(DISTINCT CASE WHEN spread_at IS NULL THEN session_id END)"
        " FROM insight_misses GROUP BY 1, 2, 3, 4"
    )


def _topic_clusters(op: Operations) -> None:
    op.create_table(
        "insight_topic_clusters",
        Column("org_id", Text, nullable=False),
        Column("topic_id", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("cluster_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("searches", Integer, nullable=False),
        PrimaryKeyConstraint(
            "org_id", "topic_id", "at", "cluster_id", "source_id", name="pk_insight_topic_clusters"
        ),
    )
    op.execute(
        "INSERT INTO insight_topic_clusters"
        " SELECT m.org_id, i.topic_id, m.at / 86400000 * 86400000, m.cluster_id, m.source_id, COUNT(*)"
        " FROM insight_misses AS m JOIN"
        " (SELECT DISTINCT session_id, topic_id FROM insight_intents WHERE topic_id IS NOT NULL) AS i"
        " ON i.session_id = m.session_id WHERE m.spread_at IS NULL GROUP BY 1, 2, 3, 4, 5"
    )
