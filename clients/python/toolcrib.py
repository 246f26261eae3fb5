"""A client of the Toolcrib daemon in one file, with nothing but the standard library.

    client = Toolcrib()                       # TOOLCRIB_URL and TOOLCRIB_TOKEN
    client.call("read_file", {"path": "notes.md"})
    run = client.run("Keep my shopping list")
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    # The types need the package typing_extensions, which only a type checker brings along.
    from toolcrib_types import Approval, CallDocument, Problem, RunSnapshot, ToolRow


class ToolcribError(Exception):
    """The daemon did not carry out a request; `problem["code"]` says why and never changes its meaning."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem['code']}: {problem['detail']}")
        self.problem = problem


def _setting(name: str, example: str) -> str:
    """A variable that has to be there; the error says how to set it."""
    value = os.environ.get(name)
    if not value:
        raise SystemExit(f"{name} is not set. Type: export {name}={example}")
    return value


class Toolcrib:
    """Talks to one daemon."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        self._url = (url or _setting("TOOLCRIB_URL", "http://127.0.0.1:8717, as `toolcrib serve` prints it")).rstrip("/")
        self._token = token or _setting("TOOLCRIB_TOKEN", "$(toolcrib token show)")

    def tools(self) -> list[ToolRow]:
        """All tools, switched on or not."""
        return cast("list[ToolRow]", self._json("GET", "/tools")["items"])

    def call(self, tool: str, arguments: Mapping[str, object]) -> CallDocument:
        """Runs one tool through the pipeline. What came of it is in `status`; a call that did not succeed is an answer, too."""
        body = {"tool": tool, "arguments": arguments}
        return cast("CallDocument", self._json("POST", "/calls", body, outcomes=True))

    def wait(self, call: str, patience_s: float = 600.0) -> CallDocument:
        """Waits for the end of a call that runs or waits for a person; after `patience_s` it is returned as it is then."""
        deadline = time.monotonic() + patience_s
        while True:
            left_ms = max(0, int((deadline - time.monotonic()) * 1000))
            found = cast("CallDocument", self._json("GET", f"/calls/{call}?wait_ms={min(left_ms, 30_000)}", outcomes=True))
            if found["status"] not in ("running", "waiting") or left_ms == 0:
                return found
            # A call that waits for a person may be answered at once.
            time.sleep(min(1.0, left_ms / 1000))

    def run(self, text: str) -> RunSnapshot:
        """Lets an agent work until it is done or waits for a person."""
        return cast("RunSnapshot", self._json("POST", "/runs", {"text": text, "wait": True}))

    def show(self, run: str) -> RunSnapshot:
        """A run as it is now."""
        return cast("RunSnapshot", self._json("GET", f"/runs/{run}"))

    def inbox(self) -> list[Approval]:
        """What waits for a person."""
        return cast("list[Approval]", self._json("GET", "/approvals")["items"])

    def decide(self, asked: Approval, decision: str, **more: object) -> None:
        """Decides about what was shown: `approve`, `deny`, `edit`, `skip`, or `answer` with `text`."""
        body = {"decision": decision, "nonce": asked["nonce"], **more}
        self._json("POST", f"/approvals/{asked['approval']}", body)

    def events(self, run: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """What happens in a run: first its state as `snapshot`, then every change under its name, until it is over."""
        with self._open("GET", f"/runs/{run}/events") as answer:
            name, data = "message", ""
            for line in answer:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    data += value
                elif not field and data:
                    yield name, json.loads(data)
                    name, data = "message", ""

    def _open(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
            # Sent again with the same key, nothing runs twice.
            headers["Idempotency-Key"] = str(uuid.uuid4())
        request = urllib.request.Request(f"{self._url}/api/v1{path}", data, headers, method=method)
        return urllib.request.urlopen(request)

    def _json(self, method: str, path: str, body: object = None, outcomes: bool = False) -> Any:
        try:
            with self._open(method, path, body) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            document = json.load(error)
            if outcomes and error.headers.get_content_type() == "application/json":
                return document
            raise ToolcribError(cast("Problem", document)) from None
