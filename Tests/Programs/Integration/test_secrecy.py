"""Places where no secret may be: the disk, logs, /proc, core files."""

import base64
import os
import re
import signal
import subprocess
import unittest

from agent_fixture import AGENT, BIN, PATIENCE_SECONDS, AgentFixture, LanyardError, add_provider, raw, request

CLIENT_SECRET = "practice-secret"
PEOPLE = {"alice": "alice@acme.example", "bob": "bob@globex.example"}


class Secrecy(AgentFixture):
    """An agent at its highest log level, after a session."""

    def setUp(self):
        self.practice = self.provider()
        self.agent = self.scene("--log-level", "trace")
        self.caller = self.client(self.agent)
        add_provider(
            self.caller, self.practice, clientId="confidential", clientSecret=CLIENT_SECRET, tenant={"claim": "tid"},
            persistAccessTokens=True)
        self.secrets = {CLIENT_SECRET, self.practice.issuer, self.practice.issuer.split("//")[1]}
        for person, email in PEOPLE.items():
            self.secrets.add(email)
            self.sign_in(person)

    def sign_in(self, person):
        issued = self.practice.post("sign-in", user=person, client_id="confidential")
        self.secrets |= {issued["refresh_token"], issued["access_token"], issued["id_token"]}
        account = self.caller.call(
            "signIn.import", {"provider": "practice", "refreshToken": issued["refresh_token"], "alias": person})
        self.secrets.add(self.caller.call("account.get", {"account": person})["subject"])
        return account

    def work(self):
        for person in PEOPLE:
            for method in ("token.get", "token.refresh", "token.get"):
                self.secrets.add(self.caller.call(method, {"account": person})["accessToken"])
            token = self.caller.call("token.get", {"account": person})
            rejected = {"account": person, "fingerprint": token["fingerprint"]}
            self.secrets.add(self.caller.call("token.reject", rejected)["accessToken"])
        # Mistaken requests must not be echoed into a log either.
        for line in (b"{" + CLIENT_SECRET.encode() + b"}\n", request("token.get", {"account": "alice@acme.example"})):
            raw(self.agent.socket, line)
        try:
            self.caller.call("signIn.import", {"provider": "practice", "refreshToken": "rt_this-one-is-no-good"})
        except LanyardError:
            pass
        self.secrets.add("rt_this-one-is-no-good")
        self.practice.fault("answer", status=400, json={"error": "invalid_grant", "error_description": "Q7-told"})
        try:
            self.caller.call("token.refresh", {"account": "bob"})
        except LanyardError:
            pass

    def spellings(self):
        """Each secret as text, and in other encodings."""
        for secret in self.secrets:
            data = secret.encode()
            yield data
            yield data.hex().encode()
            yield base64.b64encode(data).rstrip(b"=")[:-1]
            yield data.decode().encode("utf-16-le")

    def assertNowhere(self, data, where):
        for spelling in self.spellings():
            self.assertNotIn(spelling, data, f"a secret is in {where}")
            # Half a token is as sensitive as a whole one.
            if len(spelling) >= 64:
                self.assertNotIn(spelling[-40:], data, f"the end of a secret is in {where}")

    def files(self):
        for directory, _, names in os.walk(self.agent.directory):
            for name in names:
                path = os.path.join(directory, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        yield path, file.read()

    def test_no_secret_is_in_clear_on_the_disk_or_in_logs(self):
        self.work()
        for path, data in self.files():
            self.assertNowhere(data, path)
        self.assertTrue(any(path.endswith("agent.log") and data for path, data in self.files()), "no log was written")
        self.agent.kill()
        self.agent.start()
        self.caller.call("account.signOut", {"account": "alice", "mode": "hard"})
        self.caller.call("account.signOut", {"account": "bob", "mode": "offline"})
        self.agent.end(signal.SIGTERM)
        for path, data in self.files():
            self.assertNowhere(data, path)

    def test_no_secret_is_visible_in_proc(self):
        self.work()
        for name in ("cmdline", "environ", "comm", "status"):
            try:
                with open(f"/proc/{self.agent.pid}/{name}", "rb") as file:
                    self.assertNowhere(file.read(), name)
            except PermissionError:
                pass

    def test_error_echoes_no_input(self):
        marker = "Zx81-do-not-repeat"
        lines = [
            request("token.get", {"account": marker}), request(marker), request("token.get", {"account": [marker]}),
            request("provider.get", {"provider": marker.lower()}),
            request("signIn.import", {"provider": "practice", "refreshToken": marker}),
            request("signIn.complete", {"signIn": marker, "redirectUrl": f"http://127.0.0.1/?code={marker}"}),
            b'{"' + marker.encode() + b'":\n',
        ]
        for line in lines:
            (answer,) = raw(self.agent.socket, line)
            with self.subTest(line=line[:60]):
                self.assertIn("error", answer)
                self.assertNotIn(marker.lower(), repr(answer).lower())

    def test_agent_process_can_not_be_dumped_or_read(self):
        with open(f"/proc/{self.agent.pid}/limits") as limits:
            core = next(line for line in limits if line.startswith("Max core file size"))
        self.assertEqual(core.split()[4:6], ["0", "0"])
        # In /proc a process that is not dumpable belongs to root, under any user.
        self.assertEqual(os.stat(f"/proc/{self.agent.pid}/environ").st_uid, 0)
        if os.geteuid() == 0:
            self.skipTest("root may read everything; the rest applies to other users")
        with self.assertRaises(PermissionError):
            open(f"/proc/{self.agent.pid}/mem", "rb").close()

    def test_crashed_agent_leaves_no_core(self):
        self.agent.end(signal.SIGSEGV)
        for directory in (self.agent.directory, self.agent.state, os.getcwd()):
            self.assertEqual([name for name in os.listdir(directory) if re.match(r"core(\.|$)", name)], [])

    def test_files_of_the_agent_are_closed_in_children(self):
        """Store, key, lock and journal are close-on-exec, also for a program that a library might start."""
        self.work()
        try:
            names = os.listdir(f"/proc/{self.agent.pid}/fd")
        except PermissionError:
            self.skipTest("only root may list the agent's descriptors")
        files = {name: os.readlink(f"/proc/{self.agent.pid}/fd/{name}") for name in names}
        for name, path in files.items():
            if not path.startswith(self.agent.state):
                continue
            with self.subTest(path=path), open(f"/proc/{self.agent.pid}/fdinfo/{name}") as info:
                flags = next(int(line.split()[1], 8) for line in info if line.startswith("flags"))
                self.assertTrue(flags & os.O_CLOEXEC)
        self.assertTrue(any(path.endswith(".sqlite") for path in files.values()))


class Commands(AgentFixture):
    def test_lanyard_passes_no_token_as_an_argument(self):
        """`lanyard` passes no secret to another program by its arguments, which every user can read."""
        _, scene, caller = self.alice()
        token = caller.call("token.get", {"account": "alice"})["accessToken"]
        printed = subprocess.run(
            [os.path.join(BIN, "lanyard"), "token", "alice"], capture_output=True, env=scene.environment, text=True,
            timeout=PATIENCE_SECONDS)
        self.assertEqual((printed.returncode, printed.stdout.strip(), printed.stderr), (0, token, ""))

    def test_agent_has_no_option_that_takes_a_secret(self):
        told = subprocess.run([AGENT, "--help"], capture_output=True, text=True, timeout=PATIENCE_SECONDS).stdout
        self.assertNotRegex(told, r"--(passphrase|secret|token)[ =](?!-)")


if __name__ == "__main__":
    unittest.main()
