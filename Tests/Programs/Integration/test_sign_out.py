"""kill -9 at every write of a sign-out: wholly signed in or out, the token usable, queued or dead, and no trace left.

Every secret of the account is known beforehand, since the test sets the provider's answer at the import. So are the
records sealed with keys that a hard sign-out destroys: not even those may be left.

CI takes some of the points, by a seed that a failure prints; LANYARD_KILLS=all takes all points.
"""

import base64
import contextlib
import os
import shutil
import sqlite3
import tempfile
import unittest

from deaths import Deaths, Faulty, Point, is_sound, kills
from agent_fixture import LanyardError, PATIENCE_SECONDS, add_provider

SIGNED_OUT = 2003
PERSON, EMAIL = "alice", "alice@acme.example"
ALIAS = "an-alias-of-alice"
DATA = {"draft": "what-alice-wrote-for-herself-alone", "seal": "0123456789-kept-by-a-program"}


class SignedIn:
    """An agent with one signed-in person, and the secrets that must not be found."""

    def __init__(self, provider, scene, client):
        self.provider, self.scene = provider, scene
        add_provider(client, provider, refresh={"reuse": "none"})
        issued = provider.post("sign-in", user=PERSON)
        self.grant = issued.pop("grant")
        # The agent gets exactly the tokens known here; the provider knows them, too.
        provider.fault("answer", status=200, json={**issued, "token_type": "Bearer"})
        self.account = client.call(
            "signIn.import",
            {"provider": "practice", "refreshToken": issued["refresh_token"], "alias": ALIAS})["account"]
        self.secrets = {issued["refresh_token"], issued["access_token"], issued["id_token"], EMAIL, ALIAS,
                        *DATA.values()}
        assert client.call("token.get", {"account": ALIAS})["accessToken"] == issued["access_token"]
        assert client.call("account.get", {"account": ALIAS})["email"] == EMAIL
        for name, value in DATA.items():
            client.call("secret.put", {"account": ALIAS, "name": name, "value": value})
        self.sealed = sealed_records(scene.state)
        assert self.traces([]) == [] and len(self.traces(self.sealed)) >= len(self.sealed), "the search finds nothing"

    def traces(self, sealed):
        """The places of forbidden text, in any encoding."""
        found = []
        forms = [(secret, form) for secret in self.secrets for form in spellings(secret.encode())]
        forms += [("a sealed record", record[12:44]) for record in sealed]
        for directory, _, names in os.walk(self.scene.directory):
            for name in names:
                path = os.path.join(directory, name)
                if not os.path.isfile(path):
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                found += [(what, path) for what, form in forms if form in data]
        return found


def spellings(secret):
    """The secret as text and in other encodings, at any offset."""
    yield secret
    yield secret.hex().encode()
    yield secret.hex().upper().encode()
    yield secret.decode().encode("utf-16-le")
    for shift in range(3):
        # Some bits of the first and the last characters depend on the neighbours.
        inner = base64.b64encode(bytes(shift) + secret).rstrip(b"=")[4 if shift else 0:-1]
        yield inner
        yield inner.translate(bytes.maketrans(b"+/", b"-_"))


def records(state):
    """The content of the store, read from a copy: (partition, id) and the sealed bytes."""
    with tempfile.TemporaryDirectory() as copy:
        for name in os.listdir(state):
            if name.startswith("lanyard.sqlite"):
                shutil.copy(os.path.join(state, name), copy)
        with contextlib.closing(sqlite3.connect(os.path.join(copy, "lanyard.sqlite"))) as store:
            return store.execute("SELECT partition, kind, id, sealed FROM record").fetchall()


def sealed_records(state):
    """The account's records. The vault's partition is the one that holds the provider (DeclaredKind.provider)."""
    rows = records(state)
    (vault,) = {partition for partition, kind, _, _ in rows if kind == 16}
    own = [sealed for partition, _, _, sealed in rows if partition != vault and len(sealed) >= 44]
    assert len(own) >= 5, "keys, profile, grant, ID token and data"
    return own


class SignOutKills(Deaths):
    @contextlib.contextmanager
    def signed_in(self):
        provider = self.provider("--rotation", "none")
        scene = Faulty()
        try:
            scene.start()
            with scene.client(timeout=PATIENCE_SECONDS) as client:
                yield SignedIn(provider, scene, client), client
        finally:
            scene.__exit__()
            provider.stop()

    def sign_out(self, client, mode):
        return client.call("account.signOut", {"account": ALIAS, "mode": mode})

    def written(self, mode):
        """The write calls of an undisturbed sign-out, one a line, until the provider was told."""
        with self.signed_in() as (at, client):
            at.scene.arm(Point(0, "count"))
            answer = self.sign_out(client, mode)
            self.assertEqual(answer["revocation"], "queued" if mode == "offline" else "confirmed")
            self.assertEqual(answer["data"], "erased" if mode == "hard" else "sealed")
            at.scene.disarm()
            return at.scene.counted()

    def die(self, mode, point):
        with self.signed_in() as (at, client):
            at.scene.arm(point)
            with contextlib.suppress(Exception):
                self.sign_out(client, mode)
            # Writes after the answer come by themselves, and the agent dies there, too.
            at.scene.process.wait(PATIENCE_SECONDS)
            self.assertTrue(is_sound(at.scene.state))
            self.assertEqual(at.traces([]), [], "at the moment of death")
            at.scene.watched = False
            at.scene.start()
            with at.scene.client(timeout=PATIENCE_SECONDS) as again:
                if again.call("account.get", {"account": at.account})["state"] != "signedOut":
                    self.wholly_in(at, again)
                    self.sign_out(again, mode)
                else:
                    self.assertGreater(point.done, 0, "nothing was written yet")
                self.wholly_out(at, again, mode)
                self.erased(at, mode)
            at.scene.end()
            self.erased(at, mode)

    def wholly_in(self, at, client):
        self.assertEqual(client.call("revocation.list")["revocations"], [])
        self.assertNotIn(at.grant, at.provider.ended())
        self.assertTrue(client.call("token.refresh", {"account": ALIAS})["accessToken"])
        for name, value in DATA.items():
            self.assertEqual(client.call("secret.get", {"account": ALIAS, "name": name})["value"], value)
        self.assertEqual(client.call("account.get", {"account": "@active"})["account"], at.account)

    def wholly_out(self, at, client, mode):
        for method in ("token.get", "token.refresh"):
            self.refused(SIGNED_OUT, lambda: client.call(method, {"account": at.account}))
        for name in DATA:
            with self.assertRaises(LanyardError):
                client.call("secret.get", {"account": at.account, "name": name})
        with self.assertRaises(LanyardError):
            client.call("account.get", {"account": "@active"})
        # Queued or dead, and not both for long: queued revocations are sent without a request, except after an offline
        # sign-out
        # that completed.
        waits = bool(client.call("revocation.list")["revocations"])
        self.assertTrue(waits or at.grant in at.provider.ended(), "the token is live, and no revocation is queued")
        client.call("connectivity.report", {"online": True})
        self.until(lambda: client.call("revocation.list")["revocations"] == [], "the revocation is sent")
        self.assertIn(at.grant, at.provider.ended())

    def erased(self, at, mode):
        """After a soft sign-out, profile and data stay sealed; after a hard one, nothing stays."""
        gone = at.sealed if mode == "hard" else []
        self.until(lambda: at.traces(gone) == [], f"the traces go: {at.traces(gone)}")

    def die_everywhere(self, mode):
        lines = self.written(mode)
        points = self.some(kills(lines), 6)
        for point in points:
            with self.subTest(mode=mode, point=point, seed=self.seed):
                self.die(mode, point)
        self.tell(f"{mode}: {len(lines)} writes, {len(points)} kills")

    def test_soft_sign_out_killed_at_any_write_is_whole(self):
        self.die_everywhere("soft")

    def test_hard_sign_out_killed_at_any_write_leaves_no_trace(self):
        self.die_everywhere("hard")

    def test_offline_sign_out_killed_at_any_write_is_whole(self):
        self.die_everywhere("offline")


if __name__ == "__main__":
    unittest.main()
