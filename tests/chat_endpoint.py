"""A scripted language model behind a real HTTP server that speaks chat completions, for the real client.
What it says is a function of the request; requests are kept, to see what was sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tests.notes_server import serving

Said = dict[str, Any] | Response | str


def calls(*asked: tuple[str, dict[str, Any] | str], text: str | None = None) -> dict[str, Any]:
    """A turn that asks for tools."""
    made = [
        {
            "id": f"call_{i}_{tool}",
            "type": "function",
            "function": {"name": tool, "arguments": args if isinstance(args, str) else json.dumps(args)},
        }
        for i, (tool, args) in enumerate(asked)
    ]
    return {"role": "assistant", "content": text, "tool_calls": made}


@dataclass(slots=True)
class ChatEndpoint:
    say: Callable[[dict[str, Any]], Said]
    """The body of a request in; a message, a text or a whole response out."""
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    finish: str | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        request = Request(scope, receive)
        body = json.loads(await request.body())
        self.requests.append(body)
        self.keys.append(request.headers.get("authorization", ""))
        await self._answer(body)(scope, receive, send)

    def _answer(self, body: dict[str, Any]) -> Response:
        said = self.say(body)
        if isinstance(said, Response):
            return said
        message = {"role": "assistant", "content": said} if isinstance(said, str) else said
        reason = self.finish or ("tool_calls" if message.get("tool_calls") else "stop")
        return JSONResponse(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500},
            }
        )


@contextmanager
def chat_endpoint(
    *turns: Said, say: Callable[[dict[str, Any]], Said] | None = None
) -> Iterator[ChatEndpoint]:
    """Says these one after the other, the last again and again; or what `say` says."""
    left = list(turns)

    def next_turn(_: dict[str, Any]) -> Said:
        return left.pop(0) if len(left) > 1 else left[0]

    endpoint = ChatEndpoint(say or next_turn)
    with serving(endpoint) as url:
        endpoint.url = f"{url}/v1"
        yield endpoint
