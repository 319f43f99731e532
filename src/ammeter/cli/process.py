"""The server process: doors, jobs and housekeeping on one event loop, and an orderly stop.

At SIGTERM or SIGINT `/readyz` says no at once; after the drain time the port closes, requests and
jobs in flight get the grace time to finish, and what is left of the jobs goes back to the queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Literal

import uvicorn

from ammeter.asgi import build_app
from ammeter.base.errors import AmmeterError, SettingsError
from ammeter.doors.http.edge import Edge
from ammeter.doors.http.protocol import GatheringProtocol
from ammeter.engines.jobs.schedule import Ticker
from ammeter.features.evals import sweep_job
from ammeter.features.insights import refresh_job
from ammeter.features.orgs.service import anyone_runs_scripts
from ammeter.features.upkeep.housekeeping_job import ensure_scheduled
from ammeter.wiring import House

log = logging.getLogger("ammeter.process")

Part = Literal["all", "web", "worker"]
Beside = Callable[[str], Awaitable[None]]

_FLUSH_S = 5.0
_SWITCH_S = 0.0005
_WASTE_AT_ONCE = (2_000, 20, 20)
_MORE_LISTENERS = 15


def serve(house: House, part: Part, on_ready: Callable[[str], None], beside: Beside | None = None) -> None:
    """Run until told to stop. `on_ready` gets the address once requests are answered, and so does
    `beside`, which runs along with them."""
    runner = _loop_runner()
    with runner:
        runner.run(_serve(house, part, on_ready, beside))


async def _serve(house: House, part: Part, on_ready: Callable[[str], None], beside: Beside | None) -> None:
    edge = build_app(house) if part in ("all", "web") else None
    stop = _Stop(edge, drain_s=house.settings.drain_s)
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(house.stop)
        await stack.enter_async_context(_every(_FLUSH_S, house, house.last_used.flush))
        if part in ("all", "worker"):
            await stack.enter_async_context(_worker(house))
        _keep_what_was_made()
        if edge is None:
            on_ready("")
            await stop.told.wait()
        else:
            listener = _listen(house.settings.host, house.settings.port)
            server = _Server(_server_config(house, edge))
            stop.server = server
            # Whoever answers requests does not wait long for a thread that computes.
            sys.setswitchinterval(_SWITCH_S)
            on_ready(_address(listener))
            await stack.enter_async_context(_along(_warm_sandbox(house, stop)))
            if beside is not None:
                await stack.enter_async_context(_along(beside(_address(listener))))
            # uvloop accepts one connection per listener and turn of the loop; a crowd that arrives at
            # once would wait for as many turns. These share one queue, so more of them come in per turn.
            await server.serve(sockets=[listener, *(listener.dup() for _ in range(_MORE_LISTENERS))])
        log.info("stopping")


def _keep_what_was_made() -> None:
    """What a start has made lives as long as the process: the collector need not look at it again. What
    comes is looked through a little at a time, so that no request waits long for it."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_WASTE_AT_ONCE)


async def _warm_sandbox(house: House, stop: _Stop) -> None:
    """Where scripts are to be expected the first one should not wait for the sandbox's start."""
    if not await house.db.read_few(anyone_runs_scripts):
        return
    try:
        await house.sandbox.warm()
    except AmmeterError as error:
        log.error("the sandbox cannot start: %s", error.message)
        if house.settings.sandbox_hardening == "require":
            stop.now()
        return
    log.info("the sandbox is ready", extra={"walls": house.sandbox.hardening()})


class _Stop:
    """What a signal sets off: say no, wait for load balancers to notice, then close."""

    def __init__(self, edge: Edge | None, *, drain_s: float) -> None:
        self.told = asyncio.Event()
        self.server: uvicorn.Server | None = None
        self._edge = edge
        self._drain_s = drain_s
        loop = asyncio.get_running_loop()
        for sig in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sig, self._signalled)

    def _signalled(self) -> None:
        if self._edge is not None and not self._edge.is_stopping:
            self._edge.is_stopping = True
            asyncio.get_running_loop().call_later(self._drain_s, self.now)
        elif self.server is not None and self.server.should_exit:
            # Told twice: whoever asks does not want to wait for what is in flight.
            self.server.force_exit = True
        else:
            self.now()

    def now(self) -> None:
        if self._edge is not None:
            self._edge.is_refusing = True
        if self.server is not None:
            self.server.should_exit = True
        self.told.set()


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are ours: the jobs stop with the same ones, after the requests."""
        yield


def _server_config(house: House, edge: Edge) -> uvicorn.Config:
    settings = house.settings
    return uvicorn.Config(
        edge,
        http=GatheringProtocol,
        # There is no web socket here, whatever libraries for them are installed.
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_graceful_shutdown=max(1, round(settings.stop_grace_s)),
    )


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise SettingsError(
            f"Cannot listen on {host}:{port}: {error.strerror}. Name another with --port."
        ) from None


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextlib.asynccontextmanager
async def _worker(house: House) -> AsyncIterator[None]:
    """Work on jobs and fire schedules, until the block ends."""
    await house.db.run(ensure_scheduled, house.db)
    await house.db.run(sweep_job.ensure_scheduled, house.db)
    await house.db.run(refresh_job.ensure_scheduled, house.db)
    ticker = Ticker(house.db, house.jobs)
    worker = house.jobs.worker(house.handlers, concurrency=house.settings.job_concurrency)
    await ticker.start()
    await worker.start()
    try:
        yield
    finally:
        await ticker.stop()
        await worker.stop(house.settings.stop_grace_s)


@contextlib.asynccontextmanager
async def _along(work: Awaitable[None]) -> AsyncIterator[None]:
    """Let `work` go on until it ends or the block does."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@contextlib.asynccontextmanager
async def _every(seconds: float, house: House, work: Callable[[], object]) -> AsyncIterator[None]:
    """Do `work` now and then in a database thread; a failure is logged and the next turn tries again."""

    async def turns() -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                await house.db.run(work)
            except AmmeterError as error:
                log.warning("housekeeping put off: %s", error.message)
            except Exception:
                log.exception("housekeeping failed")

    async with _along(turns()):
        yield


def _loop_runner() -> asyncio.Runner:
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
