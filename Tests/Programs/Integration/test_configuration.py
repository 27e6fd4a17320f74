"""The configuration file, private authorities and proxies, of the agent as it runs."""

import http.server
import json
import os
import ssl
import stat
import subprocess
import threading
import unittest

from agent_fixture import BIN, PATIENCE_SECONDS, AgentFixture, LanyardError

USAGE = 64
UNTRUSTED = 3004
LANYARD = os.path.join(BIN, "lanyard")

# The machine's own choice of authorities would count instead of that of a test.
for variable in ("CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
    os.environ.pop(variable, None)


class Issuer:
    """A discovery document over TLS, by a certificate of its own authority."""

    def __init__(self, directory, name="localhost"):
        self.certificate, key = (os.path.join(directory, f"{name}.{kind}") for kind in ("pem", "key"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
             "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}", "-keyout", key, "-out",
             self.certificate], check=True, capture_output=True)
        issuer = self
        self.requests = 0
        self.resumed = []
        """For each connection whether it resumed a TLS session of a former one."""

        class Handler(http.server.BaseHTTPRequestHandler):
            def setup(self):
                issuer.resumed.append(self.request.session_reused)
                super().setup()

            def do_GET(self):
                issuer.requests += 1
                body = json.dumps({
                    "issuer": issuer.url, "authorization_endpoint": f"{issuer.url}/authorize",
                    "token_endpoint": f"{issuer.url}/token", "jwks_uri": f"{issuer.url}/jwks"}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()


class Configured(AgentFixture):
    def configure(self, scene, text, mode=0o600):
        path = os.path.join(scene.environment["XDG_CONFIG_HOME"], "lanyard", "agent.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text if isinstance(text, str) else json.dumps(text))
        os.chmod(path, mode)
        return path

    def issuer(self, name="localhost"):
        issuer = Issuer(self.directory(), name)
        self.addCleanup(issuer.stop)
        return issuer

    def add(self, client, issuer, **members):
        client.call("provider.add", {"name": "idp", "issuer": issuer.url, "clientId": "app", **members})

    def untrusted(self, reason, client, issuer, **members):
        error = self.refused(UNTRUSTED, lambda: self.add(client, issuer, **members))
        self.assertEqual((error.data["reason"], error.data["outcome"]), (reason, "notSent"))


class Authorities(Configured):
    def test_private_authority_is_unknown_until_it_is_named(self):
        issuer = self.issuer()
        client = self.client(self.scene())
        self.untrusted("unknownAuthority", client, issuer)
        self.untrusted("unknownAuthority", client, issuer, caFile="/nowhere.pem")
        self.add(client, issuer, caFile=issuer.certificate)
        provider = client.call("provider.get", {"provider": "idp"})["provider"]
        self.assertEqual(provider["caFile"], issuer.certificate)
        client.call("provider.update", {"provider": "idp", "caFile": ""})
        self.assertNotIn("caFile", client.call("provider.get", {"provider": "idp"})["provider"])
        with self.assertRaises(LanyardError) as caught:
            client.call("provider.update", {"provider": "idp", "caFile": "ca.pem"})
        self.assertEqual(caught.exception.data["path"], "/caFile")

    def test_file_without_authorities_is_refused_for_every_scheme(self):
        """At an `http` provider no request would have told."""
        scene = self.scene()
        client = self.client(scene)
        directory = self.directory()
        issuer = self.issuer()
        with open(issuer.certificate) as file:
            certificate = file.read()
        contents = {
            "empty.pem": "", "text.pem": "no certificate\n", "cut.pem": certificate[:len(certificate) // 2],
            "garbled.pem": "-----BEGIN CERTIFICATE-----\nMIIB\nAAAA\n-----END CERTIFICATE-----\n",
            "key.pem": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n",
        }
        for name, content in contents.items():
            with open(os.path.join(directory, name), "w") as file:
                file.write(content)
        with open(os.path.join(directory, "binary.der"), "wb") as file:
            file.write(ssl.PEM_cert_to_DER_cert(certificate))
        names = [*contents, "binary.der", "missing.pem", "."]
        provider = self.provider()
        for name in names:
            path = os.path.join(directory, name)
            for url in (provider.issuer, issuer.url):
                with self.subTest(name, url=url):
                    error = self.refused(UNTRUSTED, lambda: client.call(
                        "provider.add", {"name": "idp", "issuer": url, "clientId": "app", "caFile": path}))
                    self.assertEqual(
                        (error.data["reason"], error.data["path"], error.data["outcome"]),
                        ("unknownAuthority", "/caFile", "notSent"))
        self.assertEqual(client.call("provider.list")["providers"], [])
        client.call("provider.add", {
            "name": "idp", "issuer": provider.issuer, "clientId": "app", "caFile": issuer.certificate})
        for name in names:
            with self.subTest(name, method="provider.update"):
                self.refused(UNTRUSTED, lambda: client.call(
                    "provider.update", {"provider": "idp", "caFile": os.path.join(directory, name)}))
        kept = client.call("provider.get", {"provider": "idp"})["provider"]
        self.assertEqual(kept["caFile"], issuer.certificate)

    def test_certificate_for_another_name_is_told(self):
        issuer = self.issuer("idp.example")
        client = self.client(self.scene())
        self.untrusted("wrongName", client, issuer, caFile=issuer.certificate)

    def test_authorities_of_the_environment_count(self):
        issuer, other = self.issuer(), self.issuer()
        for variables in (
            {"SSL_CERT_FILE": issuer.certificate}, {"CURL_CA_BUNDLE": issuer.certificate},
            {"CURL_CA_BUNDLE": issuer.certificate, "SSL_CERT_FILE": other.certificate},
        ):
            with self.subTest(variables):
                scene = self.scene(start=False)
                os.environ.update(variables)
                try:
                    scene.start()
                finally:
                    for name in variables:
                        del os.environ[name]
                self.add(self.client(scene), issuer)
        directory = self.directory()
        os.symlink(issuer.certificate, os.path.join(directory, "ca.pem"))
        subprocess.run(["openssl", "rehash", directory], check=True, capture_output=True)
        scene = self.scene(start=False)
        os.environ["SSL_CERT_DIR"] = directory
        try:
            scene.start()
        finally:
            del os.environ["SSL_CERT_DIR"]
        self.add(self.client(scene), issuer)

    def test_authority_of_the_file_counts(self):
        issuer = self.issuer()
        scene = self.scene(start=False)
        path = self.configure(scene, {"caFile": issuer.certificate})
        scene.start()
        client = self.client(scene)
        self.assertEqual(client.call("agent.status")["configuration"], path)
        self.add(client, issuer)


class File(Configured):
    def findings(self, client):
        found = client.call("agent.diagnose")["findings"]
        return [(finding["severity"], finding.get("subject")) for finding in found if finding["check"] == "configuration"]

    def test_without_a_file_nothing_is_told(self):
        client = self.client(self.scene())
        self.assertNotIn("configuration", client.call("agent.status"))
        self.assertEqual(self.findings(client), [])

    def test_problems_are_told_with_line_and_column_and_the_agent_does_not_start(self):
        scene = self.scene(start=False)
        path = self.configure(scene, '{\n  "proxy": "nonsense",\n  "lockafter": 1\n}')
        done = scene.run()
        self.assertEqual(done.returncode, USAGE)
        told = done.stderr.decode()
        self.assertIn(f"{path}:2:12: ", told)
        self.assertIn(f"{path}:3:3: ", told)
        self.configure(scene, "{,}")
        self.assertIn(f"{path}:1:2: This is not JSON", scene.run().stderr.decode())
        self.assertFalse(os.path.exists(os.path.join(scene.state, "lanyard.sqlite")))

    def test_file_that_others_may_write_is_refused(self):
        scene = self.scene(start=False)
        self.configure(scene, "{}", mode=0o622)
        done = scene.run()
        self.assertEqual(done.returncode, USAGE)
        self.assertIn(b"others may write", done.stderr)

    def test_named_file_comes_instead_of_the_usual_one(self):
        named = os.path.join(self.directory(), "other.json")
        with open(named, "w") as file:
            json.dump({"limits": {"connections": 9, "requestsInFlight": 3}}, file)
        os.chmod(named, stat.S_IRUSR)
        scene = self.scene("--config", named, start=False)
        self.configure(scene, "nonsense")
        scene.start()
        client = self.client(scene)
        self.assertEqual(client.call("agent.status")["configuration"], named)
        limits = client.call("agent.hello", {"client": {"name": "test", "version": "1"}})["limits"]
        self.assertEqual((limits["connections"], limits["requestsInFlight"]), (9, 3))
        self.assertEqual(self.scene("--config", named + "x", start=False).run().returncode, USAGE)

    def test_vault_is_locked_after_the_idle_time_of_the_file(self):
        scene = self.scene(start=False)
        self.configure(scene, {"lockAfterSeconds": 1})
        scene.start()
        client = self.client(scene)
        client.call("account.list")
        self.until(lambda: client.call("agent.status")["locked"], "the lock")

    def test_doctor_tells_what_is_wrong_with_the_file_now(self):
        scene = self.scene(start=False)
        authority = os.path.join(self.directory(), "ca.pem")
        path = self.configure(scene, {"caFile": authority})
        scene.start()
        client = self.client(scene)
        self.assertEqual(self.findings(client), [("problem", path)])  # there is no such authority
        with open(authority, "w"):
            pass
        self.assertEqual(self.findings(client), [("ok", None)])
        self.configure(scene, {"proxy": "none"})
        self.assertEqual(self.findings(client), [("problem", path)])  # changed since the start

    def test_autostarted_agent_reads_the_file(self):
        scene = self.scene(start=False)
        path = self.configure(scene, {"limits": {"connections": 10}})
        environment = scene.environment
        done = subprocess.run(
            [LANYARD, "rpc", "agent.status"], env=environment, capture_output=True, timeout=PATIENCE_SECONDS)
        self.addCleanup(subprocess.run, [LANYARD, "rpc", "agent.shutdown", "--no-start"], env=environment,
                        capture_output=True)
        self.assertEqual(json.loads(done.stdout)["configuration"], path, done.stderr)


if __name__ == "__main__":
    unittest.main()
