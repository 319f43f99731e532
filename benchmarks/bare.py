"""What Ammeter's HTTP is held against: a bare FastAPI application with one database read and nothing
else, neither key nor limit nor log. Run by `benchmarks/http.py`."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from fastapi import FastAPI
from sqlalchemy import create_engine, text

QUERY = text("SELECT id, name, slug, region, created_at FROM organizations WHERE slug = :slug")


def main(database: str, port: int) -> None:
    app = FastAPI()
    engine = create_engine(f"sqlite:///{database}")

    def read() -> dict[str, Any]:
        with engine.connect() as connection:
            return dict(connection.execute(QUERY, {"slug": "main"}).mappings().one())

    @app.get("/in-thread")
    def in_thread() -> dict[str, Any]:
        return read()

    @app.get("/on-loop")
    async def on_loop() -> dict[str, Any]:
        return read()

    uvicorn.run(app, port=port, loop="uvloop", http="httptools", access_log=False, log_level="warning")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
