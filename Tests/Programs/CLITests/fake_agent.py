"""A fake agent that gives scripted answers and errors to the CLI.

It speaks the protocol (docs/protocol.md): JSON-RPC 2.0, one value a line, over a unix socket. Each method answers from
`answers`: a dict (the result), an Error, or a function of the params and the connection that returns or raises either. That
of a notification raises NoAnswer.
"""

import json
import os
import socket
import threading


class Error(Exception):
    """An error of the contract."""

    def __init__(self, code, name, message="What happened, for a person.", **data):
        super().__init__(name)
        self.body = {"code": code, "message": message, "data": {"name": name, "retryable": False, **data}}


class NoAnswer(Exception):
    """Raised by a function that has sent its answer itself."""


class Connection:
    """One client, seen from the agent."""

    def __init__(self, agent, stream):
        self.agent = agent
        self.stream = stream
        self.lock = threading.Lock()

    def send(self, message):
        with self.lock:
            self.stream.sendall(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def event(self, sequence, type, account=None, **data):
        params = {"subscription": "sub_1", "epoch": "e1", "sequence": sequence, "type": type,
                  "at": "2030-01-01T12:00:00.000Z", "data": data}
        if account:
            params["account"] = account
        self.send({"jsonrpc": "2.0", "method": "event", "params": params})

    def serve(self):
        try:
            with self.stream, self.stream.makefile("rb") as lines:
                for line in lines:
                    threading.Thread(target=self.answer, args=(json.loads(line),), daemon=True).start()
        except OSError:
            pass  # the client is gone
        self.agent.closed.set()

    def answer(self, request):
        method, params = request["method"], request.get("params", {})
        self.agent.calls.append((method, params))
        reply = {"jsonrpc": "2.0", "id": request.get("id")}
        try:
            answer = self.agent.answers.get(method, Error(-32601, "methodNotFound", "Unknown method."))
            if callable(answer):
                answer = answer(params, self)
            if isinstance(answer, Error):
                raise answer
            reply["result"] = answer
        except Error as error:
            reply["error"] = error.body
        except (NoAnswer, OSError):
            return  # said all there was to say, or the client is gone
        try:
            self.send(reply)
            if method == self.agent.last:
                self.stream.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class FakeAgent:
    """Listens at `path` until closed. `calls` are the (method, params) that came, in order."""

    def __init__(self, path, answers=None):
        self.path = path
        self.answers = dict(answers or {})
        self.calls = []
        self.accepted = 0
        self.last = None  # the method after whose answer a connection is closed
        self.closed = threading.Event()
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        self.accepting = threading.Thread(target=self.accept, daemon=True)
        self.accepting.start()

    def accept(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=Connection(self, stream).serve, daemon=True).start()

    def methods(self):
        return [method for method, _ in self.calls]

    def params(self, method):
        """The params of the last call of a method."""
        return [params for name, params in self.calls if name == method][-1]

    def close(self):
        if self.listener.fileno() < 0:
            return
        # The thread must be out of accept before the descriptor's number can become another listener's.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.accepting.join()
        self.listener.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
