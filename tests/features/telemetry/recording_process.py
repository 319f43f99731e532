"""A process that records events on and on and tells each on standard output, for tests that end it. At
SIGTERM it stops as a server does."""

from __future__ import annotations

import asyncio
import signal
import sys
import time

from ammeter.engines.db.database import Database
from ammeter.features.telemetry.recorder import Recorder
from tests.features.telemetry.parts import make_event


async def main(url: str) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    recorder = Recorder(Database(url))
    recorder.start()
    while not stopped.is_set():
        event = make_event("o", code="return await client.invoices.list()", result="{}" * 500)
        recorder.record(event)
        # Told only now: whoever reads of an event knows that it was recorded.
        print(event.id, time.monotonic(), flush=True)
        await asyncio.sleep(0.005)
    await recorder.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
