"""The one place where parts are put together: settings in, a House out.

No part finds another by itself; who needs something gets it here, and here it stands which handler
answers to which kind of job.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from ammeter.base.errors import SettingsError
from ammeter.engines.blobs.open import open_blobs
from ammeter.engines.blobs.port import Blobs
from ammeter.engines.buckets import Buckets, Policy
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.engines.hosting.host import Hosting
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import Handler, Jobs
from ammeter.engines.models.endpoints import VENDORS, Reachable
from ammeter.engines.models.gateway import Models
from ammeter.engines.oidc import OidcClient, Provider
from ammeter.engines.sandbox.lazy import LazySandbox
from ammeter.features.bundles.build import Builder
from ammeter.features.bundles.uploading import Uploads
from ammeter.features.evals import rejudge_job, run_job, scheduled_job, sweep_job
from ammeter.features.evals.run_job import Laboratory
from ammeter.features.gateway.lanes import Lanes
from ammeter.features.gateway.live import LiveBundles
from ammeter.features.insights import refresh_job
from ammeter.features.orgs.keys import LastUsed
from ammeter.features.orgs.sessions import Lifetime
from ammeter.features.secrets.references import OrgCredentials
from ammeter.features.secrets.sealing import open_key_ring
from ammeter.features.secrets.service import Secrets
from ammeter.features.sources import discovery_job, installs, provisioning_job
from ammeter.features.sources.connector import Connector
from ammeter.features.sources.targets import Place
from ammeter.features.suites.start import why_not_begin
from ammeter.features.telemetry.recorder import Recorder
from ammeter.features.telemetry.script_store import recent_scripts
from ammeter.features.telemetry.sessions import KEY_PURPOSE, SessionKeeper
from ammeter.features.telemetry.store import recent_use
from ammeter.features.upkeep import check_job, housekeeping_job
from ammeter.features.workflows.service import SCHEDULED_KIND, Surroundings
from ammeter.settings import Settings, seconds_in_environment

log = logging.getLogger("ammeter.wiring")


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    settings: Settings
    db: Database
    blobs: Blobs
    jobs: Jobs
    handlers: Mapping[str, Handler]
    secrets: Secrets
    buckets: Buckets
    api_policy: Policy
    last_used: LastUsed
    session_life: Lifetime
    single_sign_on: Provider | None
    sandbox: LazySandbox
    builder: Builder
    uploads: Uploads
    egress: Egress
    lanes: Lanes
    place: Place
    connector: Connector
    live: LiveBundles
    recorder: Recorder
    sessions: SessionKeeper
    models: Models
    runs_policy: Policy
    workflow_surroundings: Surroundings

    async def stop(self) -> None:
        """End what runs beside the event loop: compiling, the sandbox's workers, calls, the recorder."""
        self.builder.close()
        await self.sandbox.stop()
        await self.egress.close()
        await self.connector.close()
        await self.models.close()
        if self.single_sign_on is not None:
            await self.single_sign_on.close()
        await self.recorder.stop()

    def close(self) -> None:
        try:
            self.recorder.close()
            self.last_used.flush()
        finally:
            self.db.close()


def open_house(settings: Settings) -> House:
    """Connect, migrate, check the sealing keys. Every process starts here, commands too."""
    single_sign_on = _single_sign_on(settings)
    db = Database(settings.database, threads=settings.database_threads)
    try:
        migrate(db)
        secrets = _open_secrets(settings, db)
        blobs = _open_blobs(settings)
    except BaseException:
        db.close()
        raise
    jobs = make_jobs(db)
    sandbox = LazySandbox(settings.cache / "sandbox", hardening=settings.sandbox_hardening)
    builder = Builder(sandbox.open, at_once=settings.compile_concurrency, waiting=settings.compile_queue)
    connector = _open_connector(settings, db, secrets)
    session_life = Lifetime(
        idle=timedelta(minutes=settings.session_idle_minutes), longest=timedelta(days=settings.session_days)
    )
    models = Models(_reachable_models(settings))
    return House(
        settings=settings,
        db=db,
        blobs=blobs,
        jobs=jobs,
        handlers=_handlers(settings, db, blobs, jobs, connector, models, session_life),
        secrets=secrets,
        buckets=Buckets(db),
        api_policy=Policy(name="api", burst=settings.rate_api_burst, per_second=settings.rate_api_per_second),
        last_used=LastUsed(db),
        session_life=session_life,
        single_sign_on=single_sign_on,
        sandbox=sandbox,
        builder=builder,
        uploads=Uploads(db, blobs, builder, recent_use, recent_scripts),
        place=Place(public_url=settings.public_url, guard=Guard(_private_networks(settings))),
        connector=connector,
        egress=Egress(Guard(_private_networks(settings))),
        lanes=Lanes(),
        recorder=Recorder(db),
        sessions=SessionKeeper(db, lambda: secrets.derived_keys(KEY_PURPOSE)),
        models=models,
        runs_policy=Policy(
            name="runs", burst=settings.rate_runs_burst, per_second=settings.rate_runs_per_second
        ),
        workflow_surroundings=Surroundings(
            default_model=settings.default_model, model_problem=models.reachable.problem
        ),
        live=LiveBundles(blobs, capacity=settings.live_bundles, seconds_of=seconds_in_environment),
    )


def _handlers(
    settings: Settings,
    db: Database,
    blobs: Blobs,
    jobs: Jobs,
    connector: Connector,
    models: Models,
    session_life: Lifetime,
) -> dict[str, Handler]:
    """Which handler answers to which kind of job."""
    lab = Laboratory(
        db=db,
        models=models,
        judge_model=settings.judge_model,
        open=connector.open,
        why_not_begin=why_not_begin,
    )
    return {
        housekeeping_job.KIND: housekeeping_job.housekeeping_job(
            db,
            jobs,
            telemetry_days=settings.telemetry_retention_days,
            run_days=settings.run_retention_days,
            session_life=session_life,
            prune_installs=lambda at: installs.prune(
                db, connector.hosting, keep_days=settings.install_retention_days, at=at
            ),
        ),
        check_job.KIND: check_job.check_job(db),
        discovery_job.KIND: discovery_job.discovery_job(db, connector),
        provisioning_job.KIND: provisioning_job.provisioning_job(db, connector.hosting),
        run_job.KIND: run_job.run_job(lab),
        rejudge_job.KIND: rejudge_job.rejudge_job(lab),
        SCHEDULED_KIND: scheduled_job.scheduled_job(db, jobs),
        sweep_job.KIND: sweep_job.sweep_job(db),
        refresh_job.KIND: refresh_job.refresh_job(
            db, blobs, jobs, telemetry_days=settings.telemetry_retention_days
        ),
    }


def _open_connector(settings: Settings, db: Database, secrets: Secrets) -> Connector:
    networks = _private_networks(settings)
    environment = settings.secret_environment
    return Connector(
        db,
        guard=lambda: Guard(networks),
        public_url=settings.public_url,
        credentials=lambda org_id: OrgCredentials(db, secrets, org_id, environment, whose="The source"),
        hosting=Hosting(
            settings.cache / "hosting",
            tool_environment=settings.tool_environment,
            confinement=settings.hosting,
            guard=lambda: Guard(networks),
        ),
    )


def _single_sign_on(settings: Settings) -> Provider | None:
    if not settings.oidc_issuer:
        return None
    if not settings.oidc_client_id:
        raise SettingsError(
            "AMMETER_OIDC_CLIENT_ID: is needed with AMMETER_OIDC_ISSUER. See docs/settings.md."
        )
    client = OidcClient(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id,
        client_secret=settings.oidc_client_secret.get_secret_value(),
    )
    # The operator named it, wherever it is.
    return Provider(client, Egress(Guard(("*",))))


def _private_networks(settings: Settings) -> tuple[str, ...]:
    # The demo's API is this server's own.
    demo = ("127.0.0.0/8", "::1/128") if settings.demo else ()
    return (*settings.allow_private_networks, *demo)


def _reachable_models(settings: Settings) -> Reachable:
    keys = (settings.openai_api_key, settings.anthropic_api_key, settings.google_api_key)
    vendor_keys = {name: key.get_secret_value() for name, key in zip(VENDORS, keys, strict=True)}
    return Reachable(vendor_keys=vendor_keys, endpoints=settings.model_endpoints)


def _open_secrets(settings: Settings, db: Database) -> Secrets:
    ring = open_key_ring(
        setting=settings.sealing_keys.get_secret_value(), file=settings.data_dir / "sealing.key"
    )
    if db.dialect.distributed and ring.file is not None:
        log.warning("set AMMETER_SEALING_KEYS: other machines cannot open what is sealed under %s", ring.file)
    secrets = Secrets(ring)
    with db.read() as tx:
        secrets.check(tx)
    return secrets


def _open_blobs(settings: Settings) -> Blobs:
    return open_blobs(
        settings.blobs,
        endpoint=settings.s3_endpoint or None,
        region=settings.s3_region,
        access_key_id=settings.s3_access_key_id.get_secret_value() or None,
        secret_access_key=settings.s3_secret_access_key.get_secret_value() or None,
        allow_http=settings.s3_allow_http,
    )
