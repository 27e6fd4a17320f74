"""Pinned keys of a provider's servers, with real certificates and the agent as it runs."""

import base64
import hashlib
import re
import shlex
import subprocess
import unittest

from agent_fixture import PATIENCE_SECONDS
from test_configuration import LANYARD, Configured

BACKUP = "sha256/" + "B" * 42 + "A="
OTHER = "sha256/" + "C" * 42 + "A="


def pin(issuer):
    """The digest of the public key in the issuer's certificate."""
    key = subprocess.run(
        ["openssl", "x509", "-in", issuer.certificate, "-pubkey", "-noout"], check=True, capture_output=True).stdout
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-outform", "der"], input=key, check=True, capture_output=True).stdout
    return "sha256/" + base64.b64encode(hashlib.sha256(der).digest()).decode()


class Pins(Configured):
    def test_server_with_a_pinned_key_is_trusted(self):
        issuer = self.issuer()
        self.add(self.client(self.scene()), issuer, caFile=issuer.certificate,
                 pins={"LOCALHOST": [BACKUP, pin(issuer)]})
        self.assertGreater(issuer.requests, 0)

    def test_server_with_another_key_gets_no_request(self):
        issuer = self.issuer()
        client = self.client(self.scene())
        self.untrusted("pinMismatch", client, issuer, caFile=issuer.certificate, pins={"localhost": [BACKUP, OTHER]})
        self.untrusted("pinMismatch", client, issuer, caFile=issuer.certificate, pins={"localhost": [BACKUP, OTHER]},
                       pinsExpireAt="2999-01-01T00:00:00.000Z")
        self.assertEqual(issuer.requests, 0)

    def test_advice_about_authorities_and_pins_is_followed(self):
        issuer = self.issuer()
        scene = self.scene()
        client = self.client(scene)

        def lanyard(*words):
            return subprocess.run(
                [LANYARD, *words], env=scene.environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS)

        def follow(told, beginning, **names):
            """Runs the advised command that begins so, its words in capitals filled in."""
            command = next(one for one in re.findall("`(lanyard [^`]*)`", " ".join(told.split())) if one.startswith(beginning))
            done = lanyard(*(names.get(word, word) for word in shlex.split(command)[1:]))
            self.assertEqual(done.returncode, 0, done)

        self.add(client, issuer, caFile=issuer.certificate)
        client.call("provider.update", {"provider": "idp", "caFile": ""})
        told = lanyard("doctor", "--online").stdout
        follow(told, "lanyard provider update NAME --ca-file FILE", NAME="idp", FILE=issuer.certificate)
        self.assertRegex(lanyard("doctor", "--online").stdout, "ok +The provider idp answers")

        client.call("provider.update", {"provider": "idp", "pins": {"localhost": [BACKUP, OTHER]}})
        told = lanyard("provider", "test", "idp").stdout
        follow(told, "lanyard provider pin idp localhost", PIN=pin(issuer), BACKUP=BACKUP)
        self.assertRegex(lanyard("provider", "test", "idp").stdout, "ok +localhost: The server localhost proves itself")

        client.call("provider.update", {"provider": "idp", "pinsExpireAt": "2020-01-01T00:00:00.000Z"})
        told = lanyard("doctor").stdout
        self.assertIn("ended on 2020-01-01", " ".join(told.split()))
        follow(told, "lanyard provider pin idp HOST --until", HOST="localhost", DATE="2999-01-01")
        self.assertNotIn("The pins of the provider", lanyard("doctor").stdout)

    def test_each_connection_proves_the_server_anew(self):
        issuer, scene = self.issuer(), self.scene()
        self.add(self.client(scene), issuer, caFile=issuer.certificate)
        for _ in range(2):
            subprocess.run(
                [LANYARD, "provider", "test", "idp"], env=scene.environment, capture_output=True, timeout=PATIENCE_SECONDS)
        self.assertGreater(len(issuer.resumed), 3)
        self.assertEqual(set(issuer.resumed), {False})

    def test_pins_replace_no_authority(self):
        issuer = self.issuer()
        self.untrusted("unknownAuthority", self.client(self.scene()), issuer,
                       pins={"localhost": [BACKUP, pin(issuer)]})
        self.assertEqual(issuer.requests, 0)

    def test_pins_of_other_hosts_say_nothing(self):
        issuer = self.issuer()
        self.add(self.client(self.scene()), issuer, caFile=issuer.certificate,
                 pins={"other.example": [BACKUP, OTHER]})

    def test_expired_pins_say_nothing(self):
        issuer = self.issuer()
        client = self.client(self.scene())
        self.add(client, issuer, caFile=issuer.certificate, pins={"localhost": [BACKUP, OTHER]},
                 pinsExpireAt="2020-01-01T00:00:00.000Z")
        found = [one for one in client.call("agent.diagnose")["findings"] if one["check"] == "providerPins"]
        self.assertEqual([one["severity"] for one in found], ["notice"])
        self.assertIn("2020-01-01", found[0]["message"])

    def test_key_in_use_is_told_also_while_others_are_pinned(self):
        issuer = self.issuer()
        client = self.client(self.scene())
        self.add(client, issuer, caFile=issuer.certificate)
        key = {"check": "serverKey", "subject": "localhost"}

        def found():
            findings = client.call("provider.test", {"provider": "idp"})["findings"]
            one = next(one for one in findings if key.items() <= one.items())
            self.assertIn(pin(issuer), one["message"])
            return one["severity"]

        self.assertEqual(found(), "ok")
        requests = issuer.requests
        client.call("provider.update", {"provider": "idp", "pins": {"localhost": [BACKUP, OTHER]}})
        self.assertEqual(found(), "problem")
        self.assertEqual(issuer.requests, requests)

    def test_changed_key_is_refused_until_the_pins_are_changed(self):
        before, after = self.issuer(), self.issuer()
        client = self.client(self.scene())
        self.add(client, before, caFile=before.certificate, pins={"localhost": [BACKUP, pin(before)]})

        def move(**members):
            return client.call("provider.update", {
                "provider": "idp", "issuer": after.url, "caFile": after.certificate, **members})

        error = self.refused(3004, move)
        self.assertEqual((error.data["reason"], error.data["outcome"]), ("pinMismatch", "notSent"))
        self.assertEqual(after.requests, 0)
        move(pins={"localhost": [BACKUP, pin(after)]})
        self.assertGreater(after.requests, 0)


if __name__ == "__main__":
    unittest.main()
