"""A private D-Bus session, and the part of the protocol that the tests speak themselves (D-Bus Specification)."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

CALL, RETURN, ERROR, SIGNAL = 1, 2, 3, 4
FIXED = {"y": ("B", 1), "b": ("I", 4), "n": ("h", 2), "q": ("H", 2), "i": ("i", 4), "u": ("I", 4), "x": ("q", 8),
         "t": ("Q", 8), "d": ("d", 8)}
NAMES = {1: "path", 2: "interface", 3: "member", 4: "error", 5: "reply", 6: "destination", 7: "sender", 8: "signature"}
TYPES = {"path": "o", "interface": "s", "member": "s", "error": "s", "reply": "u", "destination": "s", "sender": "s",
         "signature": "g"}


class Variant(NamedTuple):
    type: str
    value: Any


class BusError(Exception):
    def __init__(self, name: str, words: str = "") -> None:
        super().__init__(f"{name}: {words}")
        self.name = name


def split(signature: str) -> Iterator[str]:
    """The complete types of a signature."""
    start = 0
    while start < len(signature):
        end = start
        while signature[end] == "a":
            end += 1
        depth = 0
        while True:
            depth += (signature[end] in "({") - (signature[end] in ")}")
            end += 1
            if depth == 0:
                break
        yield signature[start:end]
        start = end


def alignment(type_: str) -> int:
    if type_[0] in FIXED:
        return FIXED[type_[0]][1]
    return {"s": 4, "o": 4, "a": 4, "g": 1, "v": 1, "(": 8, "{": 8}[type_[0]]


def write(out: bytearray, type_: str, value: Any) -> None:
    out.extend(b"\0" * (-len(out) % alignment(type_)))
    kind = type_[0]
    if kind in FIXED:
        out += struct.pack("<" + FIXED[kind][0], value)
    elif kind in "so":
        data = value.encode()
        out += struct.pack("<I", len(data)) + data + b"\0"
    elif kind == "g":
        out += bytes([len(value)]) + value.encode() + b"\0"
    elif kind == "v":
        write(out, "g", value.type)
        write(out, value.type, value.value)
    elif kind == "a":
        at = len(out)
        out += b"\0\0\0\0"
        out.extend(b"\0" * (-len(out) % alignment(type_[1:])))
        start = len(out)
        items = value.items() if type_[1] == "{" else value
        for item in items:
            write(out, type_[1:], item)
        out[at:at + 4] = struct.pack("<I", len(out) - start)
    else:
        for each, member in zip(split(type_[1:-1]), value):
            write(out, each, member)


def read(data: bytes, at: int, type_: str) -> Tuple[Any, int]:
    at += -at % alignment(type_)
    kind = type_[0]
    if kind in FIXED:
        code, size = FIXED[kind]
        return struct.unpack_from("<" + code, data, at)[0], at + size
    if kind in "so":
        count = struct.unpack_from("<I", data, at)[0]
        return data[at + 4:at + 4 + count].decode(), at + 4 + count + 1
    if kind == "g":
        return data[at + 1:at + 1 + data[at]].decode(), at + 1 + data[at] + 1
    if kind == "v":
        inner, at = read(data, at, "g")
        value, at = read(data, at, inner)
        return Variant(inner, value), at
    if kind == "a":
        count = struct.unpack_from("<I", data, at)[0]
        at += 4
        at += -at % alignment(type_[1:])
        end, items = at + count, []
        while at < end:
            item, at = read(data, at, type_[1:])
            items.append(item)
        if type_[1] == "y":
            return bytes(items), at
        return (dict(items) if type_[1] == "{" else items), at
    members = []
    for each in split(type_[1:-1]):
        member, at = read(data, at, each)
        members.append(member)
    return tuple(members), at


class Message(NamedTuple):
    kind: int
    serial: int
    fields: Dict[str, Any]
    body: Tuple[Any, ...]


class Connection:
    """One client of a bus. Calls come from one thread; a service reads in `serve`."""

    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20)
        self._socket.connect(path)
        self._data = b""
        self._serial = 0
        self._lock = threading.Lock()
        self._socket.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
        while b"\r\n" not in self._data:
            self._data += self._socket.recv(4096)
        line, self._data = self._data.split(b"\r\n", 1)
        assert line.startswith(b"OK"), line
        self._socket.sendall(b"BEGIN\r\n")
        self.name = self.bus("Hello")[0]

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes a reader in another thread
        self._socket.close()

    def raw(self) -> bytes:
        """The next bytes, unparsed."""
        got = self._socket.recv(65536)
        if not got:
            raise ConnectionError("the bus ended")
        return got

    def patience(self, seconds: Optional[float]) -> None:
        self._socket.settimeout(seconds)

    def send(self, kind: int, signature: str = "", values: Sequence[Any] = (), flags: int = 0, **fields: Any) -> int:
        body = bytearray()
        for each, value in zip(split(signature), values):
            write(body, each, value)
        if signature:
            fields["signature"] = signature
        with self._lock:
            self._serial += 1
            head = bytearray()
            write(head, "(yyyyuua(yv))", (
                ord("l"), kind, flags, 1, len(body), self._serial,
                [(code, Variant(TYPES[name], fields[name])) for code, name in NAMES.items() if name in fields]))
            head.extend(b"\0" * (-len(head) % 8))
            self._socket.sendall(bytes(head + body))
            return self._serial

    def receive(self) -> Message:
        def need(count: int) -> None:
            while len(self._data) < count:
                self._data += self.raw()
        need(16)
        fields_count = struct.unpack_from("<I", self._data, 12)[0]
        start = 16 + fields_count + -fields_count % 8
        body_count = struct.unpack_from("<I", self._data, 4)[0]
        need(start + body_count)
        (_, kind, _, _, _, serial, pairs), _ = read(self._data, 0, "(yyyyuua(yv))")
        fields = {NAMES[code]: variant.value for code, variant in pairs if code in NAMES}
        data, self._data = self._data[start:start + body_count], self._data[start + body_count:]
        values, at = [], 0
        for each in split(fields.get("signature", "")):
            value, at = read(data, at, each)
            values.append(value)
        return Message(kind, serial, fields, tuple(values))

    def call(
        self, destination: str, path: str, interface: str, member: str, signature: str = "", *values: Any
    ) -> Tuple[Any, ...]:
        serial = self.send(
            CALL, signature, values, destination=destination, path=path, interface=interface, member=member)
        while True:
            message = self.receive()
            if message.fields.get("reply") != serial:
                continue
            if message.kind == ERROR:
                raise BusError(message.fields["error"], str(message.body[:1]))
            return message.body

    def bus(self, member: str, signature: str = "", *values: Any) -> Tuple[Any, ...]:
        name = "org.freedesktop.DBus"
        return self.call(name, "/org/freedesktop/DBus", name, member, signature, *values)

    def serve(self, answer: Callable[[Message], Optional[Tuple[str, Sequence[Any]]]]) -> None:
        """Until the bus ends: replies to each call with the result of `answer`; None sends no reply."""
        while True:
            try:
                message = self.receive()
            except OSError:
                return
            if message.kind != CALL:
                continue
            to = {"destination": message.fields["sender"], "reply": message.serial}
            try:
                answered = answer(message)
            except BusError as error:
                self.send(ERROR, error=error.name, **to)
            else:
                if answered is not None:
                    self.send(RETURN, *answered, **to)


CONFIGURATION = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={path}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"""


class Session:
    """A private bus that starts no services, with its own directories."""

    def __init__(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="lanyard-session-")
        self.path = os.path.join(self.directory, "bus")
        self.address = f"unix:path={self.path}"
        configuration = os.path.join(self.directory, "bus.conf")
        with open(configuration, "w") as file:
            file.write(CONFIGURATION.format(path=self.path))
        self._programs: List["subprocess.Popen[bytes]"] = []
        read_end, write_end = os.pipe()
        self.run(
            "dbus-daemon", "--nofork", "--nopidfile", f"--config-file={configuration}", f"--print-address={write_end}",
            pass_fds=(write_end,))
        os.close(write_end)
        with os.fdopen(read_end, "rb") as address:
            assert address.readline()

    @property
    def environment(self) -> Dict[str, str]:
        own = {name: os.path.join(self.directory, name) for name in (
            "HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")}
        for path in own.values():
            os.makedirs(path, 0o700, exist_ok=True)
        others = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        return {**others, **own, "DBUS_SESSION_BUS_ADDRESS": self.address}

    def run(self, *command: str, **more: Any) -> "subprocess.Popen[bytes]":
        """Starts a program that ends with the session."""
        with open(os.path.join(self.directory, "log"), "ab") as log:
            program = subprocess.Popen(
                command, env=self.environment, **{"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, **more})
        self._programs.append(program)
        return program

    def connect(self) -> Connection:
        return Connection(self.path)

    def end(self, program: "subprocess.Popen[bytes]") -> None:
        program.kill()
        program.wait()
        if program.stdout is not None:
            program.stdout.close()
        self._programs.remove(program)

    def close(self) -> None:
        for program in reversed(list(self._programs)):
            self.end(program)
        shutil.rmtree(self.directory, ignore_errors=True)
