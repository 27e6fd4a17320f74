"""The credential helpers: each protocol with the real agent, and git and cargo themselves."""

import base64
import calendar
import http.server
import json
import netrc
import os
import re
import shlex
import shutil
import ssl
import subprocess
import threading
import time
import unittest

from agent_fixture import AgentFixture, PATIENCE_SECONDS, SharedAgentFixture, add_provider, import_account

BINARIES = os.environ.get("LANYARD_BIN") or os.path.join(os.path.dirname(__file__), "..", "..", "..", ".build", "debug")
LANYARD = os.path.abspath(os.path.join(BINARIES, "lanyard"))
GIT_VERSION = tuple(
    int(part) for part in subprocess.run(["git", "--version"], capture_output=True, text=True).stdout.split()[2].split(".")[:2])


def signed_in(caller, idp):
    """The accounts `work` of Alice and `home` of Bob, at a provider that lists an origin."""
    add_provider(caller, idp, allowedOrigins=["https://api.example", "http://127.0.0.1:1"])
    return [import_account(caller, idp, person, alias=alias) for person, alias in (("alice", "work"), ("bob", "home"))]


class Credentials(AgentFixture):
    def setUp(self):
        super().setUp()
        self.idp = self.provider()
        self.agent = self.scene()
        self.caller = self.client(self.agent)
        self.alice, self.bob = signed_in(self.caller, self.idp)
        self.place = self.directory()

    def rule(self, pattern, account="work"):
        return self.caller.call("rule.add", {"pattern": pattern, "account": account})["rule"]

    def token(self, account="work"):
        return self.caller.call("token.get", {"account": account})["accessToken"]

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
        return {**kept, "HOME": self.place, "LANYARD_SOCKET": self.agent.socket, "LANYARD_NO_START": "1", **more}

    def lanyard(self, *words, input="", status=0, cwd=None, **environment):
        ran = subprocess.run(
            [LANYARD, *words], input=input, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
            env=self.environment(**environment), cwd=cwd or self.place)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran

    def cargo(self, *requests):
        ran = self.lanyard(
            "credential", "cargo", "--cargo-plugin", input="".join(json.dumps(request) + "\n" for request in requests))
        lines = [json.loads(line) for line in ran.stdout.splitlines()]
        self.assertEqual(lines[0], {"v": [1]})
        return lines[1:]

    def git(self, operation, status=0, **values):
        capabilities = values.pop("capability", [])
        challenges = values.pop("wwwauth", [])
        lines = [f"{name}={value}" for name, value in values.items()]
        lines += [f"capability[]={name}" for name in capabilities] + [f"wwwauth[]={name}" for name in challenges]
        ran = self.lanyard("credential", "git", operation, input="\n".join(lines) + "\n\n", status=status)
        pairs = [line.split("=", 1) for line in ran.stdout.splitlines() if line]
        return dict(pairs), ran


class SharedCredentials(SharedAgentFixture, Credentials):
    """The accounts of all tests of a class. The rules of a test go with it."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.alice, cls.bob = signed_in(cls.caller, cls.idp)

    def setUp(self):
        self.place = self.directory()
        self.addCleanup(self.forget_rules)

    def forget_rules(self):
        for rule in self.caller.call("rule.list")["rules"]:
            self.caller.call("rule.remove", {"rule": rule["rule"]})


class Choosing(SharedCredentials):
    """Which account answers for a URL."""

    def chosen(self, url, **more):
        found = self.caller.call("account.resolve", {"url": url, **more})
        return {self.alice: "work", self.bob: "home"}[found["account"]], found["because"]

    def none(self, url, **more):
        error = self.refused(6003, lambda: self.caller.call("account.resolve", {"url": url, **more}))
        self.assertEqual(error.data["kind"], "rule")

    def test_the_longest_rule_wins(self):
        self.rule("https://git.example", "home")
        self.rule("https://git.example/acme/*", "work")
        self.rule("https://git.example/acme/private/own.git", "home")
        self.assertEqual(self.chosen("https://git.example/other/app"), ("home", "rule"))
        for path in ("acme/app.git", "acme/", "acme", "other/../acme/app", "%61cme/app", "acme/private/own.git/info"):
            self.assertEqual(self.chosen("https://git.example/" + path), ("work", "rule"), path)
        self.assertEqual(self.chosen("https://git.example/acme/private/own.git"), ("home", "rule"))
        for path in ("acme-evil/app", "acme%2Fapp", "ACME/app", "acme/../other/app", "acme/%2e%2e/other/app", "/acme/app"):
            self.assertEqual(self.chosen("https://git.example/" + path), ("home", "rule"), path)
        self.assertEqual(self.chosen("https://GIT.example:443/acme/app"), ("work", "rule"))

    def test_another_host_gets_nothing(self):
        self.rule("https://git.example/acme/*")
        for url in (
                "https://git.example/", "https://git.example.evil/acme/app", "https://sub.git.example/acme/app",
                "http://git.example/acme/app", "https://git.example:8443/acme/app", "https://other.example/"):
            self.none(url)
            self.none(url, user="alice@acme.example")
            self.none(url, selector="work")
        self.refused(-32602, lambda: self.caller.call("account.resolve", {"url": "https://git.example@evil/acme/app"}))

    def test_a_provider_that_lists_the_origin(self):
        # Two accounts of it: the tool's user decides, then the directory, then the active account.
        self.assertEqual(self.chosen("https://api.example/x", user="home"), ("home", "selector"))
        self.caller.call("account.switch", {"account": "home"})
        self.addCleanup(self.caller.call, "account.switch", {"account": "work"})
        self.assertEqual(self.chosen("https://api.example/x"), ("home", "active"))
        self.assertEqual(self.chosen("https://api.example/x", user="work"), ("work", "selector"))
        self.assertEqual(self.chosen("https://api.example/x", user="somebody-else"), ("home", "active"))
        self.put("work\n")
        # It counts once the person trusts it.
        self.assertEqual(self.chosen("https://api.example/x", workingDirectory=self.place), ("home", "active"))
        self.trust(self.place)
        self.assertEqual(self.chosen("https://api.example/x", workingDirectory=self.place), ("work", "directory"))
        self.none("https://foreign.example/x", workingDirectory=self.place)

    def trust(self, directory, *words):
        """As the person of the agent, whose list is in the agent's home."""
        self.lanyard("trust", *words, cwd=directory, HOME=self.agent.environment["HOME"])

    def here(self, directory):
        found = self.caller.call("account.resolve", {"workingDirectory": directory})
        return {self.alice: "work", self.bob: "home"}[found["account"]], found["because"]

    def put(self, text):
        with open(os.path.join(self.place, ".lanyard"), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o600)
        return file.name

    def test_a_file_of_the_directory_counts_once_it_is_trusted_as_it_is(self):
        deep = os.path.join(self.place, "deep")
        os.mkdir(deep)
        for text in ("home\n", "\ufeffaccount = home\r\n"):
            self.put(text)
            self.assertEqual(self.here(deep), ("work", "active"), text)
            self.trust(self.place)
            self.assertEqual(self.here(deep), ("home", "directory"), text)
            self.trust(self.place, "--remove")
        self.trust(self.place)
        os.symlink(deep, os.path.join(self.place, "link"))
        self.assertEqual(self.here(os.path.join(self.place, "link")), ("home", "directory"))
        self.trust(self.place, "--remove")
        self.assertEqual(self.here(deep), ("work", "active"))

    def test_a_trusted_file_that_changed_or_can_not_be_read_is_told(self):
        path = self.put("home\n")
        self.trust(self.place)
        os.unlink(path)
        places = (self.place, os.path.join(self.place, "deep"), "file://" + self.place)
        made = (lambda: self.put("home\n# changed\n"), lambda: self.put("home\nwork\n"), lambda: os.symlink("nowhere", path),
                lambda: os.mkfifo(path), lambda: os.mkdir(path), lambda: self.put("# long\n" * 1000))
        for isTrusted in (True, False):
            for make in made:
                make()
                for place in places:
                    asked = {"workingDirectory": place}
                    if not isTrusted:
                        # What the person never trusted stops nothing.
                        self.assertEqual(self.here(place), ("work", "active"))
                        continue
                    for more in ({}, {"url": "https://api.example/x"}):
                        error = self.refused(-32602, lambda: self.caller.call("account.resolve", {**asked, **more}))
                        self.assertEqual(error.data["path"], "/workingDirectory")
                    self.assertEqual(
                        self.caller.call("account.resolve", {**asked, "preferred": "work"}),
                        {"account": self.alice, "because": "preferred"})
                os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)
            if isTrusted:
                self.trust(self.place, "--remove")
        self.refused(-32602, lambda: self.caller.call("account.resolve", {"workingDirectory": "deep"}))

    def test_a_directory_that_is_not_utf8(self):
        directory = os.path.join(os.fsencode(self.place), b"caf\xe9")
        os.mkdir(directory)
        with open(os.path.join(directory, b".lanyard"), "w") as file:
            file.write("home\n")
        self.trust(directory)
        self.assertEqual(self.here("file://" + self.place + "/caf%e9"), ("home", "directory"))
        self.assertEqual(self.chosen("https://api.example/x", workingDirectory="file://" + self.place + "/caf%E9"),
                         ("home", "directory"))
        shown = self.lanyard("resolve", "https://api.example/x", cwd=directory, HOME=self.agent.environment["HOME"]).stdout
        self.assertIn("home: a .lanyard file names it", shown)

    def test_a_file_that_was_never_trusted_stops_no_helper(self):
        path = os.path.join(self.place, ".lanyard")
        asked = "protocol=https\nhost=api.example\n\n"
        for make in (lambda: self.put("work\nhome\n"), lambda: self.put("home\n"), lambda: os.symlink("nowhere", path),
                     lambda: os.mkdir(path)):
            make()
            ran = self.lanyard("credential", "git", "get", input=asked)
            self.assertIn("password=" + self.token("work"), ran.stdout)
            self.assertEqual(ran.stderr, "")
            os.rmdir(path) if os.path.isdir(path) and not os.path.islink(path) else os.unlink(path)

    def test_a_trusted_file_that_changed_stops_helpers(self):
        asked = {"input": "protocol=https\nhost=api.example\n\n", "HOME": self.agent.environment["HOME"]}
        self.put("home\n")
        self.trust(self.place)
        self.assertIn("password=" + self.token("home"), self.lanyard("credential", "git", "get", **asked).stdout)
        # It names the same account, and yet the person has not seen it.
        path = self.put("# ours\nhome\n")
        for words in (["credential", "git", "get"], ["credential", "netrc", "https://api.example/x"],
                      ["resolve", "https://api.example/x"]):
            ran = self.lanyard(*words, status=2, **asked)
            self.assertEqual(ran.stdout, "")
            self.assertIn(f"{path} has changed since you trusted it. No account was chosen.", ran.stderr)
            self.assertIn("`lanyard trust`", ran.stderr)
        # A host for which no account answers is the next helper's, whatever the file says.
        foreign = {**asked, "input": "protocol=https\nhost=elsewhere.example\n\n"}
        ran = self.lanyard("credential", "git", "get", **foreign)
        self.assertEqual((ran.stdout, ran.stderr), ("", ""))
        for words, more in ((["-u", "home"], {}), ([], {"LANYARD_ACCOUNT": "home"})):
            ran = self.lanyard("credential", "git", "get", *words, **asked, **more)
            self.assertIn("password=" + self.token("home"), ran.stdout)
        self.trust(self.place)
        self.assertIn("password=" + self.token("home"), self.lanyard("credential", "git", "get", **asked).stdout)

    def helped(self, host="api.example", user=None, status=0, **environment):
        """The account whose token git gets; None without one."""
        name = f"username={user}\n" if user else ""
        told = self.lanyard(
            "credential", "git", "get", input=f"protocol=https\nhost={host}\n{name}\n", status=status, **environment).stdout
        return next((account for account in ("work", "home") if "password=" + self.token(account) in told), None)

    def test_the_variable_is_preferred_of_the_accounts_that_fit(self):
        self.assertEqual(self.helped(), "work")
        for name in ("home", self.bob):
            self.assertEqual(self.helped(LANYARD_ACCOUNT=name), "home")
        self.assertIn(
            "home: LANYARD_ACCOUNT names it", self.lanyard("resolve", "https://api.example/x", LANYARD_ACCOUNT="home").stdout)
        ran = self.lanyard(
            "exec", "home", "--", LANYARD, "credential", "netrc", "https://api.example/x")
        self.assertIn(self.token("home"), ran.stdout)
        # It comes before a trusted file, and after the tool's user and a rule.
        self.put("work\n")
        home = self.agent.environment["HOME"]
        self.trust(self.place)
        self.assertEqual(self.helped(HOME=home), "work")
        self.assertEqual(self.helped(HOME=home, LANYARD_ACCOUNT="home"), "home")
        self.assertEqual(self.helped(user="work", LANYARD_ACCOUNT="home"), "work")
        self.rule("https://git.example/*", "work")
        self.assertEqual(self.helped("git.example", LANYARD_ACCOUNT="home"), "work")

    def test_the_variable_opens_no_host(self):
        for name in ("home", "nobody"):
            self.assertIsNone(self.helped("foreign.example", LANYARD_ACCOUNT=name))

    def test_a_preference_that_names_no_account_is_told(self):
        ran = self.lanyard(
            "credential", "git", "get", input="protocol=https\nhost=api.example\n\n", status=1, LANYARD_ACCOUNT="nobody")
        self.assertEqual(ran.stdout, "")
        self.assertIn("LANYARD_ACCOUNT names the account nobody, which is not here. No account was chosen.", ran.stderr)
        path = self.put("nobody\n")
        self.trust(self.place)
        ran = self.lanyard("resolve", "https://api.example/x", status=1, HOME=self.agent.environment["HOME"])
        self.assertIn(f"{path} names the account nobody, which is not here.", ran.stderr)

    def test_rules_of_one_pattern_are_told_apart_by_the_user(self):
        self.rule("https://git.example/*", "work")
        self.rule("https://git.example/*", "home")
        self.assertEqual(self.chosen("https://git.example/a", user="home"), ("home", "rule"))
        self.assertEqual(self.chosen("https://git.example/a", user="work"), ("work", "rule"))

    def test_patterns_that_are_none(self):
        for pattern in (
                "http://git.example/*", "https://*.example/*", "https://me@git.example/*", "https://git.example/a*",
                "https://git.example/*/b", "https://git.example/?q", "https://git.example/#f", "git.example", "https://",
                "https://git.example/a/%2a"):
            if pattern.endswith("%2a"):
                continue
            error = self.refused(-32602, lambda: self.caller.call("rule.add", {"pattern": pattern, "account": "work"}))
            self.assertEqual(error.data["path"], "/pattern", pattern)
        self.assertEqual(self.caller.call("rule.list")["rules"], [])

    def test_the_command_line(self):
        added = self.lanyard("rule", "add", "https://git.example/acme/*", "work")
        self.assertIn("work answers for https://git.example/acme/*", added.stdout)
        self.assertIn("https://git.example/acme/*", self.lanyard("rule").stdout)
        self.assertIn("rule https://git.example/acme/*", self.lanyard("resolve", "https://git.example/acme/app").stdout)
        none = self.lanyard("resolve", "https://other.example/", status=1)
        self.assertIn("lanyard rule add https://other.example/ ACCOUNT", none.stderr)
        self.assertEqual(self.lanyard("rule", "add", "http://git.example/*", "work", status=2).stdout, "")
        self.lanyard("rule", "remove", "https://git.example/acme/*")
        self.lanyard("rule", "remove", "https://git.example/acme/*", status=1)


class SignedOut(Credentials):
    """Two people at a host that their provider lists."""

    asked = {"protocol": "https", "host": "api.example"}

    def sign_out(self, account):
        self.caller.call("account.signOut", {"account": account, "mode": "soft"})

    def test_a_named_account_is_told_and_no_other_one_answers(self):
        self.sign_out("work")
        _, ran = self.git("get", **self.asked, username="work", status=4)
        self.assertIn("lanyard login --account work", ran.stderr)
        lines = "protocol=https\nhost=api.example\n\n"
        ran = self.lanyard("credential", "git", "get", input=lines, status=4, LANYARD_ACCOUNT="work")
        self.assertIn("lanyard login --account work", ran.stderr)
        self.assertNotIn(self.token("home"), ran.stdout)
        chosen = self.caller.call("account.resolve", {"url": "https://api.example/x", "preferred": "work"})
        self.assertEqual((chosen["account"], chosen["because"]), (self.alice, "preferred"))
        # Nobody named one: the signed-in account answers.
        answer, _ = self.git("get", **self.asked)
        self.assertEqual(answer["password"], self.token("home"))

    def test_the_only_account_of_the_host_is_told(self):
        self.sign_out("work")
        self.caller.call("account.forget", {"account": "work"})
        self.sign_out("home")
        _, ran = self.git("get", **self.asked, status=4)
        self.assertIn("lanyard login --account home", ran.stderr)
        _, ran = self.git("get", protocol="https", host="other.example")
        self.assertEqual(ran.stderr, "")


class OtherClocks(Credentials):
    """A provider whose clock is not this machine's."""

    def ends(self):
        """When the token ends, for each tool, in seconds since 1970."""
        def told(*words, **more):
            return json.loads(self.lanyard("credential", *words, **more).stdout)

        def seconds(text):
            return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))

        url = "https://git.example/acme/index/"
        asked = {"v": 1, "kind": "get", "operation": "read", "registry": {"index-url": "sparse+" + url}}
        cargo = self.lanyard("credential", "cargo", "--cargo-plugin", input=json.dumps(asked) + "\n").stdout
        role = ("--role-arn", "arn:aws:iam::123456789012:role/deploy", "--endpoint", self.idp.issuer + "/sts")
        return {
            "git": int(self.git("get", protocol="https", host="git.example", path="acme/index")[0]["password_expiry_utc"]),
            "kubectl": seconds(told("kubectl", "-u", "work", "--access-token")["status"]["expirationTimestamp"]),
            "bazel": seconds(told("bazel", "get", input=json.dumps({"uri": url}))["expires"]),
            "cargo": json.loads(cargo.splitlines()[1])["Ok"]["expiration"],
        }, {
            "kubectl": seconds(told("kubectl", "-u", "work")["status"]["expirationTimestamp"]),
            "gcp": told("gcp", "-u", "work")["expiration_time"],
        }, seconds(told("aws", "-u", "work", *role)["Expiration"])

    def test_tools_get_the_end_by_this_machines_clock(self):
        self.rule("https://git.example/acme/*")
        for offset in (-3600, 3600):
            self.idp.post("options", clockOffsetMilliseconds=offset * 1000)
            self.caller.call("token.refresh", {"account": "work"})
            left = self.caller.call("token.get", {"account": "work"})["expiresInSeconds"]
            identity = self.caller.call("identity.get", {"account": "work"})["expiresInSeconds"]
            tokens, identities, role = self.ends()
            for tool, end in tokens.items():
                self.assertAlmostEqual(end - time.time(), left, delta=20, msg=f"{tool}, {offset} s")
            for tool, end in identities.items():
                self.assertAlmostEqual(end - time.time(), identity, delta=20, msg=f"{tool}, {offset} s")
            self.assertAlmostEqual(role - time.time(), 3600, delta=30, msg=f"aws, {offset} s")


class Protocols(SharedCredentials):
    """Requests and answers as each tool defines them."""

    def setUp(self):
        super().setUp()
        self.rule("https://git.example/acme/*")

    def test_git(self):
        asked = {"protocol": "https", "host": "git.example", "path": "acme/app.git"}
        answer, _ = self.git("get", **asked)
        self.assertEqual((answer["username"], answer["password"]), ("oauth2", self.token()))
        self.assertGreater(int(answer["password_expiry_utc"]), time.time())
        self.assertNotIn("oauth_refresh_token", answer)
        answer, _ = self.git("get", **asked, username="alice")
        self.assertEqual(answer["username"], "alice")
        answer, _ = self.git("get", **asked, capability=["authtype", "state"], wwwauth=['Bearer realm="x"'])
        self.assertEqual(
            (answer["capability[]"], answer["authtype"], answer["credential"], answer["ephemeral"]),
            ("authtype", "Bearer", self.token(), "1"))
        self.assertNotIn("password", answer)
        answer, _ = self.git("get", **asked, capability=["authtype"], wwwauth=["Basic realm=x"])
        self.assertEqual(answer["password"], self.token())

    def test_git_is_silent_where_nothing_answers(self):
        for values in (
                {"protocol": "https", "host": "other.example"}, {"protocol": "https", "host": "git.example"},
                {"protocol": "http", "host": "git.example", "path": "acme/app"}, {"protocol": "ssh", "host": "git.example"},
                {"host": "git.example"}, {}):
            answer, ran = self.git("get", **values)
            self.assertEqual((answer, ran.stderr), ({}, ""), values)
        for operation in ("store", "later"):
            _, ran = self.git(operation, protocol="https", host="git.example", path="acme/app", password="p")
            self.assertEqual((ran.stdout, ran.stderr), ("", ""))

    def test_git_erases_what_a_server_refused(self):
        asked = {"protocol": "https", "host": "git.example", "path": "acme/app", "username": "oauth2"}
        before = self.token()
        self.git("erase", **asked, password="an-older-token")
        self.assertEqual(self.token(), before)
        self.git("erase", **asked, password=before)
        self.assertNotEqual(self.token(), before)

    def test_docker(self):
        self.rule("https://registry.example")
        for server in ("https://registry.example", "registry.example", "https://registry.example/v2/"):
            told = json.loads(self.lanyard("credential", "docker", "get", input=server + "\n").stdout)
            self.assertEqual(told, {"ServerURL": server, "Username": "oauth2", "Secret": self.token()})
        for operation, input, said in (
                ("get", "other.example", "credentials not found in native keychain"), ("get", "", "no credentials server URL"),
                ("store", '{"ServerURL":"x","Username":"u","Secret":"s"}', "lanyard login"), ("erase", "x", "lanyard logout")):
            ran = self.lanyard("credential", "docker", operation, input=input, status=1)
            self.assertIn(said, ran.stdout)
        listed = json.loads(self.lanyard("credential", "docker", "list").stdout)
        self.assertEqual(listed, {"https://registry.example": "oauth2"})

    def test_kubectl(self):
        for version in ("v1", "v1beta1"):
            info = {"apiVersion": f"client.authentication.k8s.io/{version}", "kind": "ExecCredential", "spec": {"interactive": False}}
            told = json.loads(self.lanyard("credential", "kubectl", "-u", "work", KUBERNETES_EXEC_INFO=json.dumps(info)).stdout)
            self.assertEqual((told["apiVersion"], told["kind"]), (info["apiVersion"], "ExecCredential"))
            claims = told["status"]["token"].split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
            self.assertIn("sub", claims)
            self.assertRegex(told["status"]["expirationTimestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        told = json.loads(self.lanyard("credential", "kubectl", "-u", "work", "--access-token").stdout)
        self.assertEqual(told["status"]["token"], self.token())
        # The cluster's address decides where it is told.
        self.rule("https://cluster.example:6443", "home")
        info = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
                "spec": {"interactive": False, "cluster": {"server": "https://cluster.example:6443"}}}
        told = json.loads(self.lanyard("credential", "kubectl", "--access-token", KUBERNETES_EXEC_INFO=json.dumps(info)).stdout)
        self.assertEqual(told["status"]["token"], self.token("home"))
        self.lanyard("credential", "kubectl", KUBERNETES_EXEC_INFO="{", status=2)

    def test_cargo(self):
        def asks(url, kind="get", version=1):
            return {"v": version, "kind": kind, "operation": "read", "registry": {"index-url": url}}

        answers = self.cargo(
            asks("sparse+https://git.example/acme/index/"), asks("https://other.example/"),
            asks("https://git.example/acme/index/", "logout"), asks("https://git.example/acme/index/", version=2))
        found = answers[0]["Ok"]
        self.assertEqual(
            (found["kind"], found["token"], found["cache"], found["operation_independent"]),
            ("get", f"Bearer {self.token()}", "expires", True))
        self.assertGreater(found["expiration"], time.time())
        self.assertEqual(answers[1], {"Err": {"kind": "url-not-supported"}})
        self.assertEqual(answers[2], {"Err": {"kind": "operation-not-supported"}})
        self.assertEqual(answers[3]["Err"]["kind"], "other")

    def test_keyring(self):
        url = "https://git.example/acme/simple/"
        self.assertEqual(self.lanyard("credential", "keyring", "get", url, "alice").stdout, self.token() + "\n")
        told = self.lanyard("credential", "keyring", "--mode", "creds", "get", url).stdout
        self.assertEqual(told, f"oauth2\n{self.token()}\n")
        ran = self.lanyard("credential", "keyring", "get", "https://other.example/", "alice", status=1)
        self.assertEqual((ran.stdout, ran.stderr), ("", ""))
        self.lanyard("credential", "keyring", "set", url, "alice", status=1)

    def test_aws(self):
        role = ("--role-arn", "arn:aws:iam::123456789012:role/deploy", "--endpoint", self.idp.issuer + "/sts")
        ran = self.lanyard("credential", "aws", "-u", "work", *role)
        self.assertEqual(ran.stderr, "")
        answer = json.loads(ran.stdout)
        self.assertEqual(
            {name: answer[name] for name in ("Version", "AccessKeyId", "SecretAccessKey", "SessionToken")},
            {"Version": 1, "AccessKeyId": "ASIA1", "SecretAccessKey": "secret/key+1", "SessionToken": "session+token/1=="})
        self.assertRegex(answer["Expiration"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        again = json.loads(self.lanyard("credential", "aws", "-u", "work", *role).stdout)
        # Counted from now on, in whole seconds.
        self.assertRegex(again.pop("Expiration"), r"Z$")
        self.assertEqual(again, {name: value for name, value in answer.items() if name != "Expiration"})
        ran = self.lanyard("credential", "aws", "-u", "work", "--role-arn", "deploy", status=2)
        self.assertIn("--role-arn must be arn:aws:iam::ACCOUNT:role/NAME", ran.stderr)
        ran = self.lanyard(
            "credential", "aws", "-u", "work", "--role-arn", "arn:aws:iam::123456789012:role/denied", *role[2:], status=1)
        self.assertIn("refuses the role: AccessDenied", ran.stderr)

    def test_gcp(self):
        environment = {
            "GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE": "//iam.example/x", "GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE": "0",
            "GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE": "urn:ietf:params:oauth:token-type:id_token"}
        ran = self.lanyard("credential", "gcp", "-u", "work", **environment)
        told = json.loads(ran.stdout)
        self.assertEqual(ran.stderr, "")
        self.assertEqual((told["version"], told["success"]), (1, True))
        self.assertEqual(told["token_type"], environment["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"])
        self.assertEqual(told["id_token"].count("."), 2)
        self.assertGreater(told["expiration_time"], time.time())

    def test_bazel_terraform_netrc_and_headers(self):
        url = "https://git.example/acme/cache"
        told = json.loads(self.lanyard("credential", "bazel", "get", input=json.dumps({"uri": url})).stdout)
        self.assertEqual(told["headers"], {"Authorization": [f"Bearer {self.token()}"]})
        self.assertRegex(told["expires"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        told = self.lanyard("credential", "bazel", "get", input=json.dumps({"uri": "https://other.example/"})).stdout
        self.assertEqual(json.loads(told), {"headers": {}})
        self.rule("https://app.example")
        self.assertEqual(json.loads(self.lanyard("credential", "terraform", "get", "app.example").stdout), {"token": self.token()})
        self.assertEqual(json.loads(self.lanyard("credential", "terraform", "get", "other.example").stdout), {})
        self.lanyard("credential", "terraform", "store", "app.example", input="{}", status=1)
        line = self.lanyard("credential", "netrc", url).stdout
        self.assertEqual(line, f"machine git.example login oauth2 password {self.token()}\n")
        told = json.loads(self.lanyard("credential", "headers", url).stdout)
        self.assertEqual(told, {"Authorization": f"Bearer {self.token()}"})
        self.lanyard("credential", "headers", "https://other.example/", status=1)

    def test_xoauth2(self):
        said = self.lanyard("credential", "xoauth2", "-u", "work", "--user", "alice@acme.example").stdout
        self.assertEqual(
            base64.b64decode(said, validate=False).decode(), f"user=alice@acme.example\x01auth=Bearer {self.token()}\x01\x01")
        self.assertEqual(said.count("\n"), 1)
        said = self.lanyard(
            "credential", "xoauth2", "-u", "work", "--mechanism", "oauthbearer", "--user", "a,b=c@x", "--host", "imap.example",
            "--port", "993").stdout
        self.assertEqual(
            base64.b64decode(said).decode(),
            f"n,a=a=2Cb=3Dc@x,\x01host=imap.example\x01port=993\x01auth=Bearer {self.token()}\x01\x01")
        # A combining mark behind the sign makes one character of the two.
        said = self.lanyard(
            "credential", "xoauth2", "-u", "work", "--mechanism", "oauthbearer", "--user", "a=\u0301,\u0301b").stdout
        self.assertEqual(
            base64.b64decode(said).decode(), f"n,a=a=3D\u0301=2C\u0301b,\x01auth=Bearer {self.token()}\x01\x01")
        for user in ("a\x01auth=Bearer x", "a\nb", "a\x7fb", "a\x80b", "a\x9fb", ""):
            ran = self.lanyard("credential", "xoauth2", "-u", "work", "--user", user, status=2)
            self.assertEqual(ran.stdout, "")

    def test_names_of_links(self):
        for name, words in (("git-credential-lanyard", ["get"]), ("docker-credential-lanyard", ["get"])):
            link = os.path.join(self.place, name)
            os.symlink(LANYARD, link)
            input = "protocol=https\nhost=git.example\npath=acme/x\n\n" if name.startswith("git") else "https://git.example/acme/x"
            ran = subprocess.run(
                [link, *words], input=input, capture_output=True, text=True, env=self.environment(), timeout=PATIENCE_SECONDS)
            self.assertIn(self.token(), ran.stdout, ran.stderr)


class Addresses(SharedCredentials):
    """The addresses that tools and people name: whole URLs of https, in checked parts."""

    def setUp(self):
        super().setUp()
        self.rule("https://git.example")

    def resolves(self, address):
        return self.lanyard("resolve", address).stdout

    def hinted(self, ran):
        """Runs the command of a hint, with the account in the place of ACCOUNT."""
        words = shlex.split(ran.stderr.split("`")[1].replace("ACCOUNT", "work"))
        self.assertEqual(words[0], "lanyard")
        return self.lanyard(*words[1:])

    def test_resolve_takes_addresses_as_git_has_them(self):
        for address in (
                "https://git.example/acme/app.git", "https://alice@git.example/acme/app.git", "https://git.example/acme#readme",
                "https://alice:secret@git.example:443/acme/app.git?x=1#f", "https://al%20ice@git.example", "HTTPS://GIT.example/",
                "git.example", "git.example/acme/app.git", "git.example:443/acme"):
            self.assertIn("the rule https://git.example/* covers this URL", self.resolves(address), address)
        # The user in the address counts as the one of --user.
        self.rule("https://two.example", "work")
        self.rule("https://two.example", "home")
        self.assertIn("home: ", self.resolves("https://home@two.example/x"))
        self.assertIn("work: ", self.lanyard("resolve", "https://home@two.example/x", "--user", "work").stdout)

    def test_resolve_explains_addresses_of_ssh(self):
        for address in ("git@git.example:acme/app.git", "git.example:acme/app.git", "ssh://git@git.example:2222/acme/app.git",
                        "git+ssh://git.example/acme/app.git"):
            ran = self.lanyard("resolve", address, status=2)
            self.assertEqual(ran.stdout, "")
            self.assertIn(f"{address} is an address of SSH, which signs in by a key", ran.stderr)
            self.assertIn("rule https://git.example/*", self.hinted(ran).stdout)

    def test_resolve_refuses_what_is_no_address(self):
        for address in ("/home/alice/app", "./app", "file:///home/alice", "ftp://git.example/x", "https://", "", "https://a@b@git.example/",
                        "https://git.example:0/", "https://git example/", "https://git.example\\@evil.example/",
                        "https://al%0Aice@git.example/", "https://[::1/"):
            ran = self.lanyard("resolve", "--", address, status=2)
            self.assertEqual(ran.stdout, "", address)
            self.assertIn("is not the address of a server", ran.stderr, address)
        # Behind the user stands the host, whatever the user looks like.
        self.lanyard("resolve", "https://git.example@evil.example/", status=1)

    def test_the_hinted_rule_is_taken(self):
        for number, address in enumerate((
                "https://N.example/", "https://N.example", "N.example", "https://N.example/acme/app.git",
                "https://alice@N.example/x?y=1#f", "https://N.example:8443/a*b/c", "https://N.example/%2A/c", "https://N.example/a'b c"
                .replace(" ", "%20"))):
            address = address.replace("N.", f"host{number}.")
            for command in (["credential", "netrc"], ["credential", "headers"], ["resolve"]):
                ran = self.lanyard(*command, address, status=1)
                self.assertIn("No account answers", ran.stderr)
            self.hinted(ran)
            self.assertIn(self.token(), self.lanyard("credential", "netrc", address).stdout, address)
            self.assertIn(self.token(), self.lanyard("credential", "headers", address).stdout, address)
            self.assertIn("work: ", self.resolves(address))
        for address in ("http://api.example/", "http://alice@api.example/"):
            ran = self.lanyard("credential", "netrc", address, status=1)
            self.assertIn("A token goes over https alone.", ran.stderr)
            self.assertNotIn("`", ran.stderr)

    def test_a_rule_takes_a_host_without_a_scheme(self):
        self.assertIn("answers for https://bare.example/*", self.lanyard("rule", "add", "bare.example", "work").stdout)
        self.assertIn("answers for https://bare.example/acme/*", self.lanyard("rule", "add", "bare.example/acme/*", "work").stdout)
        for pattern in ("http://bare.example", "git@bare.example:acme", "/acme", "*.example"):
            self.lanyard("rule", "add", pattern, "work", status=2)

    def test_the_lines_of_netrc_have_the_host(self):
        for address, machine, login in (
                ("https://git.example/x", "git.example", "oauth2"), ("https://alice@git.example:443/x?y", "git.example", "alice"),
                ("git.example", "git.example", "oauth2")):
            self.assertEqual(self.lanyard("credential", "netrc", address).stdout,
                             f"machine {machine} login {login} password {self.token()}\n")
        self.lanyard("credential", "netrc", "https://al%20ice@git.example/", status=2)

    def test_keyring_answers_a_whole_url_alone(self):
        """pip asks for the URL of an index, and then for its host, also where the URL is one of http."""
        for service in ("git.example", "git.example:443", "//git.example/simple", "http://git.example/simple/", "http://git.example",
                        "ftp://git.example/", "https:git.example", "://git.example", "https://git.example@evil.example/",
                        "http:git.example", "HTTP://git.example/", "http://git.example:443/", "https://", "https:///git.example",
                        "git.example/https://x", " https://git.example/", "https://git.example/\n", "https://git.example\nx",
                        "https://git.example\\@evil.example/", "https://git.example.", "https://git.example%2f@evil.example/",
                        "https+x://git.example/", "*", "lanyard"):
            ran = self.lanyard("credential", "keyring", "--mode", "creds", "--output", "json", "get", service, status=1)
            self.assertEqual((ran.stdout, ran.stderr), ("", ""), service)
        for service in ("https://git.example/simple/", "https://alice@git.example/simple/#x", "HTTPS://GIT.example:443/simple/"):
            self.assertEqual(self.lanyard("credential", "keyring", "get", service, "alice").stdout, self.token() + "\n")

    def test_git_builds_the_url_from_checked_parts(self):
        for values in (
                {"host": "git.example/"}, {"host": "git.example/evil"}, {"host": "git.example?x"}, {"host": "git.example#x"},
                {"host": "alice@git.example"}, {"host": "https://git.example"}, {"host": "git.example\\evil"}, {"host": "git.example%2f"},
                {"host": "git.example:x"}, {"host": "git.example:443:443"}, {"host": "git.example "}, {"host": "git.example\r"},
                {"protocol": "https://git.example/x?", "host": "evil.example"}, {"protocol": "https:", "host": "git.example"},
                {"host": "evil.example", "path": "@git.example/"}, {"host": "evil.example:@git.example"}, {"host": ""}):
            answer, ran = self.git("get", **{"protocol": "https", **values})
            self.assertEqual((answer, ran.stdout, ran.stderr), ({}, "", ""), values)
        for values in ({"host": "git.example:443"}, {"host": "GIT.example"}, {"host": "git.example", "path": "/acme/a b#c?d%e"}):
            self.assertEqual(self.git("get", **{"protocol": "https", **values})[0]["password"], self.token(), values)

    def test_git_gives_an_address_whole(self):
        answer, _ = self.git("get", url="https://alice@git.example/acme/app.git#f")
        self.assertEqual((answer["username"], answer["password"]), ("alice", self.token()))
        for url in ("git@git.example:acme/app.git", "http://git.example/", "git.example", "https://git.example@evil.example/",
                    "https://git.example:443@evil.example/", "https://git.example%2f@evil.example/", "https://evil.example/?@git.example",
                    "https://evil.example#@git.example/", "https://evil.example\\@git.example/", "https://git.example\\@evil.example/",
                    "https://a%0apassword=x@git.example/", "https://a%0d@git.example/", "https://a%00@git.example/"):
            answer, ran = self.git("get", url=url)
            self.assertEqual((answer, ran.stdout, ran.stderr), ({}, "", ""), url)

    def test_git_s_path_and_user_stay_in_their_place(self):
        """A rule for one owner, whose neighbours on the same host are others."""
        self.rule("https://two.example/acme/*")
        for path in ("acme", "acme/app.git", "other/../acme/app", "acme/a?b", "acme/a#b", "acme/@x", "acme/http://x"):
            answer, _ = self.git("get", protocol="https", host="two.example", path=path)
            self.assertEqual(answer.get("password"), self.token(), path)
        for path in ("acme/../other", "acme/./../other", "acme%2fapp", "acme-evil/app", "ACME/app", "/acme/app", "//acme/app",
                     "?acme/app", "#/acme/app", "@two.example/acme/app", "https://two.example/acme/app", "acme\\app", "acme%00/app",
                     "acme;x/app", "other"):
            answer, ran = self.git("get", protocol="https", host="two.example", path=path)
            self.assertEqual((answer, ran.stdout, ran.stderr), ({}, "", ""), path)
        for user in ("bob@evil.example", "a:b", "https://evil.example/", "a/b", "#", "?", "%0apassword=x", "-x"):
            answer, _ = self.git("get", protocol="https", host="two.example", path="acme/app", username=user)
            self.assertEqual((answer["username"], answer["password"]), (user, self.token()))
            answer, ran = self.git("get", protocol="https", host="evil.example", path="acme/app", username=user)
            self.assertEqual((answer, ran.stdout), ({}, ""), user)

    def test_git_s_lines_are_read_as_git_reads_them(self):
        """A value that holds a line end was two lines; the last of one name counts, and a blank line ends the question."""
        for lines, is_answered in (
                ("protocol=https\nhost=git.example\n", True), ("protocol=https\nhost=evil.example\nhost=git.example\n", True),
                ("protocol=https\nhost=git.example\nhost=evil.example\n", False),
                ("protocol=https\nhost=evil.example\n\nhost=git.example\n", False),
                ("protocol=http\nhost=git.example\n\nprotocol=https\n", False), ("protocol=https\nhost=git.example\0\n", False),
                ("protocol=https\nhost=git.example\0evil.example\n", False), ("protocol=https\rhost=git.example\n", False),
                ("protocol=https\r\nhost=git.example\r\n\r\n", False), ("Protocol=https\nHost=git.example\n", False),
                ("protocol=https\nhost=git.example\u2028evil\n", False), ("host=git.example\nprotocol=HTTPS\n", False)):
            ran = self.lanyard("credential", "git", "get", input=lines + "\n")
            self.assertEqual(f"password={self.token()}\n" in ran.stdout, is_answered, lines)
            self.assertEqual(ran.stdout == "", not is_answered, lines)

    def test_docker_and_terraform_name_a_host(self):
        for server in ("git.example", "git.example:443", "git.example/acme/app", "https://git.example/v2/"):
            self.assertEqual(json.loads(self.lanyard("credential", "docker", "get", input=server).stdout)["Secret"], self.token())
        for server in ("alice@git.example", "git.example@evil.example", "git.example?x", "evil.example#git.example", "http://git.example"):
            ran = self.lanyard("credential", "docker", "get", input=server, status=1)
            self.assertEqual(ran.stdout, "credentials not found in native keychain\n", server)
        for host in ("git.example", "GIT.example:443"):
            self.assertEqual(json.loads(self.lanyard("credential", "terraform", "get", host).stdout), {"token": self.token()})
        for host in ("alice@git.example", "git.example/x", "git.example?x", "https://git.example", "git.example#x"):
            self.assertEqual(self.lanyard("credential", "terraform", "get", host).stdout, "{}\n", host)


class Secrets(Credentials):
    """Passwords of people in the files and lines of tools."""

    def add(self, name, secret):
        self.caller.call("provider.add", {"name": name, "kind": "secret", "allowedOrigins": [f"https://{name}.example"]})
        self.caller.call("account.add", {"provider": name, "secret": secret, "username": "alice", "alias": name})
        return f"https://{name}.example/x"

    def test_a_password_is_one_word_of_netrc(self):
        """Programs read the word as it stands. To some a # begins a comment, and a backslash escapes."""
        for number, secret in enumerate((
                "pass machine evil.example login x password y", " leading", "trailing ", '"quoted"', "#hash", "a\\b")):
            ran = self.lanyard("credential", "netrc", self.add(f"bad{number}", secret), status=1)
            self.assertEqual(ran.stdout, "")
            self.assertIn("can't stand in .netrc", ran.stderr)
            self.assertNotIn(secret.strip(), ran.stderr)
        for number, secret in enumerate(("plain", "ha#sh", 'a"b', "p\u00e4ss", "$(id)`id`")):
            url = self.add(f"good{number}", secret)
            line = self.lanyard("credential", "netrc", url).stdout
            self.assertEqual(line, f"machine good{number}.example login alice password {secret}\n")
            path = os.path.join(self.place, "netrc")
            with open(path, "w", encoding="utf-8") as file:
                file.write(line)
            os.chmod(path, 0o600)
            self.assertEqual(netrc.netrc(path).authenticators(f"good{number}.example"), ("alice", "", secret))

    def test_a_user_name_is_one_word_of_netrc(self):
        url = self.add("word", "plain")
        for user in ("", "al ice", "al\tice", "al\nice", '"alice', "#alice", "al\\ice", "al\x01ice", "al\x7fice"):
            ran = self.lanyard("credential", "netrc", url, "--user", user, status=2)
            self.assertEqual(ran.stdout, "", user)
            self.assertIn("one word", ran.stderr)
        for user in ("al#ice", 'al"ice', "alice@acme.example", "\u00e4lice"):
            self.assertEqual(self.lanyard("credential", "netrc", url, "--user", user).stdout,
                             f"machine word.example login {user} password plain\n")

    def test_cargo_names_crates_io_by_its_git_index(self):
        """An account at GitHub does not answer: cargo would send its token to crates.io."""
        asked = {"v": 1, "kind": "get", "operation": "publish",
                 "registry": {"index-url": "https://github.com/rust-lang/crates.io-index", "name": "crates-io"}}
        self.rule("https://github.com")
        self.assertEqual(self.cargo(asked), [{"Err": {"kind": "url-not-supported"}}])
        self.caller.call("provider.add", {"name": "crates-io", "preset": "crates-io"})
        self.caller.call("account.add", {"provider": "crates-io", "secret": "cio-key"})
        for index in ("https://github.com/rust-lang/crates.io-index", "sparse+https://index.crates.io/"):
            asked["registry"]["index-url"] = index
            answer, = self.cargo(asked)
            self.assertEqual(answer["Ok"]["token"], "cio-key")

    def test_cargo_gets_the_whole_field_of_a_key(self):
        def asks(host, placement):
            self.caller.call("provider.add", {
                "name": host, "kind": "secret", "allowedOrigins": [f"https://{host}.example"], "placement": placement})
            self.caller.call("account.add", {"provider": host, "secret": "key-of-the-registry", "alias": host})
            answer, = self.cargo({"v": 1, "kind": "get", "operation": "read",
                                  "registry": {"index-url": f"sparse+https://{host}.example/index/"}})
            return answer

        for host, placement in (
                ("plain", {"in": "header", "format": "{secret}"}),
                ("token", {"in": "header", "name": "authorization", "format": "Token {secret}"}), ("basic", {"in": "basic", "username": "robot"}), ("bearer", {"in": "header"})):
            token = asks(host, placement)["Ok"]["token"]
            told = json.loads(self.lanyard("credential", "headers", f"https://{host}.example/").stdout)
            self.assertEqual([token], list(told.values()))
        for host, placement in (
                ("field", {"in": "header", "name": "PRIVATE-TOKEN", "format": "{secret}"}), ("query", {"in": "query", "name": "key"})):
            refusal = asks(host, placement)["Err"]
            self.assertEqual(refusal["kind"], "other")
            self.assertIn("does not stand in the field Authorization", refusal["message"])

    def test_a_user_name_never_gets_the_password_of_another(self):
        """An account of another name is not used, active or not. One without a name counts where it is named."""
        for name, more in (("mail", {"username": "alice@mail.example"}), ("ai", {})):
            self.caller.call("provider.add", {"name": name, "kind": "secret", "allowedOrigins": [f"https://{name}.example"]})
            self.caller.call("account.add", {"provider": name, "secret": f"secret-of-{name}", "alias": name, **more})
        self.caller.call("provider.add", {
            "name": "reg", "kind": "secret", "allowedOrigins": ["https://reg.example"],
            "placement": {"in": "basic", "username": "robot"}})
        self.caller.call("account.add", {"provider": "reg", "secret": "secret-of-reg", "alias": "reg"})

        def password(user, *words, status=0, **environment):
            ran = self.lanyard("credential", "password", "--user", user, *words, status=status, **environment)
            if status:
                self.assertEqual(ran.stdout, "", user)
                return ran.stderr
            return ran.stdout.strip()

        for active in ("ai", "mail", "work"):
            self.caller.call("account.switch", {"account": active})
            self.assertEqual(password("Alice@mail.example"), "secret-of-mail")
            self.assertEqual(password("robot"), "secret-of-reg")
            for user in ("bob@mail.example", ""):
                self.assertIn("No account with a key or a password has the user name", password(user, status=1))
        # Named: by LANYARD_ACCOUNT where its name is unknown, by --account always.
        self.assertEqual(password("bob@mail.example", LANYARD_ACCOUNT="ai"), "secret-of-ai")
        self.assertEqual(password("alice@mail.example", LANYARD_ACCOUNT="ai"), "secret-of-mail")
        for named in ("mail", "reg"):
            password("bob@mail.example", status=1, LANYARD_ACCOUNT=named)
        self.assertEqual(password("bob@mail.example", "-u", "mail"), "secret-of-mail")
        self.caller.call("account.switch", {"account": "ai"})
        self.caller.call("account.signOut", {"account": "mail", "mode": "soft"})
        self.assertIn("lanyard login", password("alice@mail.example", status=4))

    def test_a_password_is_one_line_of_git_and_keyring(self):
        for number, secret in enumerate(("pass=word", "host=evil.example", "a b  c", "quit=1")):
            url = self.add(f"git{number}", secret)
            answer, ran = self.git("get", protocol="https", host=f"git{number}.example")
            self.assertEqual((answer["username"], answer["password"]), ("alice", secret))
            self.assertEqual(self.lanyard("credential", "keyring", "--mode", "creds", "get", url).stdout, f"alice\n{secret}\n")
        for secret in ("a\nhost=evil.example", "a\rb", "a\0b"):
            self.refused(-32602, lambda: self.caller.call("account.add", {"provider": "git0", "secret": secret}))


class Sessions(Credentials):
    """Restarts and sign-outs."""

    def test_rules_survive_a_restart_and_go_with_their_account(self):
        first = self.rule("https://GIT.example:443/acme/x/../*")
        self.assertEqual(self.rule("https://git.example/acme/*"), first)
        self.agent.kill()
        self.agent.start()
        with self.agent.client() as client:
            rules = client.call("rule.list")["rules"]
            self.assertEqual([(rule["rule"], rule["pattern"]) for rule in rules], [(first, "https://git.example/acme/*")])
            client.call("account.signOut", {"account": "work", "mode": "hard"})
            found = client.call("account.resolve", {"url": "https://git.example/acme/x"})
            self.assertEqual((found["account"], found["because"]), (self.alice, "rule"))
            client.call("account.forget", {"account": self.alice})
            self.assertEqual(client.call("rule.list")["rules"], [])

    def test_a_person_is_told_what_to_do(self):
        self.rule("https://git.example/acme/*")
        self.caller.call("account.signOut", {"account": "work", "mode": "soft"})
        answer, ran = self.git("get", status=4, protocol="https", host="git.example", path="acme/app")
        self.assertEqual(answer, {})
        self.assertIn("lanyard login", ran.stderr)
        ran = self.lanyard("credential", "docker", "get", input="https://git.example/acme/x", status=1)
        self.assertIn("lanyard login", ran.stdout)
        self.assertEqual(ran.stderr, "")
        ran = self.lanyard("credential", "gcp", "-u", "work")
        self.assertEqual(ran.stderr, "")
        told = json.loads(ran.stdout)
        self.assertEqual((told["version"], told["success"], told["code"]), (1, False, "signedOut"))
        self.assertIn("lanyard login", told["message"])
        role = ("--role-arn", "arn:aws:iam::123456789012:role/deploy", "--endpoint", self.idp.issuer + "/sts")
        ran = self.lanyard("credential", "aws", "-u", "work", *role, status=4)
        self.assertIn("lanyard login", ran.stderr)


def cargo_is_missing():
    """Why the tests of cargo can't run; nothing if they can. Credential providers came with 1.74."""
    if shutil.which("cargo") is None:
        return "NOT TESTED: there is no cargo"
    told = subprocess.run(["cargo", "--version"], capture_output=True, text=True).stdout
    found = re.match(r"cargo 1\.(\d+)\.", told)
    return f"NOT TESTED: this is {told.strip()}" if found and int(found[1]) < 74 else ""


NO_CARGO = cargo_is_missing()


class WithCargo(Credentials):
    """cargo itself, against a sparse registry that wants a token."""

    @unittest.skipIf(NO_CARGO, NO_CARGO)
    def test_a_registry_that_wants_a_token(self):
        test, seen = self, []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append((self.path, self.headers.get("Authorization")))
                if self.headers.get("Authorization") != f"Bearer {test.accepted}":
                    self.send_response(401)
                    self.end_headers()
                    return
                line = {"name": "abcd", "vers": "1.0.0", "deps": [], "cksum": "0" * 64, "features": {}, "yanked": False}
                files = {"/index/config.json": {"dl": "http://127.0.0.1:1/", "auth-required": True}, "/index/ab/cd/abcd": line}
                body = json.dumps(files.get(self.path, {})).encode()
                self.send_response(200 if self.path in files else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        origin = f"http://127.0.0.1:{server.server_address[1]}"
        helper = os.path.join(self.place, "cargo-credential-lanyard")
        os.symlink(LANYARD, helper)
        project = os.path.join(self.place, "project")
        os.makedirs(os.path.join(project, "src"))
        os.makedirs(os.path.join(self.place, "cargo"))
        for name, text in (
                ("project/src/lib.rs", ""),
                ("project/Cargo.toml",
                 '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nabcd = { version = "1", registry = "acme" }\n'),
                ("cargo/config.toml",
                 f'[registries.acme]\nindex = "sparse+{origin}/index/"\ncredential-provider = "{helper}"\n')):
            with open(os.path.join(self.place, name), "w", encoding="utf-8") as file:
                file.write(text)
        toolchain = {name: os.environ[name] for name in ("RUSTUP_HOME", "RUSTUP_TOOLCHAIN") if name in os.environ}
        toolchain.setdefault("RUSTUP_HOME", os.path.expanduser("~/.rustup"))

        def resolve():
            return subprocess.run(
                ["cargo", "generate-lockfile"], cwd=project, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                env=self.environment(CARGO_HOME=os.path.join(self.place, "cargo"), **toolchain))

        self.accepted = self.token()
        ran = resolve()
        self.assertNotEqual(ran.returncode, 0)
        self.assertEqual({given for _, given in seen if given}, set(), "a token went to a host that no rule and no provider names")
        # A registry on this machine without TLS: no rule can name it, its provider can.
        self.caller.call("provider.update", {"provider": "practice", "allowedOrigins": [origin]})
        ran = resolve()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn(f"Bearer {self.accepted}", {given for _, given in seen})
        os.remove(os.path.join(project, "Cargo.lock"))
        self.caller.call("account.signOut", {"account": "work", "mode": "soft"})
        self.caller.call("account.signOut", {"account": "home", "mode": "soft"})
        self.assertNotEqual(resolve().returncode, 0)


class Exec(Credentials):
    def test_the_plain_form_is_the_same_in_both_programs(self):
        shown = 'printf %s "$LANYARD_TOKEN:$LANYARD_ACCOUNT"'
        for program in (LANYARD, LANYARD + "-cli"):
            def exec_(*words, program=program):
                ran = subprocess.run(
                    [program, "exec", *words], capture_output=True, text=True, timeout=PATIENCE_SECONDS, env=self.environment(),
                    cwd=self.place)
                return ran.returncode, ran.stdout, ran.stderr.replace(program + ": ", "")

            with self.subTest(program):
                self.assertEqual(exec_("work", "--", "sh", "-c", shown), (0, f"{self.token()}:{self.alice}", ""))
                for code in (0, 3, 126, 255):
                    self.assertEqual(exec_("work", "--", "sh", "-c", f"exit {code}"), (code, "", ""))
                self.assertEqual(exec_("work", "--", "sh", "-c", "kill -KILL $$")[0], 137)
                self.assertEqual(exec_("work", "--", os.path.join(self.place, "missing"))[0], 127)
                self.assertEqual(exec_("work", "--", self.place)[0], 126)
                self.assertEqual(exec_("nobody", "--", "touch", os.path.join(self.place, "ran"))[0], 1)
                self.assertFalse(os.path.exists(os.path.join(self.place, "ran")))

    def test_a_script_that_names_no_interpreter_is_run_by_sh(self):
        script = os.path.join(self.place, "script")
        with open(os.open(script, os.O_CREAT | os.O_WRONLY, 0o755), "w", encoding="utf-8") as file:
            file.write('printf "%s," "$0" "$@"; exit 3\n')
        for program in (LANYARD, LANYARD + "-cli"):
            for name in (script, "script"):
                with self.subTest(program, name=name):
                    ran = subprocess.run(
                        [program, "exec", "work", "--", name, "a b", "c"], capture_output=True, text=True,
                        timeout=PATIENCE_SECONDS, env=self.environment(PATH=f"{self.place}:{os.environ['PATH']}"))
                    self.assertEqual((ran.returncode, ran.stdout), (3, f"{script},a b,c,"), ran.stderr)

    def test_a_key_of_a_grant_that_comes_through_a_pipe(self):
        self.caller.call(
            "provider.add", {"name": "desk", "kind": "secret", "allowedOrigins": ["https://desk.example"], "environment": ["DESK_KEY"]})
        self.caller.call("account.add", {"provider": "desk", "secret": "plain-key", "alias": "desk"})
        grant = self.caller.call("grant.create", {"client": "ci", "accounts": ["desk", "work"], "methods": ["*"]})["secret"]
        for account, shown, value in (("desk", "DESK_KEY", "plain-key"), ("work", "LANYARD_TOKEN", self.token())):
            with self.subTest(account):
                reading, writing = os.pipe()
                os.write(writing, grant.encode() + b"\n")
                os.close(writing)
                ran = subprocess.run(
                    [LANYARD, "exec", account, "--", "printenv", shown], capture_output=True, text=True, pass_fds=[reading],
                    timeout=PATIENCE_SECONDS, env=self.environment(LANYARD_GRANT_FILE=f"/dev/fd/{reading}"))
                os.close(reading)
                self.assertEqual((ran.returncode, ran.stdout), (0, value + "\n"), ran.stderr)

    def test_a_command_that_runs_holds_no_connection(self):
        for program in (LANYARD, LANYARD + "-cli"):
            with self.subTest(program), subprocess.Popen(
                    [program, "exec", "work", "--", "sh", "-c", "echo ready; read line"], stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, text=True, env=self.environment()) as process:
                self.assertEqual(process.stdout.readline(), "ready\n")
                folder = f"/proc/{process.pid}/fd"
                held = [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
                process.communicate("\n", PATIENCE_SECONDS)
                self.assertEqual([name for name in held if name.startswith("socket:")], [])

    def test_environment_exit_codes_and_signals(self):
        shown = self.lanyard("exec", "work", "--", "sh", "-c", 'printf %s "$LANYARD_TOKEN:$LANYARD_ACCOUNT"').stdout
        self.assertEqual(shown, f"{self.token()}:{self.alice}")
        shown = self.lanyard(
            "exec", "work", "--env", "GH_TOKEN", "--env", "ID=id", "--", "sh", "-c", 'printf %s "$GH_TOKEN $ID${LANYARD_TOKEN-}"',
            GH_TOKEN="from outside").stdout
        token, identity = shown.split(" ")
        self.assertEqual((token, identity.count(".")), (self.token(), 2))
        for code in (0, 3, 126, 255):
            self.lanyard("exec", "work", "--", "sh", "-c", f"exit {code}", status=code)
        self.lanyard("exec", "work", "--", "sh", "-c", "kill -KILL $$", status=137)
        self.lanyard("exec", "work", "--", os.path.join(self.place, "missing"), status=127)
        self.lanyard("exec", "work", "--", self.place, status=126)
        for name in ("1A", "A-B", "A=other", ""):
            self.lanyard("exec", "work", "--env", name, "--", "true", status=2)
        self.lanyard("exec", "work", status=2)
        self.lanyard("exec", "nobody", "--", "touch", os.path.join(self.place, "ran"), status=1)
        self.assertFalse(os.path.exists(os.path.join(self.place, "ran")))

    def test_a_signal_reaches_the_command(self):
        script = 'trap "echo got; exit 7" TERM; echo ready; while :; do sleep 0.05; done'
        with subprocess.Popen(
                [LANYARD, "exec", "work", "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True,
                env=self.environment()) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.terminate()
            self.assertEqual(process.stdout.readline(), "got\n")
            self.assertEqual(process.wait(PATIENCE_SECONDS), 7)

    def test_nothing_of_a_token_in_argv_or_in_the_parent(self):
        with subprocess.Popen(
                [LANYARD, "exec", "work", "--", "sh", "-c", "echo ready; read line"], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True, env=self.environment()) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            with open(f"/proc/{process.pid}/cmdline", "rb") as line, open(f"/proc/{process.pid}/environ", "rb") as variables:
                self.assertNotIn(self.token().encode(), line.read() + variables.read())
            process.stdin.close()
            process.wait(PATIENCE_SECONDS)

    def test_a_file_is_fresh_and_goes(self):
        path = os.path.join(self.place, "token")
        script = 'stat -c "%a %h" "$LANYARD_TOKEN_FILE"; cat "$LANYARD_TOKEN_FILE"; echo; read line; cat "$LANYARD_TOKEN_FILE"'
        with subprocess.Popen(
                [LANYARD, "exec", "work", "--file", path, "--", "sh", "-c", script], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True, env=self.environment()) as process:
            self.assertEqual(process.stdout.readline(), "600 1\n")
            self.assertEqual(process.stdout.readline(), self.token() + "\n")
            process.stdin.write("\n")
            process.stdin.close()
            self.assertEqual(process.stdout.read(), self.token())
            self.assertEqual(process.wait(PATIENCE_SECONDS), 0)
        self.assertFalse(os.path.exists(path))
        self.assertEqual([name for name in os.listdir(self.place) if name.startswith("token")], [])

    def test_a_file_never_goes_through_a_link(self):
        target = os.path.join(self.place, "precious")
        with open(target, "w", encoding="utf-8") as file:
            file.write("kept")
        os.chmod(target, 0o600)
        link = os.path.join(self.place, "link")
        os.symlink(target, link)
        for path in (link, self.place, target):
            ran = self.lanyard("exec", "work", "--file", path, "--", "true", status=2)
            self.assertIn("Nothing was written", ran.stderr)
        with open(target, encoding="utf-8") as file:
            self.assertEqual(file.read(), "kept")
        # What a killed command left in the directory of these files is no hindrance; a person's file beside the socket stays.
        beside = os.path.dirname(self.agent.socket)
        left = os.path.join(beside + "-exec", "token")
        os.mkdir(os.path.dirname(left), 0o700)
        for place in (left, os.path.join(beside, "token")):
            with open(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
                file.write("an old token")
        shown = self.lanyard("exec", "work", "--file", "token", "--", "sh", "-c", 'cat "$LANYARD_TOKEN_FILE"').stdout
        self.assertEqual(shown, self.token())
        self.assertFalse(os.path.exists(left))
        with open(os.path.join(beside, "token"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "an old token")
        os.chmod(os.path.dirname(left), 0o755)
        ran = self.lanyard("exec", "work", "--file", "token", "--", "true", status=1)
        self.assertIn("only you can use", ran.stderr)

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may give a link to another user")
    def test_a_file_goes_into_no_directory_that_another_users_link_names(self):
        folder, link = (os.path.join(self.place, name) for name in ("folder", "link"))
        os.mkdir(folder)
        os.symlink(folder, link)
        words = ("exec", "work", "--file", os.path.join(link, "token"), "--", "sh", "-c", 'cat "$LANYARD_TOKEN_FILE"')
        self.assertEqual(self.lanyard(*words).stdout, self.token())
        os.chown(link, 65534, 65534, follow_symlinks=False)
        ran = self.lanyard(*words, status=2)
        self.assertIn("is a link of another user. Nothing was written.", ran.stderr)
        self.assertEqual(os.listdir(folder), [])

    def test_the_audit_log_names_the_command_and_nothing_of_its_arguments(self):
        self.lanyard("exec", "work", "--", "/bin/echo", "secret-argument")
        entry = self.caller.call("audit.list", {"account": "work"})["entries"][-1]
        self.assertEqual((entry["event"], entry["account"], entry["facts"]), ("exec.begin", self.alice, {"program": "echo"}))
        self.assertIn("tokens given to the command echo", self.lanyard("audit").stdout)
        self.lanyard("exec", "work", "--", os.path.join(self.place, "no-such-\u00e4"), status=127)
        self.caller.call("account.signOut", {"account": "work", "mode": "soft"})
        ran = self.lanyard("exec", "work", "--", "echo", "ran", status=4)
        self.assertEqual(ran.stdout, "")

    def test_a_file_of_a_command_that_runs_is_not_taken(self):
        with subprocess.Popen(
                [LANYARD, "exec", "work", "--file", "token", "--", "sh", "-c", 'echo ready; read line; cat "$LANYARD_TOKEN_FILE"'],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment()) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            ran = self.lanyard("exec", "work", "--file", "token", "--", "true", status=2)
            self.assertIn("Nothing was written", ran.stderr)
            process.stdin.close()
            self.assertEqual(process.stdout.read(), self.token())

    def test_a_file_that_another_program_put_there_is_kept(self):
        path = os.path.join(self.place, "token")
        script = 'rm "$LANYARD_TOKEN_FILE"; echo other > "$LANYARD_TOKEN_FILE"'
        self.lanyard("exec", "work", "--file", path, "--", "sh", "-c", script)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "other\n")


class WithGit(Credentials):
    """git itself, against a server that wants a token."""

    @unittest.skipUnless(shutil.which("openssl"), "there is no openssl")
    def test_clone_over_https(self):
        key, certificate = os.path.join(self.place, "key.pem"), os.path.join(self.place, "cert.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        bare, work = os.path.join(self.place, "acme", "app.git"), os.path.join(self.place, "source")
        run = lambda *words, **more: subprocess.run(words, check=True, capture_output=True, **more)
        identity = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]
        run("git", *identity, "init", "-q", work)
        with open(os.path.join(work, "file"), "w", encoding="utf-8") as file:
            file.write("content")
        run("git", *identity, "-C", work, "add", "file")
        run("git", *identity, "-C", work, "commit", "-qm", "one")
        run("git", "clone", "-q", "--bare", work, bare)
        run("git", "-C", bare, "update-server-info")
        test = self
        seen = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                given = self.headers.get("Authorization")
                seen.append(given)
                allowed = base64.b64encode(f"oauth2:{test.accepted}".encode()).decode()
                if given not in (f"Basic {allowed}", f"Bearer {test.accepted}"):
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="acme"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                super().do_GET()

            def __init__(self, *arguments):
                super().__init__(*arguments, directory=test.place)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        url = f"https://localhost:{server.server_address[1]}/acme/app.git"
        environment = self.environment(
            GIT_SSL_CAINFO=certificate, GIT_TERMINAL_PROMPT="0", GIT_CONFIG_NOSYSTEM="1", PATH=os.path.dirname(LANYARD) + ":" + os.environ["PATH"])
        helper = ["-c", "credential.helper=!lanyard credential git", "-c", "credential.useHttpPath=true"]

        def clone(name):
            return subprocess.run(
                ["git", *helper, "clone", "-q", url, os.path.join(self.place, name)], env=environment, capture_output=True,
                text=True, timeout=PATIENCE_SECONDS)

        self.accepted = self.token()
        # Without a rule no token goes out.
        self.assertNotEqual(clone("none").returncode, 0)
        self.assertEqual({value for value in seen if value}, set())
        self.rule(f"https://localhost:{server.server_address[1]}/acme/*")
        ran = clone("first")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        with open(os.path.join(self.place, "first", "file"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "content")
        # The server refuses the present token: git has it erased, and the next attempt brings another.
        refused = self.accepted
        self.accepted = "none"
        self.assertNotEqual(clone("refused").returncode, 0)
        self.accepted = self.token()
        self.assertNotEqual(self.accepted, refused)
        self.assertEqual(clone("second").returncode, 0)
        # Signed out, git's own error follows what to do.
        self.caller.call("account.signOut", {"account": "work", "mode": "soft"})
        ran = clone("third")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("lanyard login", ran.stderr)


if __name__ == "__main__":
    unittest.main()
