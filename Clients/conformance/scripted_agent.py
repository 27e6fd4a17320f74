"""The scripted agent: a real unix socket, on which a case says each byte."""

import json
import os
import queue
import socket
import threading

from failures import CaseFailed, patience
from lines import HELLO, answer, event, failure, line

GONE = object()


class Peer:
    """One connection of a client, seen from the agent."""

    def __init__(self, connection):
        self._socket = connection
        self._requests = queue.Queue()
        self._reads = threading.Event()
        self._reads.set()
        self.received = []
        threading.Thread(target=self._read, daemon=True).start()

    # What the client sends.

    def request(self, method=None, seconds=None):
        """The next request or notification; it must be of this method."""
        try:
            taken = self._requests.get(timeout=patience(seconds))
        except queue.Empty:
            raise CaseFailed(f"the client did not send {method or 'a request'}") from None
        if taken is GONE:
            self._requests.put(GONE)
            raise CaseFailed(f"the client closed the connection instead of sending {method or 'a request'}")
        if method is not None and taken.get("method") != method:
            raise CaseFailed(f"the client sent {taken.get('method')} instead of {method}")
        return taken

    def silent(self, seconds=0.3):
        """The client must send nothing for a while."""
        try:
            taken = self._requests.get(timeout=seconds)
        except queue.Empty:
            return
        if taken is GONE:
            self._requests.put(GONE)
            return
        raise CaseFailed(f"the client sent {taken.get('method')} unasked")

    def gone(self, seconds=None):
        """Waits until the client has closed the connection, whatever it sends before that."""
        while True:
            try:
                taken = self._requests.get(timeout=patience(seconds))
            except queue.Empty:
                raise CaseFailed("the client did not close the connection") from None
            if taken is GONE:
                self._requests.put(GONE)
                return

    def pause_reading(self):
        self._reads.clear()

    def go_on_reading(self):
        self._reads.set()

    # What the agent sends.

    def raw(self, data):
        try:
            self._socket.sendall(data)
        except OSError:
            pass

    def drip(self, data, size=1):
        """Sends the bytes a few at a time, each in a write of its own."""
        for start in range(0, len(data), size):
            self.raw(data[start : start + size])

    def say(self, message):
        self.raw(line(message))

    def answer(self, request, result):
        self.raw(answer(request, result))

    def fail(self, request, code, name, message="a message for a person", **data):
        self.raw(failure(request, code, name, message, **data))

    def greet(self, **members):
        """Takes `agent.hello`, answers it and returns its params."""
        hello = self.request("agent.hello")
        limits = {**HELLO["limits"], **members.pop("limits", {})}
        self.answer(hello, {**HELLO, "limits": limits, **members})
        return hello.get("params", {})

    def subscribe(self, subscription="sub-1", epoch="epoch-1", sequence=0, gap=False, with_answer=b""):
        """Takes `event.subscribe`, answers it and returns its params."""
        request = self.request("event.subscribe")
        result = {"subscription": subscription, "epoch": epoch, "sequence": sequence, "gap": gap}
        self.raw(answer(request, result) + with_answer)
        return request.get("params", {})

    def event(self, sequence, subscription="sub-1", **members):
        self.say(event(subscription, sequence, **members))

    def hang_up(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _read(self):
        buffer = b""
        while True:
            self._reads.wait()
            try:
                data = self._socket.recv(65536)
            except OSError:
                data = b""
            if not data:
                break
            *lines, buffer = (buffer + data).split(b"\n")
            for text in lines:
                request = json.loads(text)
                self.received.append(request)
                self._requests.put(request)
        self._requests.put(GONE)


class ScriptedAgent:
    """Listens at `path`; each connection is a `Peer`."""

    def __init__(self, path):
        self.path = path
        self.peers = []
        self._new = queue.Queue()
        self._listener = None

    def listen(self):
        if os.path.lexists(self.path):
            os.unlink(self.path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        os.chmod(self.path, 0o600)
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def peer(self, seconds=None):
        """The next connection."""
        try:
            return self._new.get(timeout=patience(seconds))
        except queue.Empty:
            raise CaseFailed("the client did not connect") from None

    def greeted(self, **members):
        """The next connection, after its `agent.hello` was answered."""
        peer = self.peer()
        peer.greet(**members)
        return peer

    def no_peer(self, seconds=0.3):
        try:
            self._new.get(timeout=seconds)
        except queue.Empty:
            return
        raise CaseFailed("the client connected unasked")

    def stop_listening(self):
        """The socket file stays, as after a kill."""
        listener, self._listener = self._listener, None
        if listener is not None:
            try:
                listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            listener.close()

    def close(self):
        self.stop_listening()
        for peer in self.peers:
            peer.go_on_reading()
            peer.hang_up()

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            peer = Peer(connection)
            self.peers.append(peer)
            self._new.put(peer)
