"""Figures leave the machine: `lanyard metrics` with a real Prometheus, a collector of text files, a web server in between,
and clients that hang."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import socket
import stat
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Dict, List, Optional

from fleet_fixture import free_port, real
from agent_fixture import BIN, PATIENCE_SECONDS, ROOT, AgentFixture, Provider, Scene, accepts
from harness import sign_in
from lanyard import Client, LanyardError
from forms import in_quick_form

LANYARD = os.path.join(BIN, "lanyard")
OPENMETRICS = "application/openmetrics-text"
ALERTS = os.path.join(ROOT, "docs", "examples", "lanyard-alerts.yml")


def value(text: str, name: str, **labels: str) -> Optional[float]:
    """The value of a sample in a text of figures; nil if there is none."""
    for line in text.splitlines():
        found = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line)
        if found and found[1] == name and dict(re.findall(r'([a-z_]+)="([^"]*)"', found[2] or "")) == labels:
            return float(found[3])
    return None


class Metrics(AgentFixture):
    def environment(self, scene: Scene) -> Dict[str, str]:
        return {**scene.environment, "LANYARD_SOCKET": scene.socket, "LANYARD_STATE_DIR": scene.state}

    def lanyard(self, scene: Scene, *words: str, status: int = 0) -> str:
        ran = subprocess.run(
            [LANYARD, *words], env=self.environment(scene), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(ran.returncode, status, ran.stderr)
        self.complaint = ran.stderr
        return ran.stdout

    def lint(self, text: str) -> None:
        """`promtool check metrics` finds nothing."""
        ran = subprocess.run(
            [real("promtool", "prometheus"), "check", "metrics"], input=text, capture_output=True, text=True,
            timeout=PATIENCE_SECONDS)
        self.assertEqual((ran.returncode, ran.stdout + ran.stderr), (0, ""))

    def started(self, command: List[str], scene: Optional[Scene] = None) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            command, env=self.environment(scene) if scene else None, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.end, process)
        return process

    def end(self, process: "subprocess.Popen[bytes]", number: int = signal.SIGTERM) -> int:
        if process.poll() is None:
            process.send_signal(number)
        return process.wait(timeout=PATIENCE_SECONDS)

    def served(self, scene: Scene, *words: str) -> str:
        """The path of a socket at which figures are served."""
        path = os.path.join(self.directory(), "metrics.sock")
        self.server = self.started([LANYARD, "metrics", "--listen", path, *words], scene)
        self.until(lambda: accepts(path), "figures at a socket")
        return path

    def used(self) -> "tuple[Provider, Scene, Client, List[str]]":
        """An agent that did a bit of everything, and all the words that figures must not have."""
        provider, scene, client = self.alice()
        secrets = [client.token.get(account="alice").access_token]
        client.call("token.refresh", {"account": "alice"})
        provider.fault("answer", status=503, json={"error": "temporarily_unavailable"}, count=1)
        with contextlib.suppress(LanyardError):
            client.call("token.refresh", {"account": "alice"})
        secrets.append(client.token.get(account="alice").access_token)
        client.call("authorization.check", {"account": "alice", "capability": "nothing.known"})
        told = client.call("account.get", {"account": "alice"})
        names = [told[member] for member in ("id", "alias", "provider", "issuer", "subject", "displayName", "email")
                 if told.get(member)]
        secrets += [provider.issuer, provider.issuer.split("//")[1], "nothing.known", scene.state, scene.socket]
        return provider, scene, client, secrets + [word for word in names if len(word) > 2]

    def has_none(self, text: str, words: List[str]) -> None:
        for word in words:
            self.assertNotIn(word, text)


@in_quick_form("test_figures_tell_what_the_agent_did_and_name_no_person_server_or_token")
class Figures(Metrics):
    """The figures themselves."""

    def test_figures_tell_what_the_agent_did_and_name_no_person_server_or_token(self) -> None:
        provider, scene, client, words = self.used()
        text = self.lanyard(scene, "metrics", "--format", "openmetrics")
        self.assertTrue(text.endswith("\n# EOF\n"))
        self.assertIn("\n# TYPE lanyard_exchanges counter\n", text)
        digest = hashlib.sha256(provider.issuer.encode()).hexdigest()[:12]
        self.assertGreaterEqual(value(text, "lanyard_exchanges_total", issuer=digest, outcome="renewed") or 0, 1)
        self.assertEqual(value(text, "lanyard_exchanges_total", issuer=digest, outcome="providerUnavailable"), 1)
        self.assertEqual(value(text, "lanyard_accounts", state="active"), 1)
        self.assertEqual(value(text, "lanyard_accounts", state="signedOut"), 0)
        self.assertEqual(value(text, "lanyard_decisions_total", effect="deny", reason="unknownCapability"), 1)
        self.assertGreaterEqual(value(text, "lanyard_memory_answers_total", kind="token") or 0, 1)
        self.assertEqual(value(text, "lanyard_request_errors_total", error="providerUnavailable"), 1)
        self.assertEqual(value(text, "lanyard_pauses_total"), 1)
        self.assertEqual(value(text, "lanyard_up"), 1)
        self.assertEqual(value(text, "lanyard_locked"), 0)
        self.assertEqual(value(text, "lanyard_pending_revocations"), 0)
        self.assertGreaterEqual(value(text, "lanyard_connections") or 0, 2)
        with open(f"/proc/{scene.pid}/statm", encoding="ascii") as statm:
            resident = int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        self.assertAlmostEqual(value(text, "lanyard_resident_memory_bytes") or 0, resident, delta=resident / 2)
        age = value(text, "lanyard_last_refresh_age_seconds", issuer=digest)
        self.assertTrue(age is not None and 0 <= age < PATIENCE_SECONDS)
        count = value(text, "lanyard_exchange_duration_seconds_count") or 0
        self.assertGreaterEqual(count, 2)
        self.assertEqual(value(text, "lanyard_exchange_duration_seconds_bucket", le="+Inf"), count)
        as_json = self.lanyard(scene, "metrics", "--json")
        self.assertEqual(json.loads(as_json)["version"], client.call("agent.status")["version"])
        self.has_none(text + as_json, words)
        # What a collector and promtool read.
        plain = self.lanyard(scene, "metrics")
        self.has_none(plain, words)
        self.lint(plain)

    def test_sign_ins_and_token_exchanges_count_beside_refreshes(self) -> None:
        provider, scene, client = self.alice()
        provider.fault("answer", path="/token", status=400, json={"error": "invalid_client"}, count=1)
        with contextlib.suppress(RuntimeError, urllib.error.HTTPError):
            sign_in(client, "practice", "bob")
        sign_in(client, "practice", "bob")
        with contextlib.suppress(LanyardError):
            client.call("token.exchange", {"account": "alice", "audience": "https://api.example"})
        text = self.lanyard(scene, "metrics")
        told = re.findall(r'^lanyard_grant_exchanges_total\{issuer="(.*)",kind="(.*)",outcome="(.*)"\} (\d+)$', text, re.MULTILINE)
        digest = hashlib.sha256(provider.issuer.encode()).hexdigest()[:12]
        self.assertIn((digest, "import", "granted", "1"), told)
        self.assertIn((digest, "signIn", "granted", "1"), told)
        self.assertIn((digest, "signIn", "providerMisconfigured", "1"), told)
        self.assertEqual([one[1] for one in told].count("tokenExchange"), 1, told)
        self.lint(text)

    def test_reading_figures_takes_the_same_room_after_many_errors_and_requests(self) -> None:
        _, scene, client, _ = self.used()

        def names(text: str) -> "set[str]":
            return {line.rpartition(" ")[0] for line in text.splitlines()}

        before = names(self.lanyard(scene, "metrics"))
        for number in range(60):
            with contextlib.suppress(LanyardError):
                client.call("token.get", {"account": f"missing-{number}"})
            client.call("authorization.check", {"account": "alice", "capability": f"thing.{number}"})
        # One more error is known now, and nothing else.
        self.assertEqual({name.split("{")[1] for name in names(self.lanyard(scene, "metrics")) - before},
                         {'error="accountNotFound"}'})

    def test_counters_begin_anew_with_the_agent(self) -> None:
        _, scene, _, _ = self.used()
        first = self.lanyard(scene, "metrics", "--format", "openmetrics")
        scene.kill()
        scene.start()
        second = self.lanyard(scene, "metrics", "--format", "openmetrics")
        self.assertIsNone(re.search(r"^lanyard_exchanges_total\{.*\} [1-9]", second, re.MULTILINE))
        # The last good refresh was in the run before.
        self.assertIsNotNone(re.search(r"^lanyard_last_refresh_age_seconds\{.*\} [0-9]+$", second, re.MULTILINE))
        self.assertGreaterEqual(
            value(second, "lanyard_start_time_seconds") or 0, value(first, "lanyard_start_time_seconds") or 0)
        self.assertEqual(value(second, "lanyard_pauses_created"), value(second, "lanyard_start_time_seconds"))

    def test_locked_vault_leaves_out_what_needs_it(self) -> None:
        _, scene, client, _ = self.used()
        client.call("agent.lock")
        text = self.lanyard(scene, "metrics")
        self.assertEqual((value(text, "lanyard_up"), value(text, "lanyard_locked")), (1, 1))
        for name in ("lanyard_accounts", "lanyard_pending_revocations", "lanyard_pending_operations"):
            self.assertNotIn(name, text)
        self.assertIn("lanyard_exchanges_total", text)
        self.lint(text)

    def test_dead_agent_is_told_and_none_is_started(self) -> None:
        scene = self.scene(start=False)
        text = self.lanyard(scene, "metrics", status=3)
        self.assertIn("No agent answers", self.complaint)
        self.assertEqual(value(text, "lanyard_up"), 0)
        self.assertEqual(set(re.findall(r"^lanyard_\w+", text, re.MULTILINE)), {"lanyard_up", "lanyard_read_time_seconds"})
        self.assertEqual(self.lanyard(scene, "metrics", "--json", status=3), "")
        self.assertFalse(os.path.exists(scene.socket))

    def test_agent_that_hangs_is_told_as_one_that_does_not_answer(self) -> None:
        scene = self.scene()
        self.lanyard(scene, "metrics")
        os.kill(scene.pid, signal.SIGSTOP)
        try:
            began = time.monotonic()
            text = self.lanyard(scene, "metrics", status=3)
        finally:
            os.kill(scene.pid, signal.SIGCONT)
        self.assertEqual(value(text, "lanyard_up"), 0)
        self.assertLess(time.monotonic() - began, 10)

    def test_output_that_takes_nothing_ends_it(self) -> None:
        scene = self.scene()
        for words in ([], ["--every", "1"]):
            with open("/dev/full", "wb") as full:
                ran = subprocess.run([LANYARD, "metrics", *words], env=self.environment(scene), stdout=full,
                                     stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS)
            self.assertEqual(ran.returncode, 1)
            self.assertIn(b"could not be written", ran.stderr)

    def test_options_that_do_not_fit_are_refused(self) -> None:
        scene = self.scene(start=False)
        for words in (
            ["--file", "x.prom", "--listen", "y"], ["--file", "x.txt"], ["--file", ".prom"], ["--every", "0"],
            ["--label", "le=1"], ["--label", "a=1", "--label", "a=2"], ["--mode", "600"],
            ["--listen", "y", "--group", "no such group"], ["--json", "--format", "text"],
        ):
            with self.subTest(words=words):
                self.assertEqual(self.lanyard(scene, "metrics", *words, status=2), "")


@in_quick_form("test_file_is_replaced_as_a_whole_and_goes_with_its_writer")
class Files(Metrics):
    """`lanyard metrics --file`, and a collector of text files."""

    def test_file_is_replaced_as_a_whole_and_goes_with_its_writer(self) -> None:
        _, scene, _, words = self.used()
        path = os.path.join(self.directory(), "lanyard.prom")
        writer = self.started([LANYARD, "metrics", "--file", path, "--every", "1"], scene)
        self.until(lambda: os.path.exists(path), "a file")
        seen = set()
        deadline = time.monotonic() + 2.5
        while time.monotonic() < deadline:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertTrue(text.startswith("# HELP lanyard_up ") and text.endswith("\n"), text[-100:])
            seen.add(value(text, "lanyard_read_time_seconds"))
            time.sleep(0.01)
        self.assertGreaterEqual(len(seen), 2)
        self.has_none(text, words)
        self.lint(text)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o644)
        # The agent dies: the file says so.
        scene.kill()

        def is_down() -> bool:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            return value(text, "lanyard_up") == 0 and "lanyard_exchanges" not in text

        self.until(is_down, "lanyard_up 0")
        self.assertEqual(self.end(writer), 0)
        self.assertEqual(os.listdir(os.path.dirname(path)), [])

    def test_file_without_an_agent_says_so(self) -> None:
        scene = self.scene()
        path = os.path.join(self.directory(), "lanyard.prom")
        self.lanyard(scene, "metrics", "--file", path, "--mode", "0600")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        scene.kill()
        self.lanyard(scene, "metrics", "--file", path, status=3)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(value(file.read(), "lanyard_up"), 0)

    def test_old_file_goes_if_no_new_one_can_be_written(self) -> None:
        scene = self.scene()
        place = self.directory()
        path = os.path.join(place, "lanyard.prom")
        self.lanyard(scene, "metrics", "--file", path)
        # Nothing may become so long: as on a full disk.
        ran = subprocess.run(
            ["sh", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "sh", LANYARD, "metrics", "--file", path],
            env=self.environment(scene), capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("could not be written", ran.stderr)
        self.assertEqual(os.listdir(place), [])
        # A link is replaced and not followed; what is no file is left.
        kept = os.path.join(place, "kept")
        with open(kept, "w", encoding="utf-8") as file:
            file.write("kept")
        os.symlink(kept, path)
        self.lanyard(scene, "metrics", "--file", path)
        self.assertFalse(os.path.islink(path))
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")
        os.mkdir(os.path.join(place, "folder.prom"))
        self.lanyard(scene, "metrics", "--file", os.path.join(place, "folder.prom"), status=1)
        self.assertEqual(sorted(os.listdir(place)), ["folder.prom", "kept", "lanyard.prom"])
        self.lanyard(scene, "metrics", "--file", os.path.join(place, "nowhere", "lanyard.prom"), status=1)

    def test_collector_of_text_files_takes_those_of_two_agents(self) -> None:
        exporter = real("prometheus-node-exporter", "prometheus-node-exporter")
        _, scene, _, words = self.used()
        place, port = self.directory(), free_port()
        self.lanyard(scene, "metrics", "--file", os.path.join(place, "a.prom"), "--label", "seat=1")
        self.lanyard(self.scene(), "metrics", "--file", os.path.join(place, "b.prom"), "--label", 'seat=a "b\\')
        self.started([exporter, f"--web.listen-address=127.0.0.1:{port}", "--collector.disable-defaults",
                      "--collector.textfile", f"--collector.textfile.directory={place}"])
        text = self.until(lambda: self.page(port), "the collector's page")
        self.assertIn("node_textfile_scrape_error 0\n", text)
        self.assertEqual(value(text, "lanyard_up", seat="1"), 1)
        self.assertIn('lanyard_up{seat="a \\"b\\\\"} 1\n', text)
        self.assertIn("# TYPE lanyard_exchanges_total counter\n", text)
        self.assertIn("# TYPE lanyard_exchange_duration_seconds histogram\n", text)
        self.has_none(text, words)

    def page(self, port: int) -> str:
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_SECONDS
            ) as answer:
                text: str = answer.read().decode()
                return text
        except OSError:
            return ""


@in_quick_form("test_each_format_by_accept")
class Sockets(Metrics):
    """`lanyard metrics --listen`: a web server, Prometheus, and clients that hang."""

    def ask(self, path: str, request: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(path)
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def test_each_format_by_accept(self) -> None:
        _, scene, _, words = self.used()
        path = self.served(scene)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        for accept, kind in (
            ("", "text/plain"), ("Accept: */*\r\n", "text/plain"), ("Accept: text/plain;version=0.0.4\r\n", "text/plain"),
            (f"Accept: {OPENMETRICS}\r\n", OPENMETRICS),
            (f"Accept: {OPENMETRICS};version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n", OPENMETRICS),
        ):
            answer = self.ask(path, f"GET /metrics HTTP/1.1\r\nHost: x\r\n{accept}\r\n".encode()).decode()
            head, _, body = answer.partition("\r\n\r\n")
            self.assertTrue(head.startswith("HTTP/1.1 200 OK\r\n"), head)
            self.assertIn(f"\r\nContent-Type: {kind}; version=", head)
            self.assertIn(f"\r\nContent-Length: {len(body.encode())}", head)
            self.assertTrue(body.endswith("# EOF\n"))
            self.assertEqual("# TYPE lanyard_exchanges counter\n" in body, kind == OPENMETRICS)
            self.has_none(body, words)
            if kind == "text/plain":
                self.lint(body)
        self.assertEqual(self.ask(path, b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n")[-4:], b"\r\n\r\n")
        for request, status in (
            (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 404), (b"POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405),
            (b"\x16\x03\x01\x02\x00\r\n\r\n", 400), (b"GET /metrics HTTP/1.1\r\nA: " + b"a" * 20_000, 431),
        ):
            self.assertTrue(self.ask(path, request).startswith(b"HTTP/1.1 %d " % status), request[:30])

    def test_clients_that_hang_hold_up_no_other_and_lose_their_place(self) -> None:
        scene = self.scene()
        path = self.served(scene)
        hanging = []
        for number in range(40):  # more than there are places for
            connection = socket.socket(socket.AF_UNIX)
            self.addCleanup(connection.close)
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(path)
            connection.sendall(b"GET /metrics HTTP/1.1\r\n"[:number % 24])
            hanging.append(connection)
            if number == 20:
                self.assertIn(b"lanyard_up 1\n", self.ask(path, b"GET /metrics HTTP/1.0\r\n\r\n"))
        with open(f"/proc/{self.server.pid}/stat", encoding="ascii") as file:
            self.assertLess(sum(int(field) for field in file.read().rpartition(")")[2].split()[11:13]), 100)
        self.assertIn(b"lanyard_up 1\n", self.ask(path, b"GET /metrics HTTP/1.0\r\n\r\n"))
        self.assertEqual([connection.recv(1) for connection in hanging[:32]], [b""] * 32)
        # A client that goes away harms nothing.
        for connection in hanging[32:]:
            connection.close()
        self.assertIn(b"lanyard_up 1\n", self.ask(path, b"GET /metrics HTTP/1.0\r\n\r\n"))

    def test_agent_that_hangs_holds_up_scrapers_for_one_reading(self) -> None:
        scene = self.scene()
        path = self.served(scene)
        os.kill(scene.pid, signal.SIGSTOP)
        began = time.monotonic()
        waiting = []
        for _ in range(6):
            connection = socket.socket(socket.AF_UNIX)
            self.addCleanup(connection.close)
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(path)
            connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            waiting.append(connection)
        # A request for another page is answered meanwhile.
        self.assertIn(b" 404 ", self.ask(path, b"GET / HTTP/1.0\r\n\r\n"))
        self.assertLess(time.monotonic() - began, 4)
        for connection in waiting:
            with connection.makefile("rb") as answer:
                self.assertIn(b"lanyard_up 0\n", answer.read())
        self.assertLess(time.monotonic() - began, 14)
        os.kill(scene.pid, signal.SIGCONT)
        self.assertIn(b"lanyard_up 1\n", self.ask(path, b"GET /metrics HTTP/1.0\r\n\r\n"))

    def test_socket_of_a_dead_server_is_replaced_and_one_in_use_is_not(self) -> None:
        scene = self.scene()
        path = self.served(scene)
        self.lanyard(scene, "metrics", "--listen", path, status=1)
        self.assertIn("Another process listens", self.complaint)
        self.end(self.server, signal.SIGKILL)
        self.assertTrue(os.path.exists(path))
        again = self.started([LANYARD, "metrics", "--listen", path, "--mode", "0666"], scene)
        self.until(lambda: accepts(path), "a socket again")
        self.until(lambda: stat.S_IMODE(os.stat(path).st_mode) == 0o666, "its mode")
        self.assertEqual(self.end(again), 0)
        self.assertFalse(os.path.exists(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine")
        self.lanyard(scene, "metrics", "--listen", path, status=2)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_agent_that_comes_and_goes(self) -> None:
        scene = self.scene(start=False)
        path = self.served(scene, "--label", "seat=7")
        for is_up in (False, True, False):
            if is_up:
                scene.start()
            elif scene.process is not None:
                scene.kill()
            answer = self.ask(path, b"GET /metrics HTTP/1.0\r\n\r\n").decode()
            self.assertEqual(value(answer, "lanyard_up", seat="7"), float(is_up))
            self.assertEqual("lanyard_start_time_seconds" in answer, is_up)

    def test_prometheus_scrapes_through_a_web_server(self) -> None:
        """nginx in front of the socket, since Prometheus speaks TCP alone; and the rules of the documents."""
        prometheus, nginx = real("prometheus", "prometheus"), real("nginx", "nginx")
        provider, scene, client, words = self.used()
        place, port, proxied = self.directory(), free_port(), free_port()
        path = self.served(scene)
        os.mkdir(os.path.join(place, "data"))
        with open(os.path.join(place, "nginx.conf"), "w", encoding="utf-8") as file:
            file.write(f"""
daemon off; pid {place}/nginx.pid; error_log {place}/nginx.log;
events {{}}
http {{
  access_log off; client_body_temp_path {place}/data/a; proxy_temp_path {place}/data/b; fastcgi_temp_path {place}/data/c;
  uwsgi_temp_path {place}/data/d; scgi_temp_path {place}/data/e;
  server {{
    listen 127.0.0.1:{proxied};
    location = /metrics {{ proxy_pass http://unix:{path}; }}
  }}
}}
""" + ("" if os.geteuid() else "user root;\n"))
        self.started([nginx, "-p", place, "-c", os.path.join(place, "nginx.conf")])
        config = os.path.join(place, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [ALERTS],
                "scrape_configs": [{"job_name": "lanyard", "static_configs": [{"targets": [f"127.0.0.1:{proxied}"]}]}],
            }, file)
        self.started([prometheus, f"--config.file={config}", f"--storage.tsdb.path={place}/tsdb",
                      f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"])
        self.api = f"http://127.0.0.1:{port}/api/v1/"
        digest = hashlib.sha256(provider.issuer.encode()).hexdigest()[:12]
        self.until(lambda: self.query("lanyard_up{job='lanyard'}") == [1.0], "a scrape")
        renewed = f"lanyard_exchanges_total{{issuer='{digest}',outcome='renewed'}}"
        before = self.query(renewed)[0]
        client.call("token.refresh", {"account": "alice"})
        self.until(lambda: self.query(renewed) == [before + 1], "the refresh in a scrape")
        self.assertEqual(self.query("lanyard_accounts{state='active'}"), [1.0])
        self.assertEqual(self.query("count(lanyard_exchange_duration_seconds_bucket)"), [15.0])
        self.assertTrue(0 < self.query("histogram_quantile(0.9, lanyard_exchange_duration_seconds_bucket)")[0] < 60)
        # It knows types, units and helps, as OpenMetrics told them.
        metadata = self.get("metadata")
        self.assertEqual(metadata["lanyard_exchanges"][0]["type"], "counter")
        self.assertEqual(metadata["lanyard_build"][0]["type"], "info")
        self.assertEqual(metadata["lanyard_exchange_duration_seconds"][0]["type"], "histogram")
        self.assertEqual(metadata["lanyard_exchange_duration_seconds"][0]["unit"], "seconds")
        self.has_none(json.dumps(self.get("series", **{"match[]": '{job="lanyard"}'})), words)
        # The agent dies, and the rule of the documents sees it.
        scene.kill()
        self.until(lambda: self.query("lanyard_up") == [0.0], "lanyard_up 0")
        self.until(lambda: any(alert["labels"]["alertname"] == "LanyardDown" for alert in self.get("alerts")["alerts"]),
                   "the alert")

    def get(self, name: str, **parameters: str) -> Any:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            self.api + name + "?" + urllib.parse.urlencode(parameters), timeout=PATIENCE_SECONDS
        ) as answer:
            return json.load(answer)["data"]

    def query(self, words: str) -> List[float]:
        try:
            return [float(found["value"][1]) for found in self.get("query", query=words)["result"]]
        except OSError:
            return []


class Rules(unittest.TestCase):
    """The rules of the documents."""

    def test_rules_of_the_documents_are_valid(self) -> None:
        ran = subprocess.run(
            [real("promtool", "prometheus"), "check", "rules", ALERTS], capture_output=True, text=True,
            timeout=PATIENCE_SECONDS)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("3 rules found", ran.stdout)


if __name__ == "__main__":
    unittest.main()
