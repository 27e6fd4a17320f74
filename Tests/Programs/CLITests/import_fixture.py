"""Stores of other programs, and tokens in them that a provider on this machine issued."""

import base64
import hashlib
import json
import os
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from person import PATIENCE_SECONDS
from test_real import RealProvider


class _Stay(urllib.request.HTTPRedirectHandler):
    """A browser that stops at the program's own address."""

    def redirect_request(self, request, file, code, message, headers, address):
        if address.startswith("http://127.0.0.1:9/"):
            raise _Left(address)
        return super().redirect_request(request, file, code, message, headers, address)


class _Left(Exception):
    pass


class Import(RealProvider):
    """A person with accounts in other programs. No token of theirs is ever shown."""

    def setUp(self):
        super().setUp()
        self.secrets = ["practice-secret"]
        self.shown = []
        self.environment["GNUPGHOME"] = os.path.join(self.home, ".gnupg")
        # The check comes last, also behind the other clean-ups of the test.
        self.addCleanup(self.show_no_secret)

    def watch(self, *programs):
        """Keeps the arguments and the environment that lanyard gives to these programs."""
        place = os.path.join(self.place, "watched")
        os.makedirs(place)
        log = os.path.join(self.place, "log")
        for program in programs:
            path = os.path.join(place, program)
            with open(path, "w") as file:
                file.write(f'#!/bin/sh\nprintf "%s\\n" "{program} $*" >> {log}\nenv >> {log}\nexec /usr/bin/{program} "$@"\n')
            os.chmod(path, 0o755)
        self.environment["PATH"] = place + ":" + self.environment["PATH"]
        return log

    def show_watched(self, log, *expected):
        with open(log) as file:
            self.shown.append(file.read())
        for words in expected:
            self.assertIn(words + "\n", self.shown[-1])

    def show_no_secret(self):
        for text in self.shown:
            for secret in self.secrets:
                self.assertNotIn(secret, text)

    def lanyard(self, *words, **options):
        done = super().lanyard(*words, **options)
        self.shown += [done.stdout, done.stderr]
        return done

    def listed(self, *words, **options):
        """The entries by name."""
        done = self.lanyard("import", *words, "--json", **options)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, "(?m)^Nothing .*(taken over|changed)")
        return {entry["name"]: entry for entry in json.loads(done.stdout)["entries"]}

    def taken(self, *words, code=0, **options):
        """What became of the entries, in order."""
        done = self.lanyard("import", *words, "--yes", "--json", **options)
        self.assertEqual(done.returncode, code, done)
        return json.loads(done.stdout)["results"]

    def accounts(self):
        return json.loads(self.answer("list", "--json"))["accounts"]

    def providers(self):
        return json.loads(self.answer("provider", "list", "--json"))["providers"]

    def refreshes(self, account):
        """The account's token is renewed at the provider, as only the owner of the refresh token can."""
        before = self.answer("token", account)
        self.assertNotEqual(self.answer("token", account, "-f"), before)

    def write(self, path, text, mode=0o600):
        path = os.path.join(self.home, path)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def read(self, path):
        with open(os.path.join(self.home, path), "rb") as file:
            return file.read()

    def token_of(self, user="alice", client="lanyard-demo", secret=None):
        """A refresh token as another program has it: by a sign-in of its own, without this agent."""
        verifier, redirect = "v" * 43, "http://127.0.0.1:9/callback"
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        asked = urllib.parse.urlencode({
            "response_type": "code", "client_id": client, "redirect_uri": redirect, "scope": "openid offline_access",
            "code_challenge": challenge, "code_challenge_method": "S256", "state": "s"})
        self.post("/practice/options", autoApprove=user)
        try:
            with urllib.request.build_opener(_Stay).open(f"{self.issuer}/authorize?{asked}", timeout=PATIENCE_SECONDS):
                self.fail("the provider did not sign the user in")
        except _Left as left:
            code = urllib.parse.parse_qs(urllib.parse.urlsplit(str(left)).query)["code"][0]
        body = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect, "code_verifier": verifier,
                "client_id": client, **({"client_secret": secret} if secret else {})}
        request = urllib.request.Request(f"{self.issuer}/token", urllib.parse.urlencode(body).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            token = json.load(answer)["refresh_token"]
        self.secrets.append(token)
        return token

    def requests(self, path):
        with urllib.request.urlopen(self.issuer + "/practice/requests", timeout=PATIENCE_SECONDS) as answer:
            return [request for request in json.load(answer)["requests"] if request["path"] == path]

    def run_program(self, *words, **options):
        done = subprocess.run(
            words, env=self.settings(options.pop("environment", None)), cwd=self.work, capture_output=True,
            timeout=PATIENCE_SECONDS, **options)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def make_key(self):
        """A key of GnuPG without a passphrase."""
        os.mkdir(self.environment["GNUPGHOME"], mode=0o700)
        self.addCleanup(subprocess.run, ["gpgconf", "--kill", "gpg-agent"], env=self.settings(None))
        self.run_program("gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", "alice@acme.example",
                         "default", "default", "never")

    def encrypted(self, text):
        return self.run_program("gpg", "--batch", "--quiet", "--encrypt", "--recipient", "alice@acme.example",
                                input=text.encode())
