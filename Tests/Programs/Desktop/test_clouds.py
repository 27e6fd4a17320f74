"""Google's and Amazon's libraries with the real agent, each at a token service on loopback."""

import base64
import http.server
import json
import os
import re
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

from desktop_fixture import (  # noqa: E402
    PATIENCE_SECONDS, Desktop, Request, Response, certificates, forward, python_packages)
from loopback import accepts, free_port  # noqa: E402
from test_credentials import LANYARD  # noqa: E402
from forms import in_quick_form  # noqa: E402

IMPOSTOR_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def claims(token):
    """What a JWT says. Its signature was verified by the agent."""
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@in_quick_form()
class Clouds(Desktop):
    def identity(self, account="work"):
        """The account's present ID token; no tool may show it from now on."""
        token = self.caller.call("identity.get", {"account": account})["idToken"]
        if token not in self._told:
            self._told.append(token)
        return token

    def soon_too_old(self):
        """Replaces the account's ID token by one that has a little more than the minute that helpers ask for."""
        end = int(time.time()) + 63
        self.idp.fault("changeIDToken", json={"exp": end})
        self.caller.call("token.refresh", {"account": "work"})
        token = self.identity()
        self.assertEqual(claims(token)["exp"], end)
        return token

    def other_authority(self):
        """An authority that issued no server's certificate."""
        path = os.path.join(self.place, "other.pem")
        subprocess.run(
            ["openssl", "req", "-x509", *IMPOSTOR_KEY, "-keyout", os.path.join(self.place, "other.key"), "-out", path,
             "-subj", "/CN=Other authority", "-days", "2"], check=True, capture_output=True, timeout=PATIENCE_SECONDS)
        return path

    def started(self, script, *words):
        """A program that is ready to read once for each line of its input."""
        process = subprocess.Popen(
            [os.path.join(python_packages("clouds"), "python"), "-c", script, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=self.environment())

        def end():
            process.stdin.close()
            process.wait(PATIENCE_SECONDS)
            process.stdout.close()

        self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def next_line(self, process):
        process.stdin.write("\n")
        process.stdin.flush()
        return process.stdout.readline()


class WithGoogleAuth(Clouds):
    """google-auth with an executable-sourced external account: the ID token goes to a token service, whose access token goes
    to a resource. The file of the credential names the token service, so it says where the ID token goes; no other server
    gets it. The library keeps the access token, not the ID token: it runs the command for each exchange."""

    audience = "//iam.googleapis.com/projects/17/locations/global/workloadIdentityPools/acme/providers/practice"

    reader = """
import sys
from google.auth.pluggable import Credentials
from google.auth.transport.requests import AuthorizedSession

session = AuthorizedSession(Credentials.from_file(sys.argv[1], scopes=["https://acme.example/read"]))
print("ready", flush=True)
for _ in sys.stdin:
    answer = session.get(sys.argv[2])
    print(answer.status_code, answer.text, flush=True)
"""

    def setUp(self):
        super().setUp()
        self.lifetime_seconds, self.accepted, self.refuses = 3600, [], False
        self.service, self.resource = self.server(self.exchange), self.server(self.read)
        self.account = self.write("credential.json", {
            "type": "external_account", "audience": self.audience, "token_url": f"{self.service.origin}/v1/token",
            "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
            "credential_source": {"executable": {"command": f"{LANYARD} credential gcp -u work"}}})

    def exchange(self, request):
        """Google's token service (RFC 8693): it takes ID tokens of the practice provider that have not expired."""
        form = dict(urllib.parse.parse_qsl(request.body.decode()))
        subject = claims(form["subject_token"])
        is_good = (
            not self.refuses and request.path == "/v1/token" and form["audience"] == self.audience
            and form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange"
            and form["subject_token_type"] == "urn:ietf:params:oauth:token-type:id_token"
            and subject["iss"] == self.idp.issuer and "lanyard-demo" in subject["aud"] and subject["exp"] > time.time())
        if not is_good:
            return Response.json({"error": "invalid_grant", "error_description": "The ID token is refused."}, 400)
        self.accepted.append(f"cloud-{len(self.service.requests)}")
        return Response.json({
            "access_token": self.accepted[-1], "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "token_type": "Bearer", "expires_in": self.lifetime_seconds})

    def read(self, request):
        return Response(200, b"pump 17") if request.bearer in self.accepted else Response(401)

    def subjects(self):
        """The ID tokens that the token service got, oldest first."""
        return [dict(urllib.parse.parse_qsl(request.body.decode()))["subject_token"] for request in self.service.requests]

    def environment(self, **more):
        return {**super().environment(
            GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES="1", REQUESTS_CA_BUNDLE=certificates().authority), **more}

    def words(self):
        return [self.reader, self.account, f"{self.resource.origin}/pumps"]

    def read_once(self, status=0, **environment):
        return self.tool(
            os.path.join(python_packages("clouds"), "python"), "-c", *self.words(), input="\n", status=status, **environment)

    def test_it_works(self):
        exchanges = self.exchanges()
        self.assertEqual(self.read_once().stdout, "ready\n200 pump 17\n")
        self.assertEqual(self.subjects(), [self.identity()])
        self.assertEqual(self.resource.tokens(), self.accepted)
        self.assertEqual(self.exchanges(), exchanges)

    def test_an_id_token_that_ends_in_a_long_run_is_refreshed_once(self):
        # The library asks for a token before each request, if the one that it has lives this short.
        self.lifetime_seconds = 60
        reader = self.started(*self.words())
        first, exchanges = self.soon_too_old(), self.exchanges()
        self.assertEqual(self.next_line(reader), "200 pump 17\n")
        self.until(lambda: claims(first)["exp"] - time.time() < 59, "the ID token has less than a minute left")
        for _ in range(3):
            self.assertEqual(self.next_line(reader), "200 pump 17\n")
        second = self.identity()
        self.assertNotEqual(second, first)
        self.assertEqual(self.subjects(), [first, second, second, second])
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_a_401_leads_to_one_request_for_another_token(self):
        """The library runs the command again, whose ID token is still good: the provider is asked for nothing."""
        reader = self.started(*self.words())
        self.assertEqual(self.next_line(reader), "200 pump 17\n")
        exchanges = self.exchanges()
        self.accepted.clear()
        self.assertEqual(self.next_line(reader), "200 pump 17\n")
        self.assertEqual(self.subjects(), [self.identity()] * 2)
        self.assertEqual(self.exchanges(), exchanges)

    def test_a_refused_id_token_causes_no_loop(self):
        """The library can't tell the command of the refusal."""
        exchanges, self.refuses = self.exchanges(), True
        ran = self.read_once(status=None)
        self.assertIn("The ID token is refused.", ran.stderr)
        self.assertEqual((len(self.service.requests), self.exchanges()), (1, exchanges))
        self.assertEqual(self.resource.requests, [])

    def test_a_wrong_host_gets_nothing(self):
        """The resource never gets an ID token, and a token service whose certificate is not trusted gets no request."""
        self.read_once()
        for token in (self.identity(), self.token()):
            self.assertNotIn(token, self.resource.received())
        self.service.requests.clear()
        ran = self.read_once(status=None, REQUESTS_CA_BUNDLE=self.other_authority())
        self.assertEqual(self.service.requests, [])
        self.assertIn("CERTIFICATE_VERIFY_FAILED", ran.stderr)

    def test_a_signed_out_account_names_what_to_do(self):
        self.sign_out()
        ran = self.read_once(status=None)
        self.assertIn("google.auth.exceptions.RefreshError: Executable returned unsuccessful response: code: signedOut", ran.stderr)
        self.assertIn("Sign in again: `lanyard login --account ", ran.stderr)
        self.assertEqual(self.service.requests, [])



class TokenService:
    """A plain HTTP server on loopback in front of moto, which keeps the requests. `changed(action, response)` may give
    another response."""

    def __init__(self, port, changed):
        self.requests = []
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request("POST", self.path, self.headers, body)
                service.requests.append(request)
                action = dict(urllib.parse.parse_qsl(body.decode()))["Action"]
                response = changed(action, forward(request, port))
                self.send_response(response.status)
                for name, value in response.headers:
                    if name.lower() != "content-length":
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(response.body)))
                self.end_headers()
                self.wfile.write(response.body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def forms(self, action):
        """The forms of the requests for an action, oldest first."""
        forms = [dict(urllib.parse.parse_qsl(request.body.decode())) for request in self.requests]
        return [form for form in forms if form["Action"] == action]


class WithAWS(Clouds):
    """The AWS command line and boto3 with a `credential_process`, and moto in the place of AWS.

    The agent exchanges the ID token for credentials of the role and keeps them. The programs run the command for each
    process, and again when its credentials are about to end. They tell it of no refusal.
    """

    role = "arn:aws:iam::123456789012:role/deploy"
    identity_there = "arn:aws:sts::123456789012:assumed-role/deploy/lanyard"

    reader = """
import sys, boto3

service = None
print("ready", flush=True)
for _ in sys.stdin:
    service = service or boto3.Session(profile_name="work").client("sts")
    print(service.get_caller_identity()["Arn"], flush=True)
"""

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.moto = subprocess.Popen(
            [os.path.join(python_packages("clouds"), "moto_server"), "-H", "127.0.0.1", "-p", str(cls.port)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.moto.wait, PATIENCE_SECONDS)
        cls.addClassCleanup(cls.moto.terminate)

    def setUp(self):
        super().setUp()
        self.link("lanyard")
        self.until(self.moto_accepts, "moto accepts connections")
        self.refusals, self.lifetimes = [], []
        self.service = TokenService(self.port, self.changed)
        self.addCleanup(self.service.stop)
        self.configure(self.service.origin)

    def moto_accepts(self):
        self.assertIsNone(self.moto.poll(), "moto ended")
        return accepts(self.port)

    def configure(self, endpoint):
        self.settings = self.write("aws-config", f"""
[profile work]
region = us-east-1
endpoint_url = {self.service.origin}
credential_process = lanyard credential aws -u work --role-arn {self.role} --endpoint {endpoint}
""")

    def changed(self, action, response):
        """The next refusal, or the credentials with the next lifetime instead of an hour."""
        if action != "AssumeRoleWithWebIdentity":
            return response
        if self.refusals:
            code = self.refusals.pop(0)
            return Response(400, f"<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>".encode())
        if self.lifetimes:
            end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.lifetimes.pop(0))).encode()
            return response._replace(body=re.sub(rb"(?<=<Expiration>)[^<]*", end, response.body))
        return response

    def environment(self, **more):
        return {**super().environment(
            AWS_CONFIG_FILE=self.settings, AWS_SHARED_CREDENTIALS_FILE=os.path.join(self.place, "none"),
            AWS_EC2_METADATA_DISABLED="true"), **more}

    def aws(self, status=0):
        words = ["--profile", "work", "sts", "get-caller-identity", "--query", "Arn", "--output", "text"]
        return self.tool(os.path.join(python_packages("clouds"), "aws"), *words, status=status)

    def exchanged(self):
        """The ID tokens that were exchanged, oldest first."""
        return [form["WebIdentityToken"] for form in self.service.forms("AssumeRoleWithWebIdentity")]

    def test_it_works_and_credentials_are_kept(self):
        exchanges = self.exchanges()
        for _ in range(2):
            self.assertEqual(self.aws().stdout, self.identity_there + "\n")
        (form,) = self.service.forms("AssumeRoleWithWebIdentity")
        self.assertEqual((form["RoleArn"], form["RoleSessionName"]), (self.role, "lanyard"))
        self.assertEqual(form["WebIdentityToken"], self.identity())
        self.assertEqual(len(self.service.forms("GetCallerIdentity")), 2)
        self.assertEqual(self.exchanges(), exchanges)

    def test_credentials_that_end_in_a_long_run_are_replaced_once(self):
        """Their ID token has ended, too: it is refreshed once."""
        self.lifetimes = [4]
        reader = self.started(self.reader)
        first, exchanges = self.soon_too_old(), self.exchanges()
        self.assertEqual(self.next_line(reader), self.identity_there + "\n")
        self.assertEqual(self.exchanged(), [first])
        ended = time.time() + 4
        self.until(
            lambda: time.time() > ended and claims(first)["exp"] - time.time() < 59,
            "the credentials end, and the ID token has less than a minute left")
        for _ in range(3):
            self.assertEqual(self.next_line(reader), self.identity_there + "\n")
        self.assertEqual(self.exchanged(), [first, self.identity()])
        self.assertEqual(self.exchanges(), exchanges + 1)

    def aged(self):
        """The present ID token, once it is old enough for a newer one to be asked for."""
        token = self.identity()
        self.until(lambda: time.time() - claims(token)["iat"] >= 2, "the ID token gets older")
        return token

    def test_a_refused_id_token_is_replaced_once(self):
        first, exchanges = self.aged(), self.exchanges()
        self.refusals = ["ExpiredTokenException"]
        self.assertEqual(self.aws().stdout, self.identity_there + "\n")
        self.assertEqual(self.exchanged(), [first, self.identity()])
        self.assertNotEqual(self.identity(), first)
        self.assertEqual(self.exchanges(), exchanges + 1)

    def test_a_service_that_refuses_every_id_token_causes_no_loop(self):
        self.aged()
        exchanges = self.exchanges()
        self.refusals = ["InvalidIdentityToken"] * 9
        for _ in range(2):
            ran = self.aws(status=255)
            self.assertIn("The Security Token Service refuses the ID token of this account.", ran.stderr)
        self.assertEqual(len(self.exchanged()), 2)
        self.assertEqual(self.exchanges(), exchanges + 1)
        self.assertEqual(self.service.forms("GetCallerIdentity"), [])

    def test_a_wrong_host_gets_nothing(self):
        """A token service whose certificate is not trusted gets no request, and one without TLS elsewhere is not asked."""
        wrong = self.server(lambda _: Response(500))
        self.configure(wrong.origin)
        self.assertIn("custom-process", self.aws(status=255).stderr)
        self.assertEqual(wrong.requests, [])
        self.configure("http://sts.acme.example")
        self.assertIn("--endpoint must be an https URL", self.aws(status=255).stderr)
        self.assertEqual(self.service.requests, [])

    def test_a_signed_out_account_names_what_to_do(self):
        self.aws()
        self.service.requests.clear()
        self.sign_out()
        ran = self.aws(status=255)
        self.assertIn("Error when retrieving credentials from custom-process: lanyard: This account is signed out.", ran.stderr)
        self.assertIn("Sign in again: `lanyard login --account ", ran.stderr)
        self.assertEqual(self.service.requests, [])


if __name__ == "__main__":
    unittest.main()
