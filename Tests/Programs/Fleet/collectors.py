"""Collectors of audit entries for tests: rsyslog, journald with its own reader, an OTLP/HTTP receiver whose messages are those of
OpenTelemetry's own package; and an agent that is only a log."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
PATIENCE_SECONDS = 60.0
SBIN = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/lib/systemd:/usr/lib/systemd"


def missing(what: str) -> "Exception":
    """What a test raises without a package: a failure where the tests must be complete, else a skip that says so."""
    if os.environ.get("LANYARD_REQUIRE_REAL") == "1":
        return AssertionError(f"{what} is missing, and LANYARD_REQUIRE_REAL=1")
    return unittest.SkipTest(f"NOT TESTED: {what} is missing here")


def program(name: str, package: str) -> str:
    if path := shutil.which(name, path=SBIN):
        return path
    raise missing(f"{name} (Debian: {package})")


def until(condition: Callable[[], Any], what: str, seconds: float = PATIENCE_SECONDS) -> Any:
    """Polls a condition that has no event."""
    deadline = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"in vain: {what}")
        time.sleep(0.02)


def opentelemetry() -> Tuple[Any, Any]:
    """`logs_service_pb2` and `json_format` of the packages in requirements.txt."""
    place = os.environ.get("LANYARD_FLEET_VENV", os.path.join(ROOT, ".build", "fleet"))
    if subprocess.run([os.path.join(HERE, "install")], stdin=subprocess.DEVNULL).returncode != 0:
        raise missing("opentelemetry-proto (PyPI)")
    packages = os.path.join(place, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    if packages not in sys.path:
        sys.path.insert(0, packages)
    try:
        from google.protobuf import json_format
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2
    except ImportError:
        raise missing("opentelemetry-proto for this Python") from None
    return logs_service_pb2, json_format


class Record:
    """A record as a reader shows it: plain names and values."""

    def __init__(self, event: str, fields: Dict[str, str], facts: Dict[str, str]) -> None:
        self.event, self.fields, self.facts = event, fields, facts

    @property
    def sequence(self) -> int:
        return int(self.fields["sequence"])

    @property
    def identity(self) -> Tuple[str, int, int, str]:
        return (self.fields["agent"], int(self.fields["log"]), self.sequence, self.event)

    def __repr__(self) -> str:
        return f"{self.event} {self.fields} {self.facts}"


class Receiver:
    """An OTLP/HTTP receiver. `answers` are used up before it takes what comes: each is a status with header fields, or `hang`,
    `reset`, or a body for 200. It refuses what names its `poison`."""

    def __init__(self, certificate: Optional[Tuple[str, str]] = None) -> None:
        self.service, self.json = opentelemetry()
        self.bodies: List[bytes] = []
        self.heads: List[Dict[str, str]] = []
        self.paths: List[str] = []
        self.taken: List[Record] = []
        self.batches: List[int] = []
        self.answers: List[Any] = []
        self.most: Optional[int] = None
        self.poison: Optional[str] = None
        self.hanging = threading.Event()
        self.let_go = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                receiver.take(self)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate is not None:
            scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self.let_go.set()
        self.server.shutdown()
        self.server.server_close()

    def take(self, request: http.server.BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.bodies.append(body)
        self.heads.append({name.lower(): value for name, value in request.headers.items()})
        self.paths.append(request.path)
        records = self.decoded(body)
        answer = self.answers.pop(0) if self.answers else None
        if self.most is not None and len(records) > self.most:
            answer = (413, {})
        if self.poison is not None and any(self.poison in repr(record) for record in records):
            answer = (400, {})
        if answer == "hang":
            self.hanging.set()
            self.let_go.wait(60)
            return
        if answer == "reset":
            self.taken += records
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        status, fields, text = 200, {}, self.json.MessageToJson(self.service.ExportLogsServiceResponse())
        if isinstance(answer, tuple):
            status, fields = answer
        elif isinstance(answer, str):
            text = answer
        if status == 200:
            self.taken += records
            self.batches.append(len(records))
        request.send_response(status)
        for name, value in fields.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(text)))
        request.send_header("Content-Type", "application/json")
        request.end_headers()
        request.wfile.write(text.encode())

    def decoded(self, body: bytes) -> List[Record]:
        """Strict: a name that the protocol does not know is an error."""
        message = self.json.Parse(body, self.service.ExportLogsServiceRequest())
        found = []
        for resource in message.resource_logs:
            for scope in resource.scope_logs:
                assert scope.scope.name == "lanyard.audit", scope.scope
                for record in scope.log_records:
                    assert record.time_unix_nano > 0 and record.observed_time_unix_nano > 0 and record.severity_number > 0
                    fields, facts = {}, {}
                    for attribute in record.attributes:
                        kind = attribute.value.WhichOneof("value")
                        value = getattr(attribute.value, kind)
                        value = ("true" if value else "false") if kind == "bool_value" else str(value)
                        name = attribute.key.split(".")
                        assert name[0] == "lanyard", attribute
                        (facts if name[1] == "fact" else fields)[name[-1]] = value
                    assert record.event_name == fields.pop("event"), record
                    found.append(Record(record.event_name, fields, facts))
        return found


class Rsyslog:
    """A real rsyslogd that receives on a socket of its own and writes JSON."""

    CONFIGURATION = """
module(load="imuxsock" SysSock.Use="off")
input(type="imuxsock" Socket="{place}/log" UseSpecialParser="off" ParseHostname="on" IgnoreTimestamp="off"
  RateLimit.Interval="0")
template(name="j" type="list" option.jsonf="on") {{
  property(outname="structured" name="structured-data" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
  property(outname="program" name="app-name" format="jsonf")
  property(outname="event" name="msgid" format="jsonf")
  property(outname="at" name="timereported" dateFormat="rfc3339" format="jsonf")
  property(outname="severity" name="syslogseverity" format="jsonf")
  property(outname="facility" name="syslogfacility" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
}}
action(type="omfile" file="{place}/out" template="j")
"""

    def __init__(self) -> None:
        path = program("rsyslogd", "rsyslog")
        self.place = tempfile.mkdtemp(prefix="lanyard-rsyslog-")
        self.socket = os.path.join(self.place, "log")
        with open(os.path.join(self.place, "conf"), "w") as file:
            file.write(self.CONFIGURATION.format(place=self.place))
        self.command = [path, "-n", "-f", file.name, "-i", os.path.join(self.place, "pid")]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists(self.socket), "rsyslog listens")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.place, ignore_errors=True)

    @property
    def lines(self) -> List[Dict[str, str]]:
        try:
            with open(os.path.join(self.place, "out")) as file:
                return [json.loads(line) for line in file.read().split("\n")[:-1]]
        except FileNotFoundError:
            return []

    @property
    def records(self) -> List[Record]:
        found = []
        for line in self.lines:
            elements = dict(structured_data(line["structured"]))
            found.append(Record(line["event"], elements["lanyard@32473"], elements.get("facts@32473", {})))
        return found


def structured_data(text: str) -> Iterator[Tuple[str, Dict[str, str]]]:
    """The elements of RFC 5424, section 6.3."""
    while text:
        head = re.match(r"\[([^ =\]\"]{1,32})", text)
        assert head, text
        text = text[head.end():]
        parameters = {}
        while parameter := re.match(r' ([^ =\]"]{1,32})="((?:[^"\\\]]|\\.)*)"', text, re.S):
            parameters[parameter[1]] = re.sub(r'\\(["\\\]])', r"\1", parameter[2])
            text = text[parameter.end():]
        assert text.startswith("]"), text
        text = text[1:]
        yield head[1], parameters


JOURNALD = """
set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/journal /run/log/journal /run/systemd/journald.conf.d
mount --bind "$1/run" /run/systemd/journal
mount --bind "$1/journal" /run/log/journal
cat > /run/systemd/journald.conf.d/test.conf <<'END'
[Journal]
Storage=volatile
ReadKMsg=no
Audit=no
ForwardToSyslog=no
ForwardToConsole=no
ForwardToWall=no
RateLimitIntervalSec=0
END
exec "$2"
"""


class Journal:
    """A real systemd-journald with directories of its own, read by journalctl. A person who is not root has no mount of their own:
    then systemd-journal-remote writes the journal from what came to the socket, whose form is the same."""

    def __init__(self) -> None:
        self.reader = program("journalctl", "systemd")
        self.place = tempfile.mkdtemp(prefix="lanyard-journal-")
        for name in ("run", "journal"):
            os.mkdir(os.path.join(self.place, name))
        self.socket = os.path.join(self.place, "run", "socket")
        self.process: "Optional[subprocess.Popen[bytes]]" = None
        self.datagrams: List[bytes] = []
        self.listener: Optional[socket.socket] = None
        self.is_real = os.geteuid() == 0 and shutil.which("systemd-journald", path=SBIN) is not None
        if self.is_real:
            self.process = subprocess.Popen(
                [program("unshare", "util-linux"), "--mount", "--propagation", "private", "sh", "-c", JOURNALD, "sh", self.place,
                 program("systemd-journald", "systemd")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            until(lambda: os.path.exists(self.socket), "journald listens")
        else:
            self.writer = program("systemd-journal-remote", "systemd-journal-remote")
            self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.listener.bind(self.socket)
            threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        assert self.listener is not None
        try:
            while data := self.listener.recv(1 << 20):
                self.datagrams.append(data)
        except OSError:
            pass

    def close(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(PATIENCE_SECONDS)
        if self.listener is not None:
            self.listener.close()
        shutil.rmtree(self.place, ignore_errors=True)

    @property
    def entries(self) -> List[Dict[str, Any]]:
        if self.is_real:
            where = ["-D", os.path.join(self.place, "journal")]
        else:
            file = os.path.join(self.place, "made.journal")
            if os.path.exists(file):
                os.unlink(file)
            # systemd of Debian 13 takes no entry without the boot that wrote it.
            entries = b"".join(
                b"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n%s\n" % (n, n, b"1" * 32, data)
                for n, data in enumerate(list(self.datagrams), 1))
            subprocess.run([self.writer, "-o", file, "-"], input=entries, check=True, capture_output=True)
            where = ["--file", file]
        done = subprocess.run(
            [self.reader, *where, "-o", "json", "--all", "--no-pager", "SYSLOG_IDENTIFIER=lanyard"], capture_output=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    @property
    def records(self) -> List[Record]:
        found = []
        for entry in self.entries:
            fields, facts = {}, {}
            for name, value in entry.items():
                if name.startswith("LANYARD_FACT_"):
                    facts[name[13:].lower()] = value
                elif name.startswith("LANYARD_"):
                    fields[name[8:].lower()] = value
            found.append(Record(fields.pop("event"), fields, facts))
        return found


class LogOnly:
    """An agent that is only an audit log: it answers what an exporter asks, from entries that a test made up."""

    def __init__(self, entries: List[Dict[str, Any]], audit: Optional[Dict[str, Any]] = None) -> None:
        self.entries = entries
        self.audit = audit
        self.place = tempfile.mkdtemp(prefix="lanyard-log-")
        os.mkdir(os.path.join(self.place, "state"), 0o700)
        self.socket = os.path.join(self.place, "agent.sock")
        self.calls: Dict[str, int] = {}
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.socket)
        self.listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def environment(self) -> Dict[str, str]:
        return {**os.environ, "LANYARD_SOCKET": self.socket, "LANYARD_STATE_DIR": os.path.join(self.place, "state"),
                "HOME": self.place}

    def close(self) -> None:
        self.listener.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def _accept(self) -> None:
        try:
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
        except OSError:
            pass

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rwb") as stream:
            for line in stream:
                request = json.loads(line)
                method, params = request["method"], request.get("params", {})
                self.calls[method] = self.calls.get(method, 0) + 1
                result: Dict[str, Any] = {}
                if method == "agent.status" and self.audit is not None:
                    result = {"audit": self.audit}
                if method == "audit.list":
                    start = params.get("after", 0)
                    low, high = 0, len(self.entries)
                    while low < high:
                        middle = (low + high) // 2
                        if self.entries[middle]["sequence"] > start:
                            high = middle
                        else:
                            low = middle + 1
                    result = {"entries": self.entries[low:low + params["limit"]]}
                stream.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode() + b"\n")
                stream.flush()


def entry(sequence: int, **members: Any) -> Dict[str, Any]:
    return {"sequence": sequence, "at": "2030-01-01T00:00:00.%03dZ" % (sequence % 1000), "event": "authorization.check",
            "outcome": "allow", **members}
