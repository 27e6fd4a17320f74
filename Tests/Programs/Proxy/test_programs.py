"""Real programs behind `lanyard exec --proxy`: their requests arrive with the token, and they never see it."""

import json
import os
import textwrap
import unittest
import urllib.parse
import urllib.request
from typing import List

from proxy_fixture import LANYARD, PATIENCE_SECONDS, SCOPES, ProxyFixture, Request, Response, program, python_packages, status
from agent_fixture import import_account
from forms import in_quick_form
from services import bare_repository, git_backend, npm_registry, package_index
from test_raw import get

NODE_SCRIPT = """
const http = require('http'), tls = require('tls'), https = require('https');
const target = new URL(process.argv[2]), proxy = new URL(process.env.https_proxy);
const secret = Buffer.from(`${proxy.username}:${decodeURIComponent(proxy.password)}`).toString('base64');
http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: target.host,
  headers: {Host: target.host, 'Proxy-Authorization': `Basic ${secret}`}})
  .on('connect', (answer, socket) => {
    if (answer.statusCode !== 200) { console.log(answer.statusCode); process.exit(1); }
    https.get(target, {createConnection: () => tls.connect({socket, servername: target.hostname})}, (answer) => {
      answer.on('data', (piece) => process.stdout.write(piece)).on('end', () => process.exit(0));
    });
  }).end();
"""


@in_quick_form("test_curl", "test_curl_with_credentials_of_its_own", "test_python_urllib", "test_node")
class Programs(ProxyFixture):
    def assertCameWithToken(self, count: int = 1) -> None:  # noqa: N802
        self.assertEqual([request.bearer for request in self.api.requests], [self.token("work")] * count)

    def test_curl(self) -> None:
        ran = self.through("curl", "-sS", self.api.origin + "/a?b=c")
        self.assertEqual(ran.stdout, "hello\n", ran.stderr)
        self.assertCameWithToken()
        self.assertEqual(self.api.requests[0].path, "/a?b=c")

    def test_curl_with_credentials_of_its_own(self) -> None:
        self.through(
            "curl", "-sS", "-u", "alice:password", "-b", "session=1", "-H", "X-Api-Key: key", "-H", "X-Kept: yes",
            self.api.origin + "/")
        self.assertCameWithToken()
        received = self.api.received()
        for gone in ("password", "session", "X-Api-Key", "Proxy", "YWxpY2U6"):
            self.assertNotIn(gone, received)
        self.assertIn("X-Kept: yes", received)

    def test_curl_uploads_and_is_answered(self) -> None:
        size = 3 << 20
        body = self.write("body", "x" * size)
        for words in (["--data-binary", "@" + body], ["-T", body], ["-T", "-", "-H", "Expect: 100-continue"]):
            with self.subTest(words=words):
                self.api.requests.clear()
                self.token("work")
                with open(body, encoding="utf-8") as file:
                    ran = self.tool(
                        "sh", "-c", '"$@" < body', "-", LANYARD, "exec", "--proxy", "--", "curl", "-sS", *words,
                        self.api.origin + "/up")
                    self.assertEqual(ran.stdout, "hello\n", file.name)
                self.assertEqual([len(request.body) for request in self.api.requests], [size])

    def test_python_urllib(self) -> None:
        script = "import sys, urllib.request as r; sys.stdout.write(r.urlopen(sys.argv[1]).read().decode())"
        self.assertEqual(self.through("python3", "-c", script, self.api.origin).stdout, "hello\n")
        self.assertCameWithToken()

    def test_python_requests(self) -> None:
        python = os.path.join(python_packages(), "python")
        script = (
            "import sys, requests\nwith requests.Session() as s:\n"
            "  print([s.get(sys.argv[1]).text for _ in range(3)])\n")
        ran = self.through(python, "-c", script, self.api.origin)
        self.assertEqual(ran.stdout, "['hello\\n', 'hello\\n', 'hello\\n']\n")
        self.assertCameWithToken(3)

    def test_python_httpx(self) -> None:
        python = os.path.join(python_packages("agents"), "python")
        script = (
            "import sys, httpx2\nwith httpx2.Client() as client:\n"
            "  print([client.get(sys.argv[1]).text for _ in range(3)])\n")
        ran = self.through(python, "-c", script, self.api.origin)
        self.assertEqual(ran.stdout, "['hello\\n', 'hello\\n', 'hello\\n']\n")
        self.assertCameWithToken(3)

    def test_python_aiohttp(self) -> None:
        python = os.path.join(python_packages(), "python")
        script = (
            "import asyncio, sys, aiohttp\nasync def main():\n"
            "  async with aiohttp.ClientSession(trust_env=True) as session:\n"
            "    for _ in range(3):\n"
            "      async with session.get(sys.argv[1]) as answer: print((await answer.text()).strip())\n"
            "asyncio.run(main())\n")
        self.assertEqual(self.through(python, "-c", script, self.api.origin).stdout, "hello\n" * 3)
        self.assertCameWithToken(3)

    def test_node(self) -> None:
        """Node.js 20 knows no proxy of the environment, so the script opens the tunnel itself."""
        script = self.write("ask.js", NODE_SCRIPT)
        self.assertEqual(self.through("node", script, self.api.origin + "/").stdout, "hello\n")
        self.assertCameWithToken()


@in_quick_form("test_a_token_that_the_server_revoked_is_replaced")
class Practice(ProxyFixture):
    """The practice provider's own resource, by plain HTTP on this machine."""

    def setUp(self) -> None:
        super().setUp()
        self.allow(self.idp.issuer)

    def test_curl_of_a_server_of_this_machine(self) -> None:
        ran = self.through("curl", "-sS", self.idp.issuer + "/userinfo")
        self.assertIn("alice@", ran.stdout, ran.stderr)
        ran = self.through("curl", "-sS", "-X", "POST", "-d", "a=b", self.idp.issuer + "/protected")
        self.assertEqual(self.idp.asked("/protected"), 1, ran.stdout)

    def test_a_token_that_the_server_revoked_is_replaced(self) -> None:
        self.revoke(self.token("work"))
        self.assertIn("alice@", self.through("curl", "-sS", self.idp.issuer + "/userinfo").stdout)


class Bound(ProxyFixture):
    """Tokens that are bound to a key: the proxy sends a proof for each request, with the server's nonce."""

    def test_curl_is_served_with_proofs(self) -> None:
        idp = self.provider("--dpop", "nonce")
        self.caller.call("provider.add", {
            "name": "bound", "issuer": idp.issuer, "clientId": "lanyard-demo", "scopes": SCOPES,
            "allowedOrigins": [idp.issuer]})
        begun = self.caller.call(
            "signIn.begin", {"provider": "bound", "flow": "browser", "alias": "bound", "openBrowser": False})
        browser = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        browser.open(begun["authorizationUrl"], timeout=PATIENCE_SECONDS).close()
        self.caller.call("signIn.wait", {"signIn": begun["signIn"], "timeoutSeconds": 15})
        self.assertIn("deviceKeyId", self.caller.call("session.get", {"account": "bound"}))
        for _ in range(2):
            ran = self.through(
                "curl", "-sS", "-X", "POST", "-d", "a=b", "-w", "%{http_code}", idp.issuer + "/protected",
                before=("bound",))
            self.assertTrue(ran.stdout.endswith("200"), ran.stdout + ran.stderr)
        told = [request for request in idp.get("requests")["requests"] if request["path"] == "/protected"]
        self.assertGreaterEqual(len(told), 2)


class Git(ProxyFixture):
    """git with a repository behind `git http-backend`."""

    def setUp(self) -> None:
        super().setUp()
        self.repository = os.path.join(self.place, "server", "app.git")
        bare_repository(self.repository)

    def answer(self, request: Request) -> Response:
        if request.bearer is None:
            return Response(401, b"", [("WWW-Authenticate", 'Basic realm="git"')])
        return git_backend(request, os.path.dirname(self.repository))

    def test_git_pushes_and_clones(self) -> None:
        script = textwrap.dedent(f"""
            set -e
            export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.c GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.c
            git init -q -b main made && cd made
            head -c 3000000 /dev/urandom > large && git add large && git commit -qm first
            git push -q {self.api.origin}/app.git main
            cd .. && git clone -q {self.api.origin}/app.git cloned && cmp made/large cloned/large && echo same
            """)
        ran = self.through("sh", "-c", script, GIT_TERMINAL_PROMPT="0", HOME=self.place)
        self.assertEqual(ran.stdout, "same\n", ran.stderr)
        self.assertEqual(self.api.tokens(), [self.token("work")])


@in_quick_form()
class Installers(ProxyFixture):
    """pip and uv with an index of the server's, and npm with a registry of it."""

    def answer(self, request: Request) -> Response:
        if request.bearer is None:
            return Response(401, b"")
        if request.path.startswith("/npm/"):
            return npm_registry(request, self.api.origin)
        return package_index(request, self.api.origin)

    def test_pip_installs(self) -> None:
        python = os.path.join(python_packages(), "python")
        target = os.path.join(self.place, "installed")
        self.through(
            python, "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--quiet", "--target", target,
            "--index-url", self.api.origin + "/simple", "spring")
        self.assertTrue(os.path.exists(os.path.join(target, "spring.py")))
        self.assertEqual(self.api.tokens(), [self.token("work")])

    def test_uv_installs(self) -> None:
        target = os.path.join(self.place, "installed")
        self.through(
            os.path.join(python_packages(), "uv"), "pip", "install", "--no-cache", "--quiet", "--target", target, "--no-config",
            "--python", os.path.join(python_packages(), "python"), "--default-index", self.api.origin + "/simple", "spring")
        self.assertTrue(os.path.exists(os.path.join(target, "spring.py")))
        self.assertEqual(self.api.tokens(), [self.token("work")])

    def test_npm_installs(self) -> None:
        project = os.path.join(self.place, "project")
        os.mkdir(project)
        self.write("project/package.json", {"name": "project", "version": "1.0.0"})
        self.through(
            program("npm", "npm"), "--prefix", project, "--registry", self.api.origin + "/npm/", "--no-audit", "--no-fund",
            "--no-update-notifier", "install", "spring")
        self.assertTrue(os.path.exists(os.path.join(project, "node_modules", "spring", "index.js")))
        self.assertEqual(self.api.tokens(), [self.token("work")])


class Choosing(ProxyFixture):
    """Whose token a request gets where several accounts fit."""

    def sent(self, *before: str, **environment: str) -> List[str]:
        self.api.requests.clear()
        self.through("curl", "-sS", self.api.origin, before=before, **environment)
        return self.api.tokens()

    def trust(self, text: str) -> None:
        self.write(".lanyard", text)
        self.tool(LANYARD, "trust")

    def test_the_variable_and_then_the_trusted_file_are_preferred(self) -> None:
        work, home = [self.token("work")], [self.token("home")]
        self.assertEqual(self.sent(), work)
        self.assertEqual(self.sent(LANYARD_ACCOUNT="home"), home)
        self.trust("home\n")
        self.assertEqual(self.sent(), home)
        self.assertEqual(self.sent(LANYARD_ACCOUNT="work"), work)
        self.assertEqual(self.sent("work"), work)
        # Of a grant's accounts, too, and one that is none of them opens nothing.
        self.grant("both", ("work", "home"))
        self.grant("ci", ("work",))
        self.assertEqual(self.sent("--grant", "both"), home)
        self.assertEqual(self.sent("--grant", "ci"), work)

    def test_a_rule_comes_first(self) -> None:
        self.caller.call("rule.add", {"pattern": self.api.origin, "account": "work"})
        self.assertEqual(self.sent(LANYARD_ACCOUNT="home"), [self.token("work")])

    def test_what_the_proxy_read_at_its_start_counts_for_its_life(self) -> None:
        self.trust("home\n")
        proxy = self.proxy(account=None)
        self.write(".lanyard", "work\n")
        self.assertEqual(status(proxy.ask_in_tunnel(self.api.place, get(self.api.place))), 200)
        self.assertEqual(self.api.tokens(), [self.token("home")])

    def test_a_preference_that_can_not_be_told_starts_no_command(self) -> None:
        ran = self.tool(LANYARD, "exec", "--proxy", "--", "touch", "ran", status=1, LANYARD_ACCOUNT="nobody")
        self.assertIn("LANYARD_ACCOUNT names the account nobody, which is not here.", ran.stderr)
        self.trust("home\n")
        self.write(".lanyard", "home # changed\n")
        ran = self.tool(LANYARD, "exec", "--proxy", "--", "touch", "ran", status=2)
        self.assertIn(".lanyard has changed since you trusted it. No account was chosen.", ran.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.place, "ran")))


@in_quick_form("test_the_command_has_the_proxy_and_no_token", "test_a_grant_that_limits_the_caller_limits_the_command")
class Environment(ProxyFixture):
    """What the command of `lanyard exec --proxy` is given."""

    def test_the_command_has_the_proxy_and_no_token(self) -> None:
        grant = self.write("grant", "secret-of-a-grant")
        seen = json.loads(self.through(
            "python3", "-c", "import json, os; print(json.dumps([dict(os.environ), open('/proc/self/cmdline').read(),"
            " open('/proc/self/environ').read()]))",
            before=("work",), no_proxy="*", NO_PROXY="*", LANYARD_TOKEN="old", LANYARD_TOKEN_FILE=grant,
            SSL_CERT_DIR="/etc/ssl/certs", AWS_CA_BUNDLE="/etc/ssl/certs/ca-certificates.crt").stdout)
        variables, arguments, environment = seen
        secret = urllib.parse.urlsplit(variables["https_proxy"]).password
        self.assertEqual(len(secret), 43)
        for name in ("http_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            self.assertEqual(variables[name], variables["https_proxy"])
        for name in ("NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT",
                     "AWS_CA_BUNDLE"):
            self.assertEqual(variables[name], variables["SSL_CERT_FILE"])
        self.assertNotIn("DENO_CERT", variables)
        for name in ("no_proxy", "NO_PROXY", "SSL_CERT_DIR", "LANYARD_TOKEN", "LANYARD_TOKEN_FILE"):
            self.assertNotIn(name, variables)
        self.assertEqual(variables["LANYARD_ACCOUNT"], self.alice)
        self.assertNotIn(secret, arguments)
        self.assertNotIn(self.token("work"), environment)
        # The file went with the proxy.
        self.assertFalse(os.path.exists(variables["SSL_CERT_FILE"]))

    def test_a_grant_that_limits_the_caller_limits_the_command(self) -> None:
        made = self.caller.call("grant.create", {"client": "ci", "accounts": ["work"], "methods": ["*"]})
        path = self.write("grant", made["secret"])
        os.chmod(path, 0o600)
        for named in (("work",), ()):
            ran = self.tool(
                LANYARD, "exec", "--proxy", *named, "--", LANYARD, "token", "home", status=6, LANYARD_GRANT_FILE=path)
            self.assertEqual(ran.stdout, "")
        self.assertEqual(self.through("curl", "-sS", self.api.origin, LANYARD_GRANT_FILE=path).stdout, "hello\n")
        self.assertEqual(self.api.tokens(), [self.token("work")])

    def test_exit_codes_are_the_commands(self) -> None:
        self.through("sh", "-c", "exit 7", status=7)
        self.through("sh", "-c", "kill -TERM $$", status=143)
        self.through("/no/such/command", status=127)

    def test_a_token_can_not_be_asked_for_as_well(self) -> None:
        ran = self.lanyard("exec", "work", "--proxy", "--env", "T", "--", "true", status=2)
        self.assertIn("--env", ran.stderr)

    def test_a_proxy_that_can_not_start_tells_why_and_nothing_is_run(self) -> None:
        ran = self.lanyard("exec", "--proxy", "--grant", "none", "--", "touch", "ran", status=2)
        self.assertTrue(ran.stderr.startswith("lanyard: There is no grant none."), ran.stderr)
        ran = self.lanyard("exec", "--proxy", "--grant", "none", "--json", "--", "touch", "ran", status=2)
        self.assertEqual(json.loads(ran.stderr)["error"]["name"], "usage")
        self.assertFalse(os.path.exists(os.path.join(self.place, "ran")))

    def test_several_grants_of_one_name_are_named_by_their_ids(self) -> None:
        ids = {self.grant("ci"), self.grant("ci")}
        ran = self.lanyard("exec", "--proxy", "--grant", "ci", "--", "true", status=2)
        told = ran.stderr.partition("Several grants are for ci. Name one by its id: ")[2].partition(".\n")[0]
        self.assertEqual(set(told.split(", ")), ids)

    def test_a_grant_whose_account_was_forgotten_is_told(self) -> None:
        third = import_account(self.caller, self.idp, "alice@globex", alias="third")
        self.grant("ci", ("third",))
        self.caller.call("account.signOut", {"account": third, "mode": "hard"})
        self.caller.call("account.forget", {"account": third})
        ran = self.lanyard("exec", "--proxy", "--grant", "ci", "--", "true", status=1)
        self.assertIn("The grant ci covers no account that is here.", ran.stderr)

    def test_a_refused_tunnel_is_told_also_if_the_command_ends_at_once(self) -> None:
        ran = self.lanyard("exec", "--proxy", "--", "curl", "-sS", "https://elsewhere.example/", status=56)
        told = "lanyard proxy: https://elsewhere.example is not among the origins of this proxy"
        self.assertIn(told, ran.stderr)
        self.assertLess(ran.stderr.index(told), ran.stderr.index("curl: (56)"))

    def test_the_log_tells_of_the_command(self) -> None:
        self.through("true", before=("work",))
        self.assertEqual([entry["account"] for entry in self.audited("exec.begin")], [self.alice])


if __name__ == "__main__":
    unittest.main()
