"""Signed policy bundles: the agent as it runs, signatures of the real minisign, and nginx over https."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from fleet_fixture import free_port, real

import test_clock
from agent_fixture import (
    BIN, PATIENCE_SECONDS, AgentFixture, Client, Provider, Scene, add_provider, import_account,
)
from forms import in_quick_form

LANYARD = os.path.join(BIN, "lanyard")
WINDOW = {"offlineWindowSeconds": 86_400}

# The machine's own choice of authorities and proxies would count instead of that of a test.
for variable in ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR", "https_proxy", "HTTPS_PROXY", "all_proxy"):
    os.environ.pop(variable, None)

NGINX = """\
daemon off;
worker_processes 1;
pid %(directory)s/nginx.pid;
error_log %(directory)s/nginx.log;
events {}
http {
  log_format bytes '$request_uri $status $body_bytes_sent';
  access_log %(directory)s/access.log bytes;
  client_body_temp_path %(directory)s/t1; proxy_temp_path %(directory)s/t2; fastcgi_temp_path %(directory)s/t3;
  uwsgi_temp_path %(directory)s/t4; scgi_temp_path %(directory)s/t5;
  server {
    listen 127.0.0.1:%(port)d ssl;
    ssl_certificate %(directory)s/server.pem;
    ssl_certificate_key %(directory)s/server.key;
    root %(directory)s/files;
    location /starred/ { alias %(directory)s/files/; etag off; add_header ETag '*'; }
    location /torn/ { alias %(directory)s/files/; etag off; add_header ETag '"a\x01b"'; }
    location /moved/ { return 301 /bundle.json; }
    location /silent/ { proxy_pass http://127.0.0.1:%(silent)d; }
  }
}
"""


def policy(version: int, name: str = "default", **capabilities: dict) -> dict:
    return {"name": name, "version": version, "capabilities": {key: {"kind": "read", **of} for key, of in capabilities.items()}}


class Keys:
    """A key pair of minisign."""

    def __init__(self, directory: str, name: str) -> None:
        self._minisign = real("minisign", "minisign")
        self._secret, public = (os.path.join(directory, f"{name}.{kind}") for kind in ("sec", "pub"))
        self._run("-G", "-W", "-p", public, "-s", self._secret)
        with open(public) as file:
            self.public = file.read().splitlines()[1]

    def _run(self, *words: str) -> None:
        subprocess.run([self._minisign, *words], check=True, capture_output=True, timeout=PATIENCE_SECONDS)

    def sign(self, path: str, *words: str) -> None:
        self._run("-S", "-s", self._secret, "-m", path, *words)


class Source:
    """nginx over https, by an authority of this test."""

    def __init__(self) -> None:
        nginx = real("nginx", "nginx-light")
        self.directory = tempfile.mkdtemp(prefix="lanyard-bundles-")
        self.files = os.path.join(self.directory, "files")
        os.mkdir(self.files)
        os.chmod(self.directory, 0o755)
        self.authority = self._certificates()
        self._time = 1_000_000_000
        self.silent = socket.create_server(("127.0.0.1", 0))
        self._port = free_port()
        values = {"directory": self.directory, "port": self._port, "silent": self.silent.getsockname()[1]}
        with open(os.path.join(self.directory, "nginx.conf"), "w") as file:
            file.write(NGINX % values)
        self._command = [nginx, "-c", file.name, "-e", os.path.join(self.directory, "nginx.log")]
        self._process: "subprocess.Popen[bytes] | None" = None
        self.start()

    def _openssl(self, *words: str) -> None:
        subprocess.run([real("openssl", "openssl"), *words], check=True, capture_output=True, cwd=self.directory)

    def _certificates(self) -> str:
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        self._openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=Test authority", "-keyout", "ca.key", "-out", "ca.pem")
        self._openssl("req", *key, "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr")
        with open(os.path.join(self.directory, "names"), "w") as file:
            file.write("subjectAltName=DNS:localhost\n")
        self._openssl(
            "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "names", "-out", "server.pem")
        return os.path.join(self.directory, "ca.pem")

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.01)
        raise RuntimeError("nginx did not start")

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def close(self) -> None:
        self.stop()
        self.silent.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def url(self, name: str) -> str:
        return f"https://localhost:{self._port}/{name}"

    def path(self, name: str) -> str:
        return os.path.join(self.files, name)

    def put(self, name: str, content: "dict | bytes") -> str:
        # With a name of its own first, as a careful administrator does. nginx makes the entity tag of the size and the
        # second, and these tests change a file more often.
        with open(self.path(name) + ".new", "wb") as file:
            file.write(content if isinstance(content, bytes) else json.dumps(content).encode())
        self._time += 1
        os.utime(file.name, (self._time, self._time))
        os.rename(file.name, self.path(name))
        return self.path(name)

    def asked(self, name: str) -> "list[tuple[int, int]]":
        """Status and sent bytes of each request for a file."""
        with open(os.path.join(self.directory, "access.log")) as log:
            lines = [line.split() for line in log]
        return [(int(status), int(count)) for uri, status, count in lines if uri == "/" + name]


class BundleFixture(AgentFixture):
    source: Source
    practice: Provider
    keys: Keys
    others: Keys
    number = 0

    @classmethod
    def setUpClass(cls) -> None:
        real("minisign", "minisign")
        cls.source = Source()
        cls.addClassCleanup(cls.source.close)
        cls.practice = Provider()
        cls.addClassCleanup(cls.practice.stop)
        cls.keys, cls.others = Keys(cls.source.directory, "own"), Keys(cls.source.directory, "other")

    def setUp(self) -> None:
        BundleFixture.number += 1
        self.name = f"bundle-{BundleFixture.number}.json"

    def publish(self, version: int, *policies: dict, by: "Keys | None" = None, sign: "tuple[str, ...]" = (), **members) -> None:
        path = self.source.put(self.name, {"version": version, "policies": list(policies), **members})
        (by or self.keys).sign(path, *sign)

    def configure(self, scene: Scene, **members) -> None:
        source = {
            "url": self.source.url(self.name), "publicKey": self.keys.public, "intervalSeconds": 3600, "maxAgeSeconds": 86_400,
        }
        path = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "agent.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            json.dump({"caFile": self.source.authority, "policySource": {**source, **members}}, file)
        os.chmod(path, 0o600)

    def agent(self, **members) -> "tuple[Scene, Client]":
        """An agent with the source, at which Alice is signed in."""
        scene = self.scene(start=False)
        self.configure(scene, **members)
        scene.start()
        client = self.client(scene)
        add_provider(client, self.practice)
        import_account(client, self.practice, "alice", alias="alice")
        return scene, client

    def again(self, scene: Scene) -> Client:
        scene.start()
        return self.client(scene)

    def refresh(self, client: Client) -> dict:
        return client.call("policy.refresh")["policySource"]

    def status(self, client: Client) -> dict:
        return client.call("agent.status")["policySource"]

    def check(self, client: Client, capability: str = "view") -> "tuple[str, str]":
        decision = client.call("authorization.check", {"account": "alice", "capability": capability})
        return decision["effect"], decision["reason"]

    def audit(self, client: Client, event: str) -> "list[dict]":
        return [entry for entry in client.call("audit.list", {"limit": 1000})["entries"] if entry["event"] == event]

    def refused(self, client: Client, reason: str, version: int) -> None:  # type: ignore[override]
        """The source is refused for this reason, and this version stays in force and is told."""
        told = self.refresh(client)
        self.assertEqual(told["lastFailure"]["reason"], reason, told)
        self.assertEqual((told["version"], told["tooOld"]), (version, False), told)
        self.assertEqual(self.check(client), ("allow", "allowed"))

    def doctor(self, client: Client) -> dict:
        return next(one for one in client.call("agent.diagnose")["findings"] if one["check"] == "policySource")


@in_quick_form("test_good_bundle_decides_and_is_told")
class Bundles(BundleFixture):
    def test_good_bundle_decides_and_is_told(self):
        self.publish(7, policy(1, view=WINDOW))
        scene, client = self.agent()
        self.until(lambda: self.status(client).get("version") == 7, "the first fetch")
        self.assertEqual(self.check(client), ("allow", "allowed"))
        self.assertEqual(self.check(client, "other"), ("deny", "unknownCapability"))
        told = self.status(client)
        self.assertEqual((told["policies"], told["shadows"], told["tooOld"]), (["default"], [], False))
        self.assertNotIn("lastFailure", told)
        self.assertRegex(told["agent"], "^agt_[a-z2-7]{26}$")
        self.assertEqual(self.doctor(client)["severity"], "ok")
        self.assertEqual([entry["facts"] for entry in self.audit(client, "policyBundle.accept")], [{"bundleVersion": 7}])
        shown = subprocess.run([LANYARD, "status"], env=scene.environment, capture_output=True, text=True)
        self.assertIn("version 7, confirmed", shown.stdout, shown.stderr)

    def test_legacy_signature_counts_too(self):
        self.publish(1, policy(1, view=WINDOW), sign=("-l",))
        _, client = self.agent()
        self.assertEqual(self.refresh(client)["version"], 1)

    def test_unchanged_bundle_is_confirmed_by_304(self):
        self.publish(1, policy(1, view=WINDOW))
        scene, client = self.agent()
        before = self.refresh(client)["confirmedAt"]
        self.until(lambda: self.refresh(client)["confirmedAt"] > before, "a later confirmation")
        # Also after a restart: the entity tag is kept.
        scene.end()
        client = self.again(scene)
        self.refresh(client)
        answers = [status for status, _ in self.source.asked(self.name)]
        self.assertEqual(answers[0], 200)
        self.assertEqual(set(answers[1:]), {304}, answers)
        self.assertEqual(len(self.source.asked(self.name + ".minisig")), 1)

    def test_entity_tag_that_is_none_holds_no_agent_at_its_bundle(self):
        """nginx answers `If-None-Match: *` with 304 whatever it has, and a control character can't be sent at all."""
        for place in ("starred", "torn"):
            with self.subTest(place):
                self.setUp()
                self.publish(1, policy(1, view=WINDOW))
                _, client = self.agent(url=self.source.url(f"{place}/{self.name}"))
                self.assertEqual(self.refresh(client)["version"], 1)
                self.publish(2, policy(2, view=WINDOW))
                told = self.refresh(client)
                self.assertEqual((told["version"], told.get("lastFailure")), (2, None), told)

    def test_later_bundle_follows(self):
        self.publish(1, policy(1, view=WINDOW))
        _, client = self.agent()
        self.assertEqual(self.refresh(client)["version"], 1)
        self.publish(2, policy(2, edit=WINDOW))
        self.assertEqual(self.refresh(client)["version"], 2)
        self.assertEqual(self.check(client), ("deny", "unknownCapability"))
        self.assertEqual(self.check(client, "edit"), ("allow", "allowed"))

    def test_bundle_is_polled(self):
        self.publish(1, policy(1, view=WINDOW))
        _, client = self.agent(intervalSeconds=1)
        self.until(lambda: self.status(client).get("version") == 1, "the first fetch")
        self.publish(2, policy(2, view=WINDOW))
        self.until(lambda: self.status(client).get("version") == 2, "the second one")


@in_quick_form(
    "test_bundle_by_another_key_is_refused", "test_replayed_old_bundle_is_refused_told_and_audited",
    "test_last_good_bundle_stays_offline_and_after_kills")
class Refused(BundleFixture):
    def setUp(self) -> None:
        super().setUp()
        self.publish(5, policy(5, view=WINDOW))
        self.scenery, self.one = self.agent()
        self.assertEqual(self.refresh(self.one)["version"], 5)

    def test_bundle_by_another_key_is_refused(self):
        self.publish(6, policy(6), by=self.others)
        self.refused(self.one, "otherKey", 5)
        self.refused(self.one, "otherKey", 5)
        # Once, however often it comes.
        self.assertEqual([e["facts"]["reason"] for e in self.audit(self.one, "policyBundle.refuse")], ["otherKey"])
        self.assertEqual(self.doctor(self.one)["severity"], "notice")

    def test_replayed_old_bundle_is_refused_told_and_audited(self):
        self.publish(4, policy(4))
        self.refused(self.one, "olderVersion", 5)
        entries = self.audit(self.one, "policyBundle.refuse")
        self.assertEqual([e["facts"] for e in entries], [{"reason": "olderVersion", "bundleVersion": 4}])
        self.assertIn("never decreases", self.doctor(self.one)["message"])
        told = subprocess.run([LANYARD, "policy", "refresh"], env=self.scenery.environment, capture_output=True, text=True)
        self.assertEqual(told.returncode, 1)
        self.assertIn("never decreases", told.stderr)
        # Nor does a restart forget the version.
        self.scenery.kill()
        self.refused(self.again(self.scenery), "olderVersion", 5)

    def test_same_version_with_other_content_is_refused(self):
        self.publish(5, policy(6))
        self.refused(self.one, "changedContent", 5)

    def test_truncated_bundle_is_refused(self):
        with open(self.source.path(self.name), "rb") as file:
            self.source.put(self.name, file.read()[:-10])
        self.refused(self.one, "wrongSignature", 5)
        self.source.put(self.name, b"")
        self.refused(self.one, "wrongSignature", 5)

    def test_signed_text_that_is_no_bundle_is_refused(self):
        for content in (b"{", b"[]", b'{"version": 9}', b'{"version": 9, "policies": [], "extra": 1}', b"\xff\xfe"):
            with self.subTest(content):
                self.keys.sign(self.source.put(self.name, content))
                self.refused(self.one, "malformedBundle", 5)

    def test_signature_of_another_file_is_refused(self):
        self.source.put("other", b"another file")
        self.keys.sign(self.source.path("other"))
        self.publish(6, policy(6))
        os.replace(self.source.path("other") + ".minisig", self.source.path(self.name) + ".minisig")
        self.refused(self.one, "wrongSignature", 5)

    def test_changed_trusted_comment_is_refused(self):
        self.publish(6, policy(6), sign=("-t", "for the test fleet"))
        with open(self.source.path(self.name) + ".minisig", "rb") as file:
            signature = file.read()
        self.source.put(self.name + ".minisig", signature.replace(b"test fleet", b"real fleet"))
        self.refused(self.one, "wrongSignature", 5)

    def test_missing_and_broken_signatures_are_refused(self):
        self.publish(6, policy(6))
        os.remove(self.source.path(self.name) + ".minisig")
        self.refused(self.one, "noSignature", 5)
        for content in (b"", b"untrusted comment: x\n", b"x" * 10_000):
            self.source.put(self.name + ".minisig", content)
            self.refused(self.one, "malformedSignature", 5)

    def test_hundred_megabytes_are_cut_off_while_they_are_read(self):
        path = self.source.put(self.name, b"{")
        os.truncate(path, 100 << 20)
        self.keys.sign(path)
        began = time.monotonic()
        self.refused(self.one, "tooLarge", 5)
        self.assertLess(time.monotonic() - began, 5)
        status, sent = self.until(lambda: self.source.asked(self.name)[1:], "nginx's log")[-1]
        self.assertEqual(status, 200)
        # What the sockets between them hold, and not the file.
        self.assertLess(sent, 16 << 20)
        self.publish(6, policy(6, view=WINDOW))
        os.truncate(self.source.path(self.name) + ".minisig", 100 << 20)
        self.refused(self.one, "tooLarge", 5)

    def test_missing_bundle_and_redirect_are_refused(self):
        os.remove(self.source.path(self.name))
        self.refused(self.one, "unexpectedStatus", 5)
        self.scenery.end()
        self.configure(self.scenery, url=self.source.url("moved/bundle.json"))
        self.refused(self.again(self.scenery), "unexpectedStatus", 5)

    def test_server_of_an_unknown_authority_is_refused(self):
        self.scenery.end()
        self.configure(self.scenery)
        other = os.path.join(self.source.directory, "other.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=x", "-keyout", os.devnull,
             "-out", other], check=True, capture_output=True)
        path = os.path.join(self.scenery.environment["XDG_CONFIG_HOME"], "lanyard", "agent.json")
        with open(path) as file:
            text = file.read().replace(self.source.authority, other)
        with open(path, "w") as file:
            file.write(text)
        self.refused(self.again(self.scenery), "untrustedServer", 5)

    def test_silent_server_delays_no_decision(self):
        self.scenery.end()
        self.configure(self.scenery, url=self.source.url("silent/bundle.json"), intervalSeconds=1)
        client = self.again(self.scenery)
        self.source.silent.settimeout(PATIENCE_SECONDS)
        held, _ = self.source.silent.accept()
        for _ in range(20):
            self.assertEqual(self.check(client), ("allow", "allowed"))
        # One fetch at a time, however often it would be due.
        self.source.silent.settimeout(1.5)
        with self.assertRaises(TimeoutError):
            self.source.silent.accept()
        held.close()
        self.until(lambda: self.status(client).get("lastFailure"), "the end of the fetch")

    def test_last_good_bundle_stays_offline_and_after_kills(self):
        self.source.stop()
        try:
            self.refused(self.one, "unreachable", 5)
            self.scenery.kill()
            client = self.again(self.scenery)
            self.assertEqual(self.status(client)["version"], 5)
            self.assertEqual(self.check(client), ("allow", "allowed"))
        finally:
            self.source.start()
        self.assertNotIn("lastFailure", self.refresh(client))

    def test_another_public_key_takes_the_old_bundle_away(self):
        self.scenery.end()
        self.configure(self.scenery, publicKey=self.others.public)
        client = self.again(self.scenery)
        self.assertNotIn("version", self.status(client))
        self.assertEqual(self.check(client), ("deny", "policyError"))
        self.publish(1, policy(1, view=WINDOW), by=self.others)
        self.assertEqual(self.refresh(client)["version"], 1)
        self.assertEqual(self.check(client), ("allow", "allowed"))

    def test_source_that_is_removed_takes_its_policies_along(self):
        self.scenery.end()
        os.remove(os.path.join(self.scenery.environment["XDG_CONFIG_HOME"], "lanyard", "agent.json"))
        client = self.again(self.scenery)
        self.assertNotIn("policySource", client.call("agent.status"))
        self.assertEqual(client.call("policy.refresh"), {})
        self.assertEqual(self.check(client), ("deny", "unknownCapability"))

    def test_kills_amid_fetches_leave_one_whole_bundle(self):
        client, version = self.one, 5
        for later in range(6, 16):
            self.publish(later, policy(later, view=WINDOW), description="x" * 1000)
            with socket.socket(socket.AF_UNIX) as asking:
                asking.connect(self.scenery.socket)
                asking.sendall(b'{"jsonrpc":"2.0","id":1,"method":"policy.refresh"}\n')
                time.sleep(0.004 * (later - 6))
                self.scenery.kill()
            client = self.again(self.scenery)
            told = self.status(client)
            self.assertIn(told["version"], (version, later))
            version = told["version"]
            self.assertEqual(self.check(client), ("allow", "allowed"))
        self.assertEqual(self.refresh(client)["version"], 15)
        self.assertTrue(client.call("audit.verify")["intact"])


@in_quick_form("test_without_a_bundle_every_decision_is_denied")
class Age(BundleFixture):
    def test_without_a_bundle_every_decision_is_denied(self):
        _, client = self.agent()
        client.call("policy.set", {"name": "mine", "policy": policy(1, "mine", view=WINDOW)})
        self.assertEqual(self.refresh(client)["lastFailure"]["reason"], "unexpectedStatus")
        self.assertEqual(self.check(client), ("deny", "policyError"))
        self.assertEqual(self.doctor(client)["severity"], "problem")

    def test_stale_bundle_is_a_policy_error_until_the_source_confirms(self):
        self.publish(1, policy(1, view=WINDOW), policy(1, "other"))
        scene, client = self.agent(maxAgeSeconds=3)
        self.assertEqual(self.refresh(client)["version"], 1)
        decision = client.call("authorization.check", {"account": "alice", "capability": "view"})
        self.assertEqual(decision["effect"], "allow")
        self.assertLessEqual(decision["validForSeconds"], 3)
        self.until(lambda: self.check(client) == ("deny", "policyError"), "the end of the bundle")
        told = self.status(client)
        self.assertEqual((told["version"], told["tooOld"]), (1, True))
        self.assertEqual(self.doctor(client)["severity"], "problem")
        # Nor does a restart make it younger.
        self.source.stop()
        try:
            scene.kill()
            client = self.again(scene)
            self.assertEqual(self.check(client), ("deny", "policyError"))
        finally:
            self.source.start()
        self.assertFalse(self.refresh(client)["tooOld"])
        self.assertEqual(self.check(client), ("allow", "allowed"))

    @unittest.skipUnless(shutil.which("cc"), "NOT RUN: no C compiler here, so no clock can be shifted")
    def test_clock_that_is_set_back_makes_no_bundle_younger(self):
        library = os.path.join(self.directory(), "clockshift.so")
        source = os.path.join(os.path.dirname(os.path.abspath(test_clock.__file__)), "clockshift.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
        self.publish(1, policy(1, view={**WINDOW, "onClockSuspect": "shrink"}))
        scene = test_clock.Shifted(library)
        self.addCleanup(scene.__exit__)
        self.configure(scene, maxAgeSeconds=3)
        scene.start()
        self.assertTrue(os.path.exists(scene.seen), "the agent looks at another clock")
        client = self.client(scene)
        add_provider(client, self.practice)
        import_account(client, self.practice, "alice", alias="alice")
        asked = test_clock.boot_seconds()
        self.assertFalse(self.refresh(client)["tooOld"])
        confirmed = test_clock.boot_seconds()
        self.source.stop()
        try:
            scene.set_wall(-test_clock.DAY)
            while self.check(client)[0] == "allow":
                self.assertLess(test_clock.boot_seconds() - confirmed, 5, "a clock that was set back keeps the bundle")
                time.sleep(0.05)
            self.assertGreater(test_clock.boot_seconds() - asked, 2.9)
            # With any clock at the next start.
            scene.kill()
            scene.set_wall(-30 * test_clock.DAY)
            self.assertEqual(self.check(self.again(scene)), ("deny", "policyError"))
        finally:
            self.source.start()


@in_quick_form("test_percentage_chooses_agents_by_a_keyed_hash_of_their_ids")
class Rollouts(BundleFixture):
    def rollout(self, percentage: int, key: str = "spring", **members) -> dict:
        return {"policy": policy(2, edit=WINDOW, view=WINDOW), "percentage": percentage, "key": key, **members}

    def test_percentage_chooses_agents_by_a_keyed_hash_of_their_ids(self):
        self.publish(1, policy(1, view=WINDOW), rollouts=[self.rollout(0)])
        scene, client = self.agent()
        agent = self.refresh(client)["agent"]
        self.assertEqual(self.check(client, "edit"), ("deny", "unknownCapability"))
        self.publish(2, policy(1, view=WINDOW), rollouts=[self.rollout(100)])
        self.refresh(client)
        self.assertEqual(self.check(client, "edit"), ("allow", "allowed"))
        self.assertEqual(self.check(client), ("allow", "allowed"))
        version = 3
        for key in ("spring", "summer", "x", "ö" * 32):
            digest = hashlib.blake2b(agent.encode(), key=key.encode(), digest_size=16).digest()
            share = int.from_bytes(digest[:6], "big") * 100 / (1 << 48)
            for percentage in (int(share), int(share) + 1):
                self.publish(version, policy(1, view=WINDOW), rollouts=[self.rollout(percentage, key)])
                self.assertEqual(self.refresh(client)["version"], version)
                self.assertEqual(self.check(client, "edit")[0], "allow" if percentage > share else "deny")
                version += 1
        # The id stays.
        scene.kill()
        client = self.again(scene)
        self.assertEqual(self.status(client)["agent"], agent)

    def test_shadow_decides_nothing_and_differences_are_audited(self):
        self.publish(
            1, policy(1, view=WINDOW, edit=WINDOW),
            rollouts=[{"policy": policy(2, view=WINDOW, send=WINDOW), "percentage": 100, "key": "k", "shadow": True}])
        _, client = self.agent()
        self.assertEqual(self.refresh(client)["shadows"], ["default"])
        for _ in range(3):
            self.assertEqual(self.check(client), ("allow", "allowed"))
            self.assertEqual(self.check(client, "edit"), ("allow", "allowed"))
            self.assertEqual(self.check(client, "send"), ("deny", "unknownCapability"))
        told = {
            entry["facts"]["capability"]: (entry["outcome"], entry["facts"]["decided"], entry["facts"]["policyVersion"], entry["count"])
            for entry in self.audit(client, "policy.shadow")
        }
        self.assertEqual(told, {"edit": ("deny", "allow", 2, 3), "send": ("allow", "deny", 2, 3)})
        many = client.call("authorization.checkMany", {"account": "alice", "capabilities": ["view", "edit", "send"]})
        self.assertEqual([decision["effect"] for decision in many["decisions"]], ["allow", "allow", "deny"])
        self.publish(2, policy(1, view=WINDOW, edit=WINDOW))
        self.assertEqual(self.refresh(client)["shadows"], [])
        self.assertEqual(self.check(client, "edit"), ("allow", "allowed"))
        self.assertEqual(sum(entry.get("count", 1) for entry in self.audit(client, "policy.shadow")), 8)


@in_quick_form()
class Configured(BundleFixture):
    def test_bad_members_are_told_with_their_places(self):
        scene = self.scene(start=False)
        for members, told in (
            ({"url": "http://policies.example/b.json"}, "https URL"), ({"url": "https://policies.example/b.json?x"}, "https URL"),
            ({"url": "https://u@policies.example/b.json"}, "https URL"), ({"publicKey": "RWQ"}, "minisign -G"),
            ({"intervalSeconds": 0}, "whole number"), ({"maxAgeSeconds": "1"}, "whole number"), ({"keys": []}, "no such member"),
        ):
            with self.subTest(members):
                self.configure(scene, **members)
                ended = scene.run()
                self.assertEqual(ended.returncode, 64, ended.stderr)
                self.assertIn(told, ended.stderr.decode())


if __name__ == "__main__":
    unittest.main()
