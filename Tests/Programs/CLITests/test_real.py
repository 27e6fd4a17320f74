"""The whole: the real agent, started by need, and a provider on this machine."""

import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
import urllib.request

from person import BINARIES, PATIENCE_SECONDS, Person, interrupt

PROGRAMS = ["lanyard", "lanyard-cli", "lanyard-agent", "lanyard-demo"]
MISSING = [program for program in PROGRAMS if not os.path.exists(os.path.join(BINARIES, program))]


@unittest.skipIf(MISSING, f"not built: {', '.join(MISSING)}")
class RealPerson(Person):
    """A person without a running agent."""

    @classmethod
    def setUpClass(cls):
        # An agent that is rebuilt while the tests run would be two agents.
        cls.install = tempfile.mkdtemp(prefix="lanyard-bin-")
        cls.addClassCleanup(shutil.rmtree, cls.install, ignore_errors=True)
        for program in PROGRAMS:
            shutil.copy2(os.path.join(BINARIES, program), cls.install)

    def setUp(self):
        super().setUp()
        self.programs = self.install
        self.environment.pop("LANYARD_NO_START")
        self.addCleanup(self.lanyard, "rpc", "agent.shutdown", "--no-start")

    def status(self):
        return json.loads(self.answer("status", "--json"))

    def instance(self):
        return json.loads(self.answer("rpc", "agent.hello", '{"client":{"name":"tests","version":"1"}}'))["instance"]


class StartRealTests(RealPerson):
    def test_twenty_at_once_find_one_agent(self):
        hello = ["rpc", "agent.hello", '{"client":{"name":"tests","version":"1"}}']
        commands = [hello if number % 2 else ["status", "--json"] for number in range(20)]
        processes = [self.start(*words) for words in commands]
        answers = [process.communicate(timeout=PATIENCE_SECONDS) for process in processes]
        self.assertEqual({process.returncode for process in processes}, {0}, answers)
        told = [json.loads(out) for out, _ in answers]
        self.assertEqual(len({answer["instance"] for answer in told if "instance" in answer}), 1)
        self.assertEqual(len({answer["agent"]["startedAt"] for answer in told if "selection" in answer}), 1)

    def test_a_killed_agent_is_replaced(self):
        first = self.instance()
        pid = int(self.agent_pid())
        os.kill(pid, signal.SIGKILL)
        while self.listens():  # a signal takes its time on a busy machine
            pass
        self.assertNotEqual(self.instance(), first)

    def test_an_agent_that_lost_its_socket_is_replaced(self):
        first = self.instance()
        shutil.rmtree(os.path.dirname(self.socket))
        self.assertNotEqual(self.instance(), first)

    def test_stop_waits_for_the_end_of_the_process(self):
        self.instance()
        process = os.pidfd_open(self.agent_pid())
        self.addCleanup(os.close, process)
        self.assertEqual(self.answer("stop"), "The agent has ended.\n")
        self.assertEqual(select.select([process], [], [], 0)[0], [process])
        self.assertEqual(self.answer("stop", "--json"), "{}\n")

    def listens(self):
        import socket
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(self.socket) == 0

    def agent_pid(self):
        """From the kernel: who listens at the socket."""
        import socket
        import struct
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.socket)
            return struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]

    def test_an_unsafe_directory_is_told(self):
        os.makedirs(os.path.dirname(self.socket))
        os.chmod(os.path.dirname(self.socket), 0o777)
        self.assertIn("exit 73", self.refused(3, "status"))

    def test_a_state_directory_that_is_held_is_told(self):
        self.instance()
        elsewhere = {"LANYARD_SOCKET": os.path.join(self.runtime, "other", "agent.sock")}
        told = self.refused(3, "status", environment=elsewhere)
        self.assertIn("Another agent holds this state directory", told)
        self.assertIn(f"listens at {self.socket}.", told)
        self.answer("status", environment={"LANYARD_SOCKET": self.socket})


class RealProvider(RealPerson):
    """A person with a provider on this machine."""

    def setUp(self):
        super().setUp()
        self.provider = subprocess.Popen(
            [os.path.join(self.install, "lanyard-demo"), "provider"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True)
        self.addCleanup(self.provider.stdout.close)
        self.addCleanup(self.provider.wait)
        self.addCleanup(self.provider.terminate)
        self.issuer = self.provider.stdout.readline().strip()

    def post(self, path, /, **body):
        request = urllib.request.Request(
            self.issuer + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.read()

    def add_provider(self):
        self.answer("provider", "add", "idp", "--issuer", self.issuer, "--client-id", "lanyard-demo", "-s", "openid",
                    "-s", "offline_access")

    def page(self, process):
        """The address that a sign-in shows on stderr."""
        for line in process.stderr:
            if found := re.search(r"https?://\S+", line):
                return found[0]
        self.fail("no address was shown")

    def sign_in(self, user, *words):
        process = self.start("login", "idp", *words)
        address = self.page(process)
        if "login_hint=" not in address:
            address += f"&login_hint={user}"
        self.post("/practice/options", autoApprove=user)
        with urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as page:
            page.read()
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, 0, err)
        return out


class JourneyTests(RealProvider):
    """From nothing to a token and back."""

    def test_sign_in_tokens_status_and_switch(self):
        self.assertIn("There is no account yet", self.lanyard("list").stderr)
        self.assertIn("lanyard provider add", self.refused(2, "login"))
        self.add_provider()
        self.assertEqual(self.answer("provider", "list").splitlines()[1].split()[:2], ["idp", self.issuer])
        self.assertIn("account work", self.sign_in("alice", "--alias", "work"))
        self.assertIn("account home", self.sign_in("bob", "--alias", "home"))

        self.assertEqual(len(self.answer("list").splitlines()), 3)
        first = self.answer("token", "work")
        self.assertEqual(self.answer("token", "work"), first)
        self.assertNotEqual(self.answer("token", "home"), first)
        self.assertNotEqual(self.answer("token", "work", "-f"), first)
        self.assertEqual(json.loads(self.answer("token", "work", "--json"))["tokenType"], "Bearer")

        before = self.status()["account"]["alias"]
        self.answer("switch")
        self.assertNotEqual(self.status()["account"]["alias"], before)
        self.answer("switch", "work")
        with open(os.path.join(self.work, ".lanyard"), "w") as file:
            file.write("account = home\n")
        self.assertEqual(self.status()["account"]["alias"], "home")
        self.assertRegex(self.answer("status", "-u", "work"), "Session +active\nToken +fresh, expires in")

        self.assertIn("lanyard list", self.refused(1, "token", "nobody"))
        self.post("/practice/revoke", user="alice")
        told = self.refused(4, "token", "work", "-f")
        self.assertIn("lanyard login --account", told)
        self.assertIn("account work", self.sign_in("alice", "--account", "work"))
        self.answer("token", "work")

    def test_every_preset(self):
        """The person names the server and the client; where a customer has an issuer of their own, that too."""
        self.assertIn("github", self.answer("provider", "add", "--preset", "github", "--client-id", "app"))
        for preset in ("auth0", "entra", "gitlab", "google", "keycloak", "okta"):
            with self.subTest(preset):
                if preset not in ("gitlab", "google"):
                    told = self.refused(2, "provider", "add", "--preset", preset, "--client-id", "app")
                    self.assertIn("issuer", told)
                self.answer("provider", "add", "--preset", preset, "--issuer", self.issuer, "--client-id", "lanyard-demo")
                provider = json.loads(self.answer("provider", "show", preset, "--json"))["provider"]
                self.assertEqual((provider["preset"], provider["issuer"]), (preset, self.issuer))
        self.assertIn("preset", self.refused(2, "provider", "add", "x", "--preset", "no-such", "--client-id", "app"))

    def test_a_provider_is_found_from_any_of_its_urls(self):
        page = self.issuer + "/some/page?tab=1#top"
        told = self.refused(2, "provider", "add", page)
        self.assertIn("The option --client-id is missing.", told)
        self.answer("provider", "add", "idp", page, "--client-id", "lanyard-demo",
                    "--authorization-parameter", "audience=https://api.example")
        provider = json.loads(self.answer("provider", "show", "idp", "--json"))["provider"]
        self.assertEqual((provider["issuer"], provider["authorizationParameters"]),
                         (self.issuer, {"audience": "https://api.example"}))
        self.assertIn("account work", self.sign_in("alice", "--alias", "work"))
        screen = self.on_terminal(
            "provider", "add", self.issuer + "/.well-known/openid-configuration",
            answers=[("It offers sign-in by browser", ""), ("Name [", "second\n"), ("Client id: ", "lanyard-demo\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertIn(f"Added second, {self.issuer}.", screen.text)
        for line in screen.text.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_tokens_survive_the_agent(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.answer("rpc", "agent.shutdown")
        self.assertTrue(self.answer("token", "work").strip())

    def test_an_interrupted_sign_in_leaves_nothing_behind(self):
        self.add_provider()
        process = self.start("login", "idp")
        self.page(process)
        process.stderr.readline()
        while "Waiting" not in process.stderr.readline():
            pass
        interrupt(process)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(self.answer("list", "--json"))["accounts"], [])

    def test_a_provider_that_is_down_is_exit_5(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.provider.terminate()
        self.provider.wait()
        self.assertEqual(self.lanyard("token", "work", "-f").returncode, 5)
        self.assertTrue(self.answer("token", "work"))

    def test_events_tell_what_happens(self):
        self.add_provider()
        process = self.start("events", "--json", "--type", "account.added")
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        told = []
        reader = threading.Thread(target=lambda: told.append(json.loads(process.stdout.readline())))
        reader.start()
        while json.loads(self.answer("rpc", "agent.status"))["connections"] < 2:
            pass
        self.sign_in("alice", "--alias", "work")
        reader.join(PATIENCE_SECONDS)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_SECONDS)
        self.assertEqual(told[0]["type"], "account.added")

    def test_a_locked_vault_is_exit_8(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.assertEqual(self.answer("lock"), "The vault is locked.\n")
        self.assertIn("lanyard unlock", self.refused(8, "token", "work"))
        self.assertRegex(self.answer("status"), "Vault +locked")
        self.assertEqual(self.answer("unlock"), "The vault is unlocked.\n")
        self.answer("token", "work")

    def test_a_named_account_is_answered_before_swift_starts(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        faults = {}
        for words, account in ((("token", "work"), None), (("token",), "work")):
            process = self.start(*words, environment={"LANYARD_ACCOUNT": account})
            out = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            process.communicate(timeout=PATIENCE_SECONDS)
            self.assertEqual((process.returncode, len(out.split())), (0, 1))
            faults[words] = usage.ru_minflt
        # Swift's runtime, the types that it makes and the code that follows take a hundred pages more.
        self.assertLess(faults["token", "work"], 0.75 * faults["token",], faults)

    def test_signing_out(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.assertIn("sealed until", self.answer("logout", "--yes"))
        self.assertIn("lanyard login", self.refused(4, "token", "work"))
        self.assertIn("lanyard login --account work", self.answer("status", "-u", "work"))
        self.sign_in("alice")
        self.answer("token", "work")
        self.assertEqual(json.loads(self.answer("logout", "work", "--hard", "--json"))["data"], "erased")

    def test_an_offline_sign_out_is_revoked_later(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.assertRegex(self.answer("logout", "work", "--offline"), "The revocation is queued. The agent sends it in [3-6] h,")
        [waiting] = json.loads(self.answer("revocations", "--json"))["revocations"]
        self.assertRegex(
            self.answer("revocations"),
            f"^{waiting['id']}  work at {self.issuer}\n  not tried yet, sent in [3-6] h or when the network changes, given up in 30 days\n$")
        self.assertRegex(self.answer("status"), "Revocations +1 waiting")
        self.assertEqual(json.loads(self.answer("revocations", "send", "--json"))["revocations"], [])
        self.assertIn("No revocation waits", self.lanyard("revocations").stderr)

    def test_an_abandoned_revocation_is_erased(self):
        self.add_provider()
        self.sign_in("alice", "--alias", "work")
        self.answer("logout", "work", "--offline")
        [waiting] = json.loads(self.answer("revocations", "list", "--json"))["revocations"]
        self.assertIn("erased here", self.answer("revocations", "abandon", waiting["id"]))
        self.refused(1, "revocations", "abandon", waiting["id"])
