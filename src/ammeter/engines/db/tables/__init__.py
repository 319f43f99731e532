"""Every table, once. Imported by stores, `jobs`, `buckets` and `migrate` only.

Migrations are written by hand beside this folder; a test holds a migrated database equal to this one.
Ids are text (UUIDv7), instants are milliseconds, JSON is the database's own JSON type.
"""

from __future__ import annotations

from ammeter.engines.db.tables.columns import metadata
from ammeter.engines.db.tables.evals import (
    run_counts,
    run_evaluations,
    run_events,
    run_keys,
    runs,
    workflow_versions,
    workflows,
)
from ammeter.engines.db.tables.identity import (
    api_keys,
    audit_events,
    members,
    org_secrets,
    organizations,
    people,
    run_usage,
    web_sessions,
)
from ammeter.engines.db.tables.insights import (
    insight_cluster_days,
    insight_clusters,
    insight_forms,
    insight_intents,
    insight_lineage,
    insight_misses,
    insight_names,
    insight_sessions,
    insight_shown,
    insight_states,
    insight_topic_clusters,
    insight_topic_days,
    insight_topics,
)
from ammeter.engines.db.tables.serving import (
    active_bundles,
    auth_profiles,
    bundles,
    skill_versions,
    skills,
    sources,
)
from ammeter.engines.db.tables.suite import suite_cases, suite_runs, suites
from ammeter.engines.db.tables.telemetry import (
    DURATION_COLUMNS,
    telemetry_askers,
    telemetry_days,
    telemetry_events,
    telemetry_hours,
    telemetry_operation_days,
    telemetry_session_intents,
    telemetry_session_operations,
    telemetry_session_searches,
    telemetry_sessions,
)
from ammeter.engines.db.tables.work import JOB_IS_OPEN, jobs, rate_buckets, schedules

__all__ = [
    "DURATION_COLUMNS",
    "JOB_IS_OPEN",
    "active_bundles",
    "api_keys",
    "audit_events",
    "auth_profiles",
    "bundles",
    "insight_cluster_days",
    "insight_clusters",
    "insight_forms",
    "insight_intents",
    "insight_lineage",
    "insight_misses",
    "insight_names",
    "insight_sessions",
    "insight_shown",
    "insight_states",
    "insight_topic_clusters",
    "insight_topic_days",
    "insight_topics",
    "jobs",
    "members",
    "metadata",
    "org_secrets",
    "organizations",
    "people",
    "rate_buckets",
    "run_counts",
    "run_evaluations",
    "run_events",
    "run_keys",
    "run_usage",
    "runs",
    "schedules",
    "skill_versions",
    "skills",
    "sources",
    "suite_cases",
    "suite_runs",
    "suites",
    "telemetry_askers",
    "telemetry_days",
    "telemetry_events",
    "telemetry_hours",
    "telemetry_operation_days",
    "telemetry_session_intents",
    "telemetry_session_operations",
    "telemetry_session_searches",
    "telemetry_sessions",
    "web_sessions",
    "workflow_versions",
    "workflows",
]
