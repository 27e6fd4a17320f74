"""Assertions of machines, verified by the libraries by which servers verify them: google-auth, Authlib and PyJWT."""

import json
import os
import subprocess
import sys
import unittest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

from desktop_fixture import PATIENCE_SECONDS, Desktop, python_packages  # noqa: E402
from forms import in_quick_form  # noqa: E402
from test_credentials import LANYARD  # noqa: E402

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "CLITests"))

from machine_server import INSTALLATION, MachineServer, openssl  # noqa: E402

EMAIL = "robot@project.iam.gserviceaccount.com"
CHECKS = """
import json, sys
asked = json.load(sys.stdin)
token, certificate, audience = asked["token"], asked["certificate"], asked["audience"]

from google.auth import jwt as google
told = [google.decode(token, certs={asked["kid"]: certificate} if asked["kid"] else certificate, audience=audience)]

from authlib.jose import JsonWebToken
options = {"iss": {"essential": True, "value": asked["iss"]}, "exp": {"essential": True}}
if audience:
    options["aud"] = {"essential": True, "value": audience}
claims = JsonWebToken(["RS256"]).decode(token, asked["public"], claims_options=options)
claims.validate()
told.append(dict(claims))

import jwt
told.append(jwt.decode(token, asked["public"], algorithms=["RS256"], audience=audience, issuer=asked["iss"],
                       options={"require": ["exp", "iat", "iss"]}))
assert told[0] == told[1] == told[2], told
json.dump(told[0], sys.stdout)
"""


class VerifyingServer(MachineServer):
    """A server that takes an assertion only if each library takes it, of the issuer and for the audience that are expected."""

    def __init__(self, place, python):
        super().__init__(place)
        self.python = python
        self.expected = {"iss": EMAIL, "audience": self.issuer + "/token", "kid": None}
        self.certificate = os.path.join(place, "certificate.pem")
        openssl("req", "-x509", "-key", self.key, "-out", self.certificate, "-subj", "/CN=robot", "-days", "2")

    def verified(self, token):
        claims = super().verified(token)
        with open(self.certificate) as certificate, open(self.public) as public:
            asked = {**self.expected, "token": token, "certificate": certificate.read(), "public": public.read()}
        ran = subprocess.run(
            [self.python, "-W", "ignore", "-c", CHECKS], input=json.dumps(asked), capture_output=True, text=True,
            timeout=PATIENCE_SECONDS)
        if ran.returncode != 0 or json.loads(ran.stdout) != claims:
            raise ValueError(ran.stderr.strip().splitlines()[-1:])
        return claims


@in_quick_form()
class Assertions(Desktop):
    def setUp(self):
        super().setUp()
        place = os.path.join(self.place, "machines")
        os.mkdir(place)
        self.machines = VerifyingServer(place, os.path.join(python_packages("clouds"), "python"))
        self.addCleanup(self.machines.stop)

    def account_file(self):
        with open(self.machines.key) as file:
            key = file.read()
        return self.write("account.json", {
            "type": "service_account", "client_email": EMAIL, "private_key_id": "first-key", "private_key": key,
            "token_uri": self.machines.issuer + "/token"})

    def test_the_assertion_of_a_google_service_account_is_taken(self):
        self.machines.expected["kid"] = "first-key"
        self.tool(LANYARD, "import", "google-service-account", self.account_file(), "--yes")
        [request] = self.machines.at("/token")
        self.assertEqual(request["claims"]["iss"], EMAIL)

    def test_the_assertion_of_a_github_app_is_taken(self):
        self.machines.expected |= {"iss": "12345", "audience": None}
        self.tool(LANYARD, "provider", "add", "deploy", "--grant", "github-app", "--app-id", "12345", "--installation",
                  "67890", "--client-key", self.machines.key, "--token-url", self.machines.issuer + INSTALLATION)
        self.tool(LANYARD, "login", "deploy")
        self.assertEqual(self.machines.at(INSTALLATION)[0]["claims"]["iss"], "12345")

    def test_the_assertion_of_a_client_is_taken(self):
        self.machines.expected |= {"iss": "robot", "audience": self.machines.issuer}
        self.tool(LANYARD, "provider", "add", "robot", "--grant", "client-credentials", "--issuer", self.machines.issuer,
                  "--client-id", "robot", "--client-key", self.machines.key)
        self.tool(LANYARD, "login", "robot")
        [request] = self.machines.at("/token")
        self.assertEqual(request["claims"]["sub"], "robot")

    def test_the_libraries_refuse_what_is_for_another_server(self):
        self.machines.expected["audience"] = "https://another.example/token"
        self.tool(LANYARD, "import", "google-service-account", self.account_file(), "--yes", status=None)


if __name__ == "__main__":
    unittest.main()
