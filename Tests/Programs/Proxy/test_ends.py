"""Streams, and what is left of a request when the program, the server, the proxy or the agent ends in its middle."""

import gzip
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

from proxy_fixture import LANYARD, PATIENCE_SECONDS, ProxyFixture, certificates, exchange, status
from test_raw import get
from forms import in_quick_form


class Stage:
    """A TLS server that answers by the test's hand: it counts requests, and each connection waits for its next piece."""

    def __init__(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates().certificate, certificates().key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._context = context
        self.place = f"localhost:{self._listener.getsockname()[1]}"
        self.origin = "https://" + self.place
        self.heads: "list[bytes]" = []
        self.connections: "list[ssl.SSLSocket]" = []
        self.ended = threading.Semaphore(0)
        """Released for each connection that its client ended."""
        self.came = threading.Semaphore(0)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, raw: socket.socket) -> None:
        try:
            connection = self._context.wrap_socket(raw, server_side=True)
            head = b""
            while True:
                piece = connection.recv(65536)
                if not piece:
                    break
                head += piece
                if b"\r\n\r\n" in head:
                    self.heads.append(head)
                    self.connections.append(connection)
                    self.came.release()
                    head = b""
        except OSError:
            pass
        self.ended.release()

    def wait(self) -> ssl.SSLSocket:
        """The connection of the next request."""
        assert self.came.acquire(timeout=PATIENCE_SECONDS), "no request came"
        return self.connections[-1]

    def stop(self) -> None:
        self._listener.close()
        for connection in self.connections:
            connection.close()


def die(connection: socket.socket) -> None:
    """Cuts a connection off, also while another thread reads from it."""
    socket.socket.shutdown(connection, socket.SHUT_RDWR)


STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


@in_quick_form(
    "test_events_arrive_while_the_stream_is_open", "test_a_token_in_two_pieces_of_a_stream_is_cut_off",
    "test_a_stream_outlives_a_killed_agent_and_the_next_request_waits_for_none",
    "test_clients_that_connect_again_and_again_do_not_delay_the_end")
class Streams(ProxyFixture):
    def setUp(self) -> None:
        super().setUp()
        self.stage = Stage()
        self.addCleanup(self.stage.stop)
        self.allow(self.stage.origin)

    def begin(self, door, *fields: str, method: str = "GET"):
        connection = door.tunnel(self.stage.place)
        self.addCleanup(connection.close)
        connection.sendall(get(self.stage.place, *fields, method=method, end="\r\n"))
        return connection

    def until_text(self, connection, text: bytes) -> bytes:
        told = b""
        while text not in told:
            piece = connection.recv(65536)
            self.assertTrue(piece, told)
            told += piece
        return told

    def test_events_arrive_while_the_stream_is_open(self) -> None:
        program = self.begin(self.proxy())
        server = self.stage.wait()
        server.sendall(STREAM + chunk(b"data: one\n\n"))
        self.assertTrue(self.until_text(program, b"data: one\n\n\r\n").startswith(b"HTTP/1.1 200"))
        server.sendall(chunk(b"data: two\n\n"))
        self.until_text(program, b"data: two\n\n")
        server.sendall(b"0\r\n\r\n")
        self.until_text(program, b"0\r\n\r\n")

    def test_a_token_in_two_pieces_of_a_stream_is_cut_off(self) -> None:
        token = self.token("work").encode()
        program = self.begin(self.proxy())
        server = self.stage.wait()
        server.sendall(STREAM + chunk(b"data: one\n\n") + chunk(b"data: " + token[:40]))
        told = self.until_text(program, b"data: one")
        server.sendall(chunk(token[40:] + b"\n\n"))
        try:
            while piece := program.recv(65536):
                told += piece
        except (ssl.SSLError, ConnectionError):
            pass
        self.assertNotIn(token[:20], told)
        self.assertFalse(told.endswith(b"0\r\n\r\n"))

    def test_a_transfer_coding_that_hides_a_token_is_not_passed_on(self) -> None:
        door = self.proxy()
        for coding in ("gzip, chunked", "gzip"):
            with door.tunnel(self.stage.place) as connection:
                connection.sendall(get(self.stage.place))
                server = self.stage.wait()
                hidden = gzip.compress(self.token("work").encode())
                server.sendall(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n".encode() + chunk(hidden))
                die(server)
                told = exchange(connection, b"")
                self.assertEqual(status(told), 502, told)
                self.assertNotIn(hidden[:10], told)

    def test_a_program_that_hangs_up_ends_its_request_at_the_server(self) -> None:
        program = self.begin(self.proxy())
        self.stage.wait().sendall(STREAM + chunk(b"data: one\n\n"))
        self.until_text(program, b"data: one")
        program.close()
        self.assertTrue(self.stage.ended.acquire(timeout=PATIENCE_SECONDS), "the server still serves it")

    def test_a_server_that_dies_is_an_error_and_nothing_is_sent_twice(self) -> None:
        door = self.proxy()
        program = self.begin(door, "Content-Length: 0", method="POST")
        die(self.stage.wait())
        told = program.recv(65536)
        self.assertEqual(status(told), 502, told)
        self.assertIn(b"sent once", told)
        program = self.begin(door)
        server = self.stage.wait()
        server.sendall(STREAM + chunk(b"data: one\n\n"))
        self.until_text(program, b"data: one")
        die(server)
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            while program.recv(65536):
                pass
        self.assertEqual(len(self.stage.heads), 2)

    def test_a_killed_proxy_is_an_error_and_the_next_one_works(self) -> None:
        door = self.proxy()
        program = self.begin(door, "Content-Length: 0", method="POST")
        self.stage.wait().sendall(STREAM + chunk(b"data: one\n\n"))
        self.until_text(program, b"data: one")
        door.process.kill()
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            while program.recv(65536):
                pass
        self.assertTrue(self.stage.ended.acquire(timeout=PATIENCE_SECONDS))
        program = self.begin(self.proxy())
        self.stage.wait().sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        self.assertEqual(status(program.recv(65536)), 204)
        self.assertEqual([head.split()[0] for head in self.stage.heads], [b"POST", b"GET"])

    def test_a_stream_outlives_a_killed_agent_and_the_next_request_waits_for_none(self) -> None:
        door = self.proxy()
        program = self.begin(door)
        server = self.stage.wait()
        server.sendall(STREAM + chunk(b"data: one\n\n"))
        self.until_text(program, b"data: one")
        self.agent.kill()
        other = self.begin(door)
        told = other.recv(65536)
        self.assertEqual(status(told), 503, told)
        self.assertNotIn(self.stage.place.encode() + b" HTTP", told)
        server.sendall(chunk(b"data: two\n\n"))
        self.until_text(program, b"data: two")
        self.agent.start()
        third = self.begin(door)
        self.stage.wait().sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        self.assertEqual(status(third.recv(65536)), 204)
        self.assertEqual(len(self.stage.heads), 2)

    def assertCutOff(self, program) -> None:
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            while program.recv(65536):
                pass
        self.assertTrue(self.stage.ended.acquire(timeout=PATIENCE_SECONDS), "the server still serves it")

    def test_a_revoked_grant_ends_an_open_stream_and_no_other(self) -> None:
        identity = self.grant("ci")
        other = self.begin(self.proxy())
        other_server = self.stage.wait()
        program = self.begin(self.proxy("--grant", "ci", account=None))
        server = self.stage.wait()
        for connection, stream in ((program, server), (other, other_server)):
            stream.sendall(STREAM + chunk(b"data: one\n\n"))
            self.until_text(connection, b"data: one")
        self.caller.call("grant.revoke", {"grant": identity})
        self.assertCutOff(program)
        other_server.sendall(chunk(b"data: two\n\n"))
        self.until_text(other, b"data: two")

    def test_a_grant_that_ends_while_the_program_sends_its_body_gives_the_server_nothing(self) -> None:
        identity = self.grant("ci", methods=["request.authorize"])
        door = self.proxy("--grant", "ci", account=None)
        program = door.tunnel(self.stage.place)
        self.addCleanup(program.close)
        program.sendall(get(self.stage.place, "Content-Length: 5", method="POST", end="\r\n"))
        # The request is authorized, and the proxy waits for the body: longer than from one look at the grants to the next.
        time.sleep(1.5)
        self.caller.call("grant.revoke", {"grant": identity})
        time.sleep(2.5)
        program.sendall(b"12345")
        program.settimeout(PATIENCE_SECONDS)
        told = program.recv(65536)
        self.assertEqual(status(told), 403, told)
        self.assertIn(b"Nothing was sent.", told)
        self.assertEqual(self.stage.heads, [])

    def test_a_grant_that_ends_ends_a_request_that_is_not_answered(self) -> None:
        self.grant("ci", expiresInSeconds=3)
        program = self.begin(self.proxy("--grant", "ci", account=None), "Content-Length: 0", method="POST")
        self.stage.wait()
        told = program.recv(65536)
        self.assertEqual(status(told), 403, told)
        self.assertIn(b"sent once and may have had its effect", told)

    def test_a_sign_out_ends_an_open_stream(self) -> None:
        program = self.begin(self.proxy())
        self.stage.wait().sendall(STREAM + chunk(b"data: one\n\n"))
        self.until_text(program, b"data: one")
        self.sign_out()
        self.assertCutOff(program)

    def test_sigterm_lets_a_transfer_end(self) -> None:
        door = self.proxy()
        program = self.begin(door)
        server = self.stage.wait()
        server.sendall(STREAM + chunk(b"data: one\n\n"))
        self.until_text(program, b"data: one")
        door.process.terminate()
        server.sendall(chunk(b"data: two\n\n") + b"0\r\n\r\n")
        self.until_text(program, b"0\r\n\r\n")
        self.assertEqual(door.process.wait(PATIENCE_SECONDS), 0)
        self.assertFalse(os.path.exists(str(door.certificate)))

    def test_sigterm_does_not_wait_for_a_stream_without_end(self) -> None:
        door = self.proxy()
        self.begin(door)
        self.stage.wait().sendall(STREAM)
        door.process.terminate()
        self.assertEqual(door.process.wait(PATIENCE_SECONDS), 0)

    def test_clients_that_connect_again_and_again_do_not_delay_the_end(self) -> None:
        door = self.proxy()

        def knock() -> None:
            while True:
                try:
                    socket.create_connection(("127.0.0.1", door.port), timeout=PATIENCE_SECONDS).close()
                except ConnectionRefusedError:
                    return
                except OSError:
                    continue

        knocking = [threading.Thread(target=knock) for _ in range(4)]
        for each in knocking:
            each.start()
        try:
            time.sleep(0.2)
            door.process.terminate()
            self.assertEqual(door.process.wait(PATIENCE_SECONDS / 6), 0)
        finally:
            door.process.kill()
            for each in knocking:
                each.join()


@in_quick_form("test_the_proxy_ends_when_its_exec_is_killed")
class Parents(ProxyFixture):
    def test_the_proxy_ends_when_its_exec_is_killed(self) -> None:
        mark = os.path.join(self.place, "variables")
        process = subprocess.Popen(
            [LANYARD, "exec", "--proxy", "--", "sh", "-c", f"env > {mark}.new; mv {mark}.new {mark}; exec sleep 60"],
            env=self.environment(), cwd=self.place)
        self.until(lambda: os.path.exists(mark), "the command runs")
        with open(mark, encoding="utf-8") as file:
            variables = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
        port = int(variables["https_proxy"].rpartition(":")[2])
        children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        process.kill()
        process.wait()

        def is_gone() -> bool:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                return not os.path.exists(variables["SSL_CERT_FILE"])
            return False

        self.until(is_gone, "the end of the proxy")
        for child in children:
            try:
                os.kill(int(child), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def test_an_agent_is_started_by_the_next_request(self) -> None:
        door = self.proxy(LANYARD_NO_START="0", LANYARD_STATE_DIR=self.agent.state)
        self.agent.kill()
        told = door.ask_in_tunnel(self.api.place, get(self.api.place))
        self.addCleanup(lambda: self.lanyard("stop"))
        self.assertEqual(status(told), 200, told)

    def test_many_programs_share_one_exchange(self) -> None:
        door = self.proxy()
        with self.short_lifetimes(2):
            time.sleep(1.5)
        before = self.exchanges()
        answers: "list[int]" = []

        def ask() -> None:
            answers.append(status(door.ask_in_tunnel(self.api.place, get(self.api.place))))

        threads = [threading.Thread(target=ask) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
        self.assertEqual(answers, [200] * 20)
        self.assertLessEqual(self.exchanges() - before, 1)


if __name__ == "__main__":
    unittest.main()
