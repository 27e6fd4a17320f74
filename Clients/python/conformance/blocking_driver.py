"""Obeys the commands of the conformance run with `lanyard.Client`, each command in a thread."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict

import lanyard
from commands import Json, error, options, say, show, typed


class Driver:
    def __init__(self) -> None:
        self._clients: Dict[str, lanyard.Client] = {}
        self._streams: Dict[str, lanyard.EventStream] = {}
        self._outcomes: Dict[str, Any] = {}

    def begin(self, command: Json) -> None:
        """Begins a command. Clients are made in the order of the lines."""
        if command["do"] == "open":
            self._clients[command["client"]] = lanyard.Client(**options(command))
        threading.Thread(target=self._obey, args=(command,), daemon=True).start()

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def _obey(self, command: Json) -> None:
        number = command["id"]
        try:
            result = getattr(self, "_" + command["do"])(command)
        except Exception as failure:
            self._outcomes[number] = failure
            say(number, error=error(failure))
            return
        if result is not None:
            say(number, result=result)

    def _client(self, command: Json) -> lanyard.Client:
        return self._clients[command["client"]]

    def _open(self, command: Json) -> Json:
        return self._client(command).connect().to_json() if command.get("connect") else {}

    def _call(self, command: Json) -> Json:
        caller: Any = self._client(command)
        if "timeoutMs" in command:
            caller = caller.within(command["timeoutMs"] / 1000)
        result: Json = caller.call(command["method"], command.get("params"))
        return result

    def _typed(self, command: Json) -> Json:
        caller: Any = self._client(command)
        if "timeoutMs" in command:
            caller = caller.within(command["timeoutMs"] / 1000)
        result = typed(caller, command["method"], command.get("params") or {})
        self._outcomes[command["id"]] = result
        told: Json = result.to_json()
        return told

    def _show(self, command: Json) -> Json:
        return {"text": show(self._outcomes[command["of"]])}

    def _events(self, command: Json) -> None:
        wanted = {name: command[name] for name in ("types", "accounts", "since") if name in command}
        client = self._client(command)
        stream = client.events(**wanted)
        self._streams[command["id"]] = stream
        say(command["id"], result={})
        with stream:
            for event in stream:
                say(command["id"], event=event.to_json())
        say(command["id"], ended=True)

    def _position(self, command: Json) -> Json:
        return self._streams[command["of"]].position or {}

    def _stop(self, command: Json) -> Json:
        self._streams[command["of"]].close()
        return {}

    def _http(self, command: Json) -> Json:
        import requests
        from lanyard.auth.requests import LanyardAuth

        auth = LanyardAuth(
            self._client(command),
            command["account"],
            origins=command["origins"],
            scopes=command.get("scopes"),
            resource=command.get("resource"),
        )
        with requests.Session() as session:
            session.trust_env = False
            try:
                response = session.request(
                    command.get("method", "GET"), command["url"], data=command.get("body"), auth=auth
                )
            except requests.exceptions.InvalidURL as refusal:  # by requests, before it asks for a token
                raise lanyard.OriginRefused(str(refusal)) from refusal
            return {"status": response.status_code, "body": response.text}

    def _load(self, command: Json) -> Json:
        client, account, callers = self._client(command), command["account"], command.get("callers", 1)

        def call(count: int) -> None:
            for _ in range(count):
                client.token.get(account=account)

        client.connect()
        shares = [command["count"] // callers + (index < command["count"] % callers) for index in range(callers)]
        began = time.monotonic()
        if callers == 1:
            call(shares[0])
        else:
            with ThreadPoolExecutor(callers) as pool:
                list(pool.map(call, shares))
        return {"seconds": time.monotonic() - began}

    def _close(self, command: Json) -> Json:
        self._client(command).close()
        return {}


def main() -> None:
    driver = Driver()
    for text in sys.stdin.buffer:
        driver.begin(json.loads(text))
    driver.close()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
