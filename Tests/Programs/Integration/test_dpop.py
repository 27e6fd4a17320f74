"""Tokens that are bound to a key (docs/dpop.md), with servers that are not ours: proofs are checked by pydpop and
jwcrypto, and by Apache's mod_oauth2."""

import base64
import concurrent.futures
import glob
import json
import os
import random
import shutil
import socket
import subprocess
import unittest
import urllib.error
import urllib.request

from agent_fixture import AgentFixture, PATIENCE_SECONDS, add_provider
from real_provider import CANNOT_INSTALL, FOLDER
from test_memory import guarded_memory, writable_memory

PYTHON = os.path.join(FOLDER, "..", "..", "..", ".build", "real-provider", "bin", "python")
MODULES = "/usr/lib/apache2/modules"
NOT_BOUND = 3003


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, data, timeout=PATIENCE_SECONDS) as answer:
        return json.load(answer)


class Bound(AgentFixture):
    def setUp(self):
        self.practice = self.provider("--dpop", "nonce")
        self.agent = self.scene()
        self.caller = self.client(self.agent)

    def signed_in(self, **members):
        """Alice, signed in through the browser: a key was there before her code."""
        add_provider(self.caller, self.practice, **members)
        begun = self.caller.call(
            "signIn.begin", {"provider": "practice", "flow": "browser", "alias": "alice", "openBrowser": False})
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            begun["authorizationUrl"], timeout=PATIENCE_SECONDS).read()
        ended = self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 15})
        self.assertEqual(ended["status"], "completed")

    def key(self):
        return self.caller.call("session.get", {"account": "alice"}).get("deviceKeyId")

    def send(self, method, url, **members):
        return self.caller.call("request.send", {"account": "alice", "method": method, "url": url, **members})


class Verified(Bound):
    """By pydpop and jwcrypto."""

    @classmethod
    def setUpClass(cls):
        installed = subprocess.run([os.path.join(FOLDER, "install")]).returncode
        if installed == CANNOT_INSTALL and os.environ.get("LANYARD_REQUIRE_REAL") != "1":
            raise unittest.SkipTest("pydpop can't be installed here: no other implementation checks proofs")

    def setUp(self):
        super().setUp()
        server = subprocess.Popen(
            [PYTHON, os.path.join(FOLDER, "bound_resource.py"), self.practice.issuer],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        def stop():
            server.stdin.close()
            server.wait(PATIENCE_SECONDS)
            server.stdout.close()

        self.addCleanup(stop)
        self.origin = f"http://127.0.0.1:{int(server.stdout.readline())}"

    def test_requests_are_served_with_nonces_that_end(self):
        self.signed_in(allowedOrigins=[self.origin])
        attempts = [
            self.send(method, f"{self.origin}/a%2Fb/{number}?x=%20{number}", **({"body": "x" * number} if number else {}))
            for number, method in enumerate(["GET", "POST", "PUT", "PATCH", "DELETE", "POST", "POST"])]
        self.assertEqual({answer["status"] for answer in attempts}, {200}, attempts)
        # A nonce is good for three requests.
        self.assertEqual([answer["attempts"] for answer in attempts], [2, 1, 1, 2, 1, 1, 2])
        self.assertFalse(any(answer["refreshed"] for answer in attempts))
        served = ask(self.origin + "/log")
        self.assertEqual([each.get("bytes") for each in served], [0, 1, 2, 3, 4, 5, 6], served)
        self.assertEqual({each["key"] for each in served}, {self.key()})

    def test_fifty_writes_at_once_are_carried_out_once_each(self):
        self.signed_in(allowedOrigins=[self.origin])
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            def write(number):
                with self.agent.client(timeout=PATIENCE_SECONDS) as client:
                    return client.call("request.send", {
                        "account": "alice", "method": "POST", "url": f"{self.origin}/{number}", "body": "x"})["status"]
            statuses = list(pool.map(write, range(50)))
        served = ask(self.origin + "/log")
        self.assertEqual(statuses.count(200), len(served))
        self.assertEqual(len({each["path"] for each in served}), len(served))
        self.assertEqual(statuses.count(200), 50, statuses)

    def test_proofs_for_programs_are_valid(self):
        self.signed_in()
        chance = random.Random(7)
        key = self.key()
        seen = set()
        for _ in range(40):
            token = self.caller.call("token.get", {"account": "alice"})
            self.assertEqual(token["tokenType"], "DPoP")
            host = chance.choice(["api.example", "API.Example:443", "[::1]:8443", "127.0.0.1"])
            path = "".join(chance.choice(["/", "a", "%2f", "~", "-", "%C3%A4", ";", "=", "@"]) for _ in range(12))
            asked = {
                "method": chance.choice(["GET", "POST", "DELETE", "PROPFIND"]), "url": f"https://{host}/x{path}?q={path}"}
            nonce = chance.choice([None, "n-0S6_WzA2Mj", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~"])
            proof = self.caller.call("token.proof", {
                "account": "alice", "fingerprint": token["fingerprint"], **asked, **({"nonce": nonce} if nonce else {})})
            self.assertEqual(proof["thumbprint"], key)
            normal = asked["url"].replace("API.Example:443", "api.example")
            judged = ask(self.origin + "/verify", {
                **asked, "url": normal, "proof": proof["proof"], "token": token["accessToken"], "nonce": nonce})
            self.assertEqual(judged.get("key"), key, (judged, asked))
            self.assertEqual(judged["header"], ["alg", "jwk", "typ"])
            self.assertEqual(judged["jwk"], ["crv", "kty", "x", "y"])
            self.assertNotIn("?", judged["claims"]["htu"])
            seen.add(judged["claims"]["jti"])
        self.assertEqual(len(seen), 40)

    def test_kills_lose_no_session_and_no_key(self):
        self.signed_in(allowedOrigins=[self.origin], refresh={"reuse": "grace", "graceSeconds": 600})
        self.practice.post("options", rotation="grace", graceSeconds=600)
        key = self.key()
        chance = random.Random(9)
        for _ in range(8):
            self.practice.fault("none", delayMilliseconds=60, count=2)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                client = self.agent.client(timeout=PATIENCE_SECONDS)
                asked = pool.submit(lambda: client.call("token.refresh", {"account": "alice"}))
                concurrent.futures.wait([asked], timeout=chance.uniform(0.0, 0.2))
                self.agent.kill()
                asked.exception()
                client.close()
            self.practice.clear_faults()
            self.agent.start()
            self.caller = self.client(self.agent)
            self.assertEqual(self.key(), key)
            self.assertEqual(self.send("GET", self.origin + "/")["status"], 200)
        self.assertEqual(self.practice.ended(), {})


@unittest.skipUnless(os.path.exists(MODULES + "/mod_oauth2.so"), "libapache2-mod-oauth2 is not installed")
class Apache(Bound):
    """A resource on Apache with mod_oauth2, which checks the tokens' signatures and the proofs."""

    def setUp(self):
        super().setUp()
        directory = self.directory()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        modules = ["mpm_event", "authn_core", "authz_core", "authz_user", "oauth2"]
        lines = [
            f"ServerRoot {directory}", f"PidFile {directory}/pid", f"Listen 127.0.0.1:{port}", "ServerName 127.0.0.1",
            f"DefaultRuntimeDir {directory}", f"Mutex file:{directory} default", f"ErrorLog {directory}/errors",
            "LogLevel debug",
            *(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules),
            f"DocumentRoot {directory}/pages", f"<Directory {directory}/pages>", "Require all granted", "</Directory>",
            "<Location /bound>", "AuthType oauth2",
            f"OAuth2TokenVerify jwks_uri {self.practice.issuer}/jwks type=dpop&verify.exp=required",
            "OAuth2AcceptTokenIn header name=Authorization&type=DPoP", "Require valid-user", "</Location>", "User www-data", "Group www-data"]
        os.makedirs(f"{directory}/pages/bound")
        with open(f"{directory}/pages/bound/page", "w") as page:
            page.write("served")
        with open(f"{directory}/conf", "w") as conf:
            conf.write("\n".join(lines) + "\n")
        for place in [directory, f"{directory}/pages", f"{directory}/pages/bound"]:
            os.chmod(place, 0o755)
        self.errors = f"{directory}/errors"
        server = subprocess.Popen(
            [shutil.which("apache2") or "/usr/sbin/apache2", "-d", directory, "-f", f"{directory}/conf", "-D", "FOREGROUND"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

        def stop():
            server.terminate()
            server.wait(PATIENCE_SECONDS)
            server.stdout.close()

        self.addCleanup(stop)

        def listens():
            self.assertIsNone(server.poll(), "Apache ended")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        self.until(listens, "Apache listens")
        self.origin = f"http://127.0.0.1:{port}"

    def log(self):
        with open(self.errors, errors="replace") as log:
            return log.read()[-4000:]

    def test_bound_token_with_its_proof_is_served_and_without_it_refused(self):
        self.signed_in(allowedOrigins=[self.origin])
        for _ in range(3):
            answer = self.send("GET", self.origin + "/bound/page")
            self.assertEqual((answer["status"], answer.get("body")), (200, "served"), self.log())
        self.caller.call("token.refresh", {"account": "alice"})
        self.assertEqual(self.send("GET", self.origin + "/bound/page")["status"], 200, self.log())
        token = self.caller.call("token.get", {"account": "alice"})["accessToken"]
        for fields in [{"Authorization": "Bearer " + token}, {"Authorization": "DPoP " + token}]:
            with self.assertRaises(urllib.error.HTTPError) as caught:
                request = urllib.request.Request(self.origin + "/bound/page", headers=fields)
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)
            self.assertEqual(caught.exception.code, 401)
            caught.exception.close()

    def test_program_with_a_proof_is_served_once(self):
        self.signed_in()
        token = self.caller.call("token.get", {"account": "alice"})
        url = self.origin + "/bound/page"
        proof = self.caller.call("token.proof", {
            "account": "alice", "method": "GET", "url": url + "?x=1#y", "fingerprint": token["fingerprint"]})["proof"]
        fields = {"Authorization": "DPoP " + token["accessToken"], "DPoP": proof}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(url, headers=fields)) as answer:
            self.assertEqual(answer.read(), b"served")
        with self.assertRaises(urllib.error.HTTPError) as caught:
            opener.open(urllib.request.Request(url, headers=fields))
        caught.exception.close()
        self.assertEqual(caught.exception.code, 401)


FINDER = """
import sys
from cryptography.hazmat.primitives.asymmetric import ec
x, data = int(sys.argv[1], 16), sys.stdin.buffer.read()
for place in range(0, len(data), 32):
    number = int.from_bytes(data[place:place + 32], "big")
    try:
        if ec.derive_private_key(number, ec.SECP256R1()).public_key().public_numbers().x == x:
            print(data[place:place + 32].hex())
            break
    except ValueError:
        pass
"""
"""Finds the private number of a public one among the candidates on standard input."""


class Secrecy(Bound):
    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's memory")
    @unittest.skipUnless(os.path.exists(PYTHON), "pydpop's environment is not installed")
    def test_the_private_number_is_in_guarded_memory_alone_and_gone_after_a_sign_out(self):
        self.signed_in()
        for number in range(20):
            proof = self.caller.call(
                "token.proof", {"account": "alice", "method": "GET", "url": f"https://api.example/{number}"})["proof"]
        self.caller.call("token.refresh", {"account": "alice"})
        header = json.loads(base64.urlsafe_b64decode(proof.split(".")[0] + "=="))
        x = base64.urlsafe_b64decode(header["jwk"]["x"] + "=").hex()
        guarded = guarded_memory(self.agent.pid)
        candidates = {
            data[place:place + 32]
            for where, data in writable_memory(self.agent.pid) if where.split()[0] in guarded
            for place in range(0, len(data) - 31, 8)}
        candidates = [each for each in candidates if len(set(each)) > 12]
        found = subprocess.run(
            [PYTHON, "-c", FINDER, x], input=b"".join(candidates), capture_output=True, check=True).stdout.decode()
        number = bytes.fromhex(found)
        self.assertEqual(len(number), 32, f"not among {len(candidates)} candidates")
        spellings = [number, number[::-1], base64.urlsafe_b64encode(number).rstrip(b"=")]

        def places():
            return [
                (where, spellings.index(spelling)) for where, data in writable_memory(self.agent.pid)
                for spelling in spellings if spelling in data]

        self.assertEqual([place for place in places() if place[0].split()[0] not in guarded], [])
        self.caller.call("account.signOut", {"account": "alice", "mode": "soft"})
        self.until(lambda: not places(), "the key is wiped")

    def test_the_private_number_is_told_nowhere(self):
        self.signed_in()
        told = [
            self.caller.call(method, params) for method, params in [
                ("session.get", {"account": "alice"}), ("account.get", {"account": "alice"}),
                ("token.get", {"account": "alice"}), ("provider.get", {"provider": "practice"}),
                ("token.proof", {"account": "alice", "method": "GET", "url": "https://api.example/"})]]
        self.assertNotIn('"d"', json.dumps(told))
        for path in glob.glob(self.agent.directory + "/**", recursive=True):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
                self.assertNotIn(b"deviceKey", content, path)
                self.assertNotIn(self.key().encode(), content, path)

    def test_sign_out_destroys_the_key(self):
        for mode in ["soft", "hard", "offline"]:
            with self.subTest(mode):
                self.setUp()
                self.signed_in()
                key = self.key()
                self.caller.call("account.signOut", {"account": "alice", "mode": mode})
                gone = self.caller.call("account.list", {})["accounts"][0]["id"]
                self.assertNotIn("deviceKeyId", self.caller.call("session.get", {"account": gone}))
                self.refused(2003, lambda: self.caller.call(
                    "token.proof", {"account": gone, "method": "GET", "url": "https://api.example/"}))
                self.assertTrue(key)


if __name__ == "__main__":
    unittest.main()
