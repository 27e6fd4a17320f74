"""kubectl and the Python client of Kubernetes with `lanyard credential kubectl`, at a server that takes ID tokens."""

import base64
import hashlib
import json
import os
import socket
import subprocess
import time
import unittest
import urllib.request

from desktop_fixture import PATIENCE_SECONDS, Desktop, Response, accepts, certificates, program, python_packages
from forms import in_quick_form

SIGNATURE_PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")
"""A SHA-256 digest in DER (RFC 8017, section 9.2)."""


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def status(code, reason):
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code}
    return Response.json(body, status=code)


class Cluster:
    """The part of an API server that these tests need. It checks ID tokens as `--oidc-issuer-url` of a real one does."""

    def __init__(self, test):
        self._test = test
        self.takes_access_tokens = False
        self.refuses = set()
        """Tokens that are refused in spite of all."""
        self.server = test.server(self._answer)

    def _answer(self, request):
        path = request.path.split("?")[0]
        token = request.bearer
        good = self._test.is_good if self.takes_access_tokens else self.is_good_identity
        if not token or token in self.refuses or not good(token):
            return status(401, "Unauthorized")
        resource = {
            "name": "namespaces", "singularName": "namespace", "kind": "Namespace", "namespaced": False, "verbs": ["get", "list"]}
        answers = {
            "/version": {"major": "1", "minor": "30", "gitVersion": "v1.30.0", "gitCommit": "", "gitTreeState": "", "buildDate": "",
                         "goVersion": "", "compiler": "", "platform": ""},
            "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
            "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [resource]},
            "/api/v1/namespaces": {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": [
                {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "acme"}}]},
        }
        return Response.json(answers[path]) if path in answers else status(404, "NotFound")

    def is_good_identity(self, token):
        signed, _, signature = token.rpartition(".")
        header, claims = (json.loads(decoded(part)) for part in signed.split("."))
        expected = {"iss": self._test.idp.issuer, "aud": "lanyard-demo"}
        return (header["alg"] == "RS256" and all(claims[name] == value for name, value in expected.items())
                and claims["exp"] > time.time() and self._is_signed(header["kid"], signed, decoded(signature)))

    def _is_signed(self, kid, signed, signature):
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(self._test.keys_url) as answer:
            [key] = [key for key in json.load(answer)["keys"] if key["kid"] == kid]
        modulus, exponent = (int.from_bytes(decoded(key[name]), "big") for name in ("n", "e"))
        size = (modulus.bit_length() + 7) // 8
        digest = SIGNATURE_PREFIX + hashlib.sha256(signed.encode()).digest()
        padded = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
        return pow(int.from_bytes(signature, "big"), exponent, modulus).to_bytes(size, "big") == padded


class Kubernetes(Desktop):
    api = "v1"

    def setUp(self):
        super().setUp()
        self.link("lanyard")
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                f"{self.idp.issuer}/.well-known/openid-configuration") as answer:
            self.keys_url = json.load(answer)["jwks_uri"]
        self.cluster = Cluster(self)
        self.rule(self.cluster.server.origin)
        self.use(self.cluster.server)

    def use(self, server, *arguments):
        """Writes the kubeconfig for a cluster, whose address the plugin is told."""
        with open(certificates().authority, "rb") as file:
            authority = base64.b64encode(file.read()).decode()
        plugin = {
            "apiVersion": f"client.authentication.k8s.io/{self.api}", "command": "lanyard", "provideClusterInfo": True,
            "args": ["credential", "kubectl", *arguments], "interactiveMode": "IfAvailable", "env": None}
        self.kubeconfig = self.write("kubeconfig", {
            "apiVersion": "v1", "kind": "Config", "current-context": "acme", "preferences": {},
            "clusters": [{"name": "acme", "cluster": {"server": server.origin, "certificate-authority-data": authority}}],
            "users": [{"name": "alice", "user": {"exec": plugin}}],
            "contexts": [{"name": "acme", "context": {"cluster": "acme", "user": "alice"}}]})

    def identity(self, account="work"):
        token = self.caller.call("identity.get", {"account": account})["idToken"]
        self._told.append(token)
        return token

    def short_lived_identity(self, seconds):
        """Replaces the ID token by one that ends soon. The agent gives it out for half of that time."""
        self.idp.fault("changeIDToken", json={"exp": int(time.time()) + 1 + seconds})
        self.caller.call("token.refresh", {"account": "work"})
        return self.identity()

    def identity_ended(self, token):
        def refused():
            time.sleep(0.02)
            return not self.cluster.is_good_identity(token)

        self.assertTrue(self.cluster.is_good_identity(token), "the token ended before it was used")
        self.until(refused, "the end of the ID token")


@in_quick_form("test_kubectl_asks_with_the_id_token", "test_kubectl_gives_another_cluster_nothing")
class WithKubectl(Kubernetes):
    def setUp(self):
        self.program = program("kubectl", "kubernetes-client")
        told = subprocess.run([self.program, "version", "--client", "--output=json"], capture_output=True, check=True).stdout
        minor = int("".join(filter(str.isdigit, json.loads(told)["clientVersion"]["minor"])))
        # Debian 12 has kubectl 1.20, which knows the older version alone.
        self.api = "v1" if minor >= 22 else "v1beta1"
        super().setUp()

    def kubectl(self, *words, **more):
        return self.tool(self.program, *words, KUBECONFIG=self.kubeconfig, **more)

    def test_kubectl_asks_with_the_id_token(self):
        self.assertEqual(json.loads(self.kubectl("get", "--raw", "/version").stdout)["gitVersion"], "v1.30.0")
        self.assertEqual(self.kubectl("get", "namespaces", "--output=name").stdout, "namespace/acme\n")
        self.assertEqual(self.cluster.server.tokens(), [self.identity()])

    def test_the_address_of_the_cluster_chooses_the_account(self):
        other = Cluster(self)
        self.rule(other.server.origin, "home")
        self.use(other.server)
        self.kubectl("get", "--raw", "/version")
        self.assertEqual(other.server.tokens(), [self.identity("home")])
        self.assertEqual(self.cluster.server.tokens(), [])

    def test_kubectl_asks_with_the_access_token_where_the_kubeconfig_says_so(self):
        self.cluster.takes_access_tokens = True
        self.use(self.cluster.server, "--access-token")
        self.kubectl("get", "--raw", "/version")
        self.assertEqual(self.cluster.server.tokens(), [self.token()])

    def test_kubectl_proxy_gets_a_new_token_when_the_old_one_ended(self):
        path = os.path.join(self.place, "proxy.sock")
        self.background(self.program, "proxy", f"--unix-socket={path}", KUBECONFIG=self.kubeconfig)
        self.until(lambda: accepts(path), "the proxy")

        def version():
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE_SECONDS)
                connection.connect(path)
                connection.sendall(b"GET /version HTTP/1.0\r\nHost: localhost\r\n\r\n")
                with connection.makefile("rb") as reader:
                    return reader.read()

        # Some builds of kubectl ask the cluster for its version before they start.
        self.cluster.server.requests.clear()
        old = self.short_lived_identity(seconds=3)
        self.assertIn(b"v1.30.0", version())
        exchanges = self.exchanges()
        self.identity_ended(old)
        self.assertIn(b"v1.30.0", version())
        self.assertEqual(self.cluster.server.tokens(), [old, self.identity()])
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_kubectl_fails_with_a_refused_token_and_asks_for_no_other(self):
        """kubectl calls the plugin again after a 401. The protocol has no word for a refused token since v1beta1, so it gets the
        same token, and no token is asked for at the provider."""
        refused = self.identity()
        self.cluster.refuses.add(refused)
        exchanges = self.exchanges()
        ran = self.kubectl("get", "--raw", "/version", status=None)
        self.assertIn("You must be logged in to the server", ran.stderr)
        self.assertEqual(self.cluster.server.tokens(), [refused])
        self.assertLess(len(self.cluster.server.requests), 6)
        self.assertEqual(self.exchanges(), exchanges)

    def test_kubectl_gives_another_cluster_nothing(self):
        other = Cluster(self)
        self.use(other.server)
        self.kubectl("get", "--raw", "/version", status=None)
        self.assertEqual(other.server.tokens(), [])

    def test_kubectl_says_lanyard_login_when_signed_out(self):
        self.sign_out()
        ran = self.kubectl("get", "--raw", "/version", status=None)
        self.assertIn("lanyard login", ran.stderr)
        self.assertEqual(self.cluster.server.tokens(), [])


CLIENT = """
import json, sys
from kubernetes import client, config
from kubernetes.client.rest import ApiException
print("ready", flush=True)
for number, line in enumerate(sys.stdin):
    if number == 0:
        config.load_kube_config()
    try:
        found = [item.metadata.name for item in client.CoreV1Api().list_namespace().items]
    except ApiException as error:
        found = error.status
    print(json.dumps(found), flush=True)
"""


@in_quick_form()
class WithThePythonClient(Kubernetes):
    def setUp(self):
        super().setUp()
        self.python = os.path.join(python_packages(), "python")
        self.script = self.write("client.py", CLIENT)

    def ask(self):
        """The namespaces, or the status of the refusal; and what the client wrote on stderr."""
        ran = self.tool(self.python, self.script, KUBECONFIG=self.kubeconfig, input="\n")
        ready, found = ran.stdout.splitlines()
        self.assertEqual(ready, "ready")
        return json.loads(found), ran.stderr

    def test_the_client_asks_with_the_id_token(self):
        self.assertEqual(self.ask()[0], ["acme"])
        self.assertEqual(self.cluster.server.tokens(), [self.identity()])

    def test_a_run_of_the_client_gets_a_new_token_when_the_old_one_ended(self):
        # So that Python has compiled what the client loads at its first request, which can take longer than a token lives.
        self.ask()
        self.cluster.server.requests.clear()
        with subprocess.Popen(
                [self.python, self.script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=self.place,
                env=self.environment(KUBECONFIG=self.kubeconfig)) as process:
            def asked():
                process.stdin.write("\n")
                process.stdin.flush()
                return json.loads(process.stdout.readline())

            self.assertEqual(process.stdout.readline(), "ready\n")
            old = self.short_lived_identity(seconds=8)
            self.assertEqual(asked(), ["acme"])
            exchanges = self.exchanges()
            self.identity_ended(old)
            self.assertEqual(asked(), ["acme"])
            process.stdin.close()
            self.assertEqual(process.wait(PATIENCE_SECONDS), 0)
        self.assertEqual(self.cluster.server.tokens(), [old, self.identity()])
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_the_client_fails_with_a_refused_token_and_asks_for_no_other(self):
        """As with kubectl, the protocol has no word for a refused token."""
        refused = self.identity()
        self.cluster.refuses.add(refused)
        exchanges = self.exchanges()
        self.assertEqual(self.ask()[0], 401)
        self.assertEqual(self.cluster.server.tokens(), [refused])
        self.assertLess(len(self.cluster.server.requests), 6)
        self.assertEqual(self.exchanges(), exchanges)

    def test_the_client_gives_another_cluster_nothing(self):
        other = Cluster(self)
        self.use(other.server)
        self.assertEqual(self.ask()[0], 401)
        self.assertNothingCame(other.server)

    def test_the_client_says_lanyard_login_when_signed_out(self):
        self.sign_out()
        found, errors = self.ask()
        self.assertEqual(found, 401)
        self.assertIn("lanyard login", errors)
        self.assertEqual(self.cluster.server.tokens(), [])


if __name__ == "__main__":
    unittest.main()
