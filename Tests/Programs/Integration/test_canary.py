"""A canary scan: after a whole session and a lock, no secret of the session is anywhere, in any encoding.

Each secret of the session is made by the test and carries a mark three times, so that a fragment is found too, and a
search over all memory looks for few byte strings. Secrets that the provider makes (codes, first tokens) have no mark
and are searched for separately.
"""

import base64
import json
import os
import re
import secrets
import stat
import subprocess
import time
import unittest
import urllib.parse
import urllib.request

from agent_fixture import (
    BIN, AgentFixture, LanyardError, PATIENCE_SECONDS, add_provider, answer_of_provider, raw, request)
from key_service import KeyService
from test_memory import PINENTRY, writable_memory

MARK = "vJ8wqZk3T"
SETTLED_SECONDS = 8.0
"""libcurl's thread ends, with all its buffers, two seconds after the last transfer."""


def canary(name: str) -> str:
    return f"{MARK}{name}{MARK}{secrets.token_hex(6)}{name}{MARK}"


def spellings(secret):
    """The bytes of a secret in each encoding in which secrets travel: of a text, or of a number of a private key."""
    data = secret if isinstance(secret, bytes) else secret.encode()
    yield "raw", data
    yield "hex", data.hex().encode()
    yield "HEX", data.hex().upper().encode()
    if isinstance(secret, bytes):
        # As libraries for large numbers keep them.
        yield "little-endian", data[::-1]
    else:
        yield "UTF-16", secret.encode("utf-16-le")
        yield "UTF-16BE", secret.encode("utf-16-be")
        yield "percent, where it must be", urllib.parse.quote(secret, safe="").encode()
        yield "JSON", json.dumps(secret)[1:-1].encode()
    yield "percent", "".join(f"%{byte:02X}" for byte in data).encode()
    for before in range(3):
        # Neighbouring text shifts the base64; the characters that depend on it are left out.
        whole = base64.b64encode(b"\0" * before + data)
        inner = whole[-(-before * 8 // 6):(before + len(data)) * 8 // 6]
        yield f"base64 at {before}", inner
        yield f"base64url at {before}", inner.translate(bytes.maketrans(b"+/", b"-_"))


class Search:
    """The byte strings to search for: the mark, and whole secrets without a mark, texts or bytes."""

    def __init__(self, unmarked):
        self.needles = {}
        for secret in [MARK, *unmarked]:
            for how, needle in spellings(secret):
                self.needles.setdefault(needle, (secret, how))
        self.longest = max(map(len, self.needles))

    def within(self, data: bytes, where: str):
        found = []
        for needle, (secret, how) in self.needles.items():
            at = data.find(needle)
            if at >= 0:
                around = data[max(0, at - 40):at + 90]
                found.append(f"{where}: {secret[:12]!r}… ({how}): {around!r}")
        return found

    def memory(self, pid: int):
        found, place, tail = [], None, b""
        for where, data in writable_memory(pid):
            joined = tail + data if where == place else data
            found += self.within(joined, f"memory {where}")
            place, tail = where, data[-self.longest:]
        return found

    def files(self, directory: str):
        found = []
        for top, _, names in os.walk(directory):
            for name in names:
                path = os.path.join(top, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        found += self.within(file.read(), path)
                found += self.within(name.encode(), f"the name {path}")
        return found

    def process(self, pid: int):
        found = []
        for name in ("cmdline", "environ", "comm", "maps", "status"):
            with open(f"/proc/{pid}/{name}", "rb") as file:
                found += self.within(file.read(), name)
        return found


@unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's memory")
class CanaryScan(AgentFixture):
    def setUp(self):
        self.words = {
            name: canary(name)
            for name in ("passphrase", "wrongPassphrase", "clientSecret", "pin", "wrongPin", "typedPin", "kept", "removed",
                         "imported", "badImport", "state")
        }
        self.unmarked = set()
        program = os.path.join(self.directory(), "pinentry")
        with open(program, "w") as file:
            file.write(PINENTRY)
        os.chmod(program, stat.S_IRWXU)
        with open(program + ".pin", "w") as file:
            file.write(self.words["typedPin"])
        users = os.path.join(self.directory(), "users.json")
        with open(users, "w") as file:
            json.dump({
                "users": [{"name": name, "tenant": "acme", "password": canary("password"), "roles": ["technician"],
                           "email": f"{name}@acme.example"} for name in ("alice", "bob")],
                "clients": [{"client_id": "canary", "client_secret": self.words["clientSecret"],
                             "redirect_uris": ["http://127.0.0.1/callback"]}],
            }, file)
        self.idp = self.provider("--users", users)
        self.agent = self.scene("--protection", "passphrase", "--pinentry", program, "--log-level", "trace")
        self.caller = self.client(self.agent)

    def asked(self, method, **params):
        """A call on a connection that ends with it."""
        (answer,) = raw(self.agent.socket, request(method, params))
        return answer

    def fails(self, method, **params):
        with self.assertRaises(LanyardError):
            self.caller.call(method, params)

    def issue(self, effect="changeAnswer", **more):
        """Sets the provider's next answer with marked tokens; the provider's own tokens are recorded as unmarked."""
        tokens = {"refresh_token": canary("refresh"), **more}
        if effect == "answer":
            tokens = {"token_type": "Bearer", "expires_in": 300, "access_token": canary("access"), **tokens}
            self.idp.fault("answer", status=200, json=tokens, count=1)
        else:
            self.idp.fault("changeAnswer", json=tokens, count=1)
        return tokens

    def sign_in(self, person, paste):
        begun = self.caller.call(
            "signIn.begin", {"provider": "practice", "flow": "browser", "openBrowser": False, "alias": person})
        redirect = answer_of_provider(begun["authorizationUrl"], person)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(redirect).query)
        self.unmarked |= {query["code"][0], query["state"][0]}
        self.issue()
        if paste:
            self.fails("signIn.complete", signIn=begun["signIn"], redirectUrl=redirect.replace(query["state"][0], self.words["state"]))
            self.caller.call("signIn.complete", {"signIn": begun["signIn"], "redirectUrl": redirect})
        else:
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(redirect, timeout=PATIENCE_SECONDS) as page:
                page.read()
        self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 20})
        self.unmarked.add(self.caller.call("token.get", {"account": person})["accessToken"])

    def session(self):
        words, call = self.words, self.caller.call
        call("agent.initialize", {"protection": "passphrase", "passphrase": words["passphrase"]})
        add_provider(
            self.caller, self.idp, clientId="canary", clientSecret=words["clientSecret"], tenant={"claim": "tid"},
            persistAccessTokens=True)
        self.sign_in("alice", paste=False)
        self.sign_in("bob", paste=True)
        for person in ("alice", "bob"):
            for _ in range(2):
                issued = self.issue("answer")
                self.assertEqual(call("token.refresh", {"account": person})["accessToken"], issued["access_token"])
            token = call("token.get", {"account": person})
            self.issue("answer")
            call("token.reject", {"account": person, "fingerprint": token["fingerprint"]})
        self.issue("answer")
        self.asked("token.refresh", account="alice")
        # Rejected answers hold secrets, too.
        self.idp.fault("answer", status=400, json={"error": "invalid_grant", "error_description": canary("told")})
        self.fails("signIn.import", provider="practice", refreshToken=words["badImport"])

        for name in ("kept", "removed"):
            call("secret.put", {"account": "alice", "name": name, "value": words[name]})
            self.asked("secret.put", account="alice", name=name, value=words[name])
            self.assertEqual(call("secret.get", {"account": "alice", "name": name})["value"], words[name])
        call("secret.remove", {"account": "alice", "name": "removed"})
        self.fails("secret.put", account="nobody", name="kept", value=words["kept"])

        call("stepUp.enroll", {"account": "alice", "pin": words["pin"]})
        call("stepUp.verify", {"account": "alice", "pin": words["pin"]})
        self.fails("stepUp.verify", account="alice", pin=words["wrongPin"])
        self.asked("stepUp.verify", account="alice", prompt="pinentry")
        call("authorization.check", {"account": "alice", "capability": "badge.view"})
        call("account.signOut", {"account": "bob", "mode": "soft"})

        # Mistaken requests.
        for line in (f'{{"{words["kept"]}"', f'{{"jsonrpc":"2.0","id":1,"method":"secret.put","params":"{words["kept"]}"}}',
                     f'{{"jsonrpc":"2.0","id":1,"method":"{words["kept"]}"}}', f'"{words["kept"]}"'):
            raw(self.agent.socket, line.encode() + b"\n")
        self.fails("account.get", account=words["kept"])

        call("agent.lock")
        self.fails("agent.unlock", passphrase=words["wrongPassphrase"])
        call("agent.unlock", {"passphrase": words["passphrase"]})
        self.assertEqual(call("token.get", {"account": "alice"})["account"], call("account.get", {"account": "alice"})["id"])

    def test_locked_agent_holds_no_secret_of_the_session(self):
        self.session()
        search = Search(self.unmarked)
        there = search.memory(self.agent.pid)
        self.assertTrue(there, "the search does not find what an open vault must hold")

        listed = json.dumps(self.caller.call("audit.list", {}))
        self.assertEqual(search.within(listed.encode(), "audit.list"), [])
        status = json.dumps(self.caller.call("agent.status"))
        self.assertEqual(search.within(status.encode(), "agent.status"), [])
        self.caller.call("agent.lock")
        self.assertEqual(search.files(self.agent.directory), [])
        self.assertEqual(search.process(self.agent.pid), [])
        deadline = time.monotonic() + SETTLED_SECONDS
        while (left := search.memory(self.agent.pid)) and time.monotonic() < deadline:
            time.sleep(0.5)
        self.assertEqual(left, [], "\n" + "\n".join(left))

        # And after the agent has ended.
        self.agent.end()
        self.assertEqual(search.files(self.agent.directory), [])

    def test_canary_search_finds_a_number_of_a_private_key(self):
        number = secrets.token_bytes(32)
        search = Search([number])
        for data in (number, number[::-1], base64.b64encode(b"a" + number + b"tail"), number.hex().encode()):
            self.assertTrue(search.within(b"\0" * 9 + data + b"\0" * 9, "here"))

    def test_canary_search_finds_every_encoding(self):
        search = Search(["without-a-mark"])
        for text in (canary("x"), "without-a-mark"):
            for padding in ("", "a", "ab"):
                for how, data in (
                    ("base64", base64.b64encode((padding + text + "tail").encode())),
                    ("base64url", base64.urlsafe_b64encode((padding + text).encode())),
                    ("hex", text.encode().hex().encode()), ("HEX", text.encode().hex().upper().encode()),
                    ("utf-16", (padding + text).encode("utf-16-le")),
                    ("percent", "".join(f"%{byte:02X}" for byte in text.encode()).encode()),
                    ("half", text[: len(text) // 2 + 5].encode() if MARK in text else text.encode()),
                ):
                    with self.subTest(how=how, padding=padding, text=text):
                        self.assertTrue(search.within(b"\0" * 9 + data + b"\0" * 9, "here"))
        self.assertEqual(search.within(b"nothing of the kind", "here"), [])


def openssl(*words):
    return subprocess.run(["openssl", *words], check=True, capture_output=True, text=True).stdout


def private_numbers(path: str):
    """The private numbers of a key in a PEM file, without leading zeros."""
    text = openssl("pkey", "-in", path, "-noout", "-text")
    names = "priv|privateExponent|prime1|prime2|exponent1|exponent2|coefficient"
    found = re.findall(rf"^(?:{names}):\n((?:    [0-9a-f:]+\n)+)", text, re.MULTILINE)
    return [bytes.fromhex(re.sub(r"[:\s]", "", number)).lstrip(b"\0") for number in found]


@unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the agent's memory")
class KeysAndMachines(AgentFixture):
    """The same of accounts that hold a key, and of machines: their keys and their tokens."""

    def setUp(self):
        self.service = KeyService()
        self.addCleanup(self.service.stop)
        self.service.tokens = lambda: canary("access")
        self.agent = self.scene("--protection", "passphrase", "--log-level", "trace")
        self.caller = self.client(self.agent)
        self.caller.call("agent.initialize", {"protection": "passphrase", "passphrase": "a-passphrase"})

    def forgets(self, search):
        """An agent that is locked holds nothing of `search`, which it held before."""
        self.assertTrue(search.memory(self.agent.pid), "the search does not find what an open vault must hold")
        self.caller.call("agent.lock")
        self.assertEqual(search.files(self.agent.directory), [])
        self.assertEqual(search.process(self.agent.pid), [])
        deadline = time.monotonic() + SETTLED_SECONDS
        while (left := search.memory(self.agent.pid)) and time.monotonic() < deadline:
            time.sleep(0.5)
        self.assertEqual(left, [], "\n" + "\n".join(left))

    def uses(self, account):
        """Uses what an account holds in every way in which the agent gives it out or uses it."""
        items = self.service.origin + "/items"
        token = self.caller.call("token.get", {"account": account})
        self.assertIn(MARK, token["accessToken"])
        sent = self.caller.call("request.send", {"account": account, "method": "GET", "url": items})
        self.assertEqual(sent["status"], 200)
        self.caller.call("request.authorize", {"account": account, "method": "GET", "url": items})
        self.caller.call("token.refresh", {"account": account})
        raw(self.agent.socket, request("token.get", {"account": account}))
        return token

    def test_locked_agent_holds_no_key_that_it_used(self):
        placements = {
            "field": {"in": "header", "name": "X-Api-Key", "format": "{secret}"}, "basic": {"in": "basic", "username": "alice"},
            "query": {"in": "query", "name": "key"}, "path": {"in": "path", "format": "/bot{secret}"}, "bearer": {"in": "header"}}
        for name, placement in placements.items():
            with self.subTest(placement=name):
                self.caller.call("provider.add", self.service.provider(name=name, placement=placement))
                # What JSON and a URL have to escape.
                first, second = canary('"\\/é ?'), canary("replaced")
                self.caller.call("account.add", {"provider": name, "secret": first, "alias": name})
                self.uses(name)
                self.caller.call("account.replace", {"account": name, "secret": second})
                self.uses(name)
        # Keys that are refused, on their way in and later; one that a sign-out revokes, and one that waits for that.
        refused = canary("refused")
        self.service.dead.add(refused)
        with self.assertRaises(LanyardError):
            self.caller.call("account.add", {"provider": "bearer", "secret": refused})
        key = self.caller.call("token.get", {"account": "field"})["accessToken"]
        self.service.dead.add(key)
        sent = self.caller.call(
            "request.send", {"account": "field", "method": "GET", "url": self.service.origin + "/items"})
        self.assertEqual(sent["status"], 401)
        self.caller.call("account.signOut", {"account": "query", "mode": "soft"})
        self.caller.call("account.signOut", {"account": "path", "mode": "offline"})
        raw(self.agent.socket, request("account.add", {"provider": "nowhere", "secret": canary("lost")}))
        self.forgets(Search([]))

    def test_locked_agent_holds_nothing_of_a_machine(self):
        numbers = []
        machines = {
            "EC": {"clientId": "robot", "tokenEndpointAuthMethod": "private_key_jwt", "machine": {"grant": "clientCredentials"}},
            "RSA": {"clientId": "robot", "machine": {"grant": "jwtBearer"}},
            "ED25519": {"machine": {"grant": "githubApp", "appId": "1", "installation": "2"}},
        }
        options = {"EC": ["ec_paramgen_curve:P-256"], "RSA": ["rsa_keygen_bits:2048"], "ED25519": []}
        for algorithm, machine in machines.items():
            path = os.path.join(self.directory(), "key.pem")
            openssl("genpkey", "-algorithm", algorithm, "-out", path, *(
                word for option in options[algorithm] for word in ("-pkeyopt", option)))
            found = private_numbers(path)
            self.assertEqual(len(found), 6 if algorithm == "RSA" else 1)
            numbers += found
            with open(path) as file:
                pem = file.read()
            numbers += pem.splitlines()[1:-1]
            name = algorithm.lower()
            self.caller.call("provider.add", self.service.machine(name=name, clientKey=pem, **machine))
            if algorithm == "ED25519":
                continue  # The service speaks OAuth; that provider's key is kept all the same.
            self.caller.call("account.add", {"provider": name, "alias": name})
            self.uses(name)
        self.caller.call("account.signOut", {"account": "rsa", "mode": "soft"})
        self.caller.call("provider.add", self.service.machine(
            name="plain", clientId="robot", clientSecret=canary("client"), machine={"grant": "clientCredentials"}))
        self.caller.call("account.add", {"provider": "plain", "alias": "plain"})
        self.uses("plain")
        self.forgets(Search(numbers))


if __name__ == "__main__":
    unittest.main()
