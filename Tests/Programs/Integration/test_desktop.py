"""What the desktop of a person shows: the prompt of a shell, notifications, hooks, the browser of an account."""

import json
import os
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time

from agent_fixture import PATIENCE_SECONDS, LanyardError, import_account
from message_bus import SIGNAL, Session
from test_credentials import LANYARD, Credentials

NAME, PATH = "org.freedesktop.Notifications", "/org/freedesktop/Notifications"


class Desktop(Credentials):
    def end_session(self, account="work"):
        self.idp.fault("answer", status=400, json={"error": "invalid_grant"})
        self.refused(2004, lambda: self.caller.call("token.refresh", {"account": account}))

    def sign_in_again(self, person="alice"):
        import_account(self.caller, self.idp, person)


class Prompt(Desktop):
    def prompt(self, *words, **environment):
        ran = self.lanyard("prompt", *words, **environment)
        self.assertEqual(ran.stderr, "")
        return ran.stdout

    def test_one_word_for_each_state(self):
        self.assertEqual(self.prompt(), "work\n")
        self.assertEqual(self.prompt("home"), "home\n")
        self.assertEqual(self.prompt(LANYARD_ACCOUNT="home"), "home\n")
        self.assertEqual(self.prompt("-u", "nobody"), "nobody?\n")
        self.end_session()
        self.assertEqual(self.prompt(), "work!\n")
        self.assertEqual(
            json.loads(self.prompt("--json")), {"label": "work", "state": "reauthenticationRequired", "sign": "!"})
        self.caller.call("account.signOut", {"account": "home", "mode": "soft"})
        self.assertEqual(self.prompt("home"), "homex\n")
        self.caller.call("agent.lock")
        self.assertIn(self.prompt(), ("locked?\n",))

    def test_a_directory(self):
        file = os.path.join(self.place, ".lanyard")
        with open(file, "w", encoding="utf-8") as out:
            out.write("home\n")
        os.chmod(file, 0o600)
        self.assertEqual(self.prompt(), ".lanyard?\n")
        self.lanyard("trust")
        self.assertEqual(self.prompt(), "home\n")
        os.unlink(file)
        os.symlink("nowhere", file)
        self.assertEqual(self.prompt(), ".lanyard?\n")
        self.assertEqual(self.prompt("home"), "home\n")

    def test_no_agent_no_word(self):
        self.agent.kill()
        self.assertEqual(self.prompt(), "")
        self.assertEqual(self.lanyard("prompt", "--nonsense", status=2).stdout, "")

    def test_an_agent_that_hangs_delays_no_prompt_for_long(self):
        os.kill(self.agent.pid, signal.SIGSTOP)
        try:
            started = time.monotonic()
            self.assertEqual(self.prompt(), "")
            self.assertLess(time.monotonic() - started, 5)
        finally:
            os.kill(self.agent.pid, signal.SIGCONT)


class Hook(Desktop):
    def test_each_event_is_the_input_of_the_command(self):
        told = os.path.join(self.place, "told")
        command = f'cat >> "{told}"; echo "$LANYARD_EVENT"; exit 3'
        process = subprocess.Popen(
            [LANYARD, "events", "--type", "token.refreshed", "--exec", command], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=self.environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        # The first events may come before the subscription stands.
        end = time.monotonic() + PATIENCE_SECONDS
        while not select.select([process.stdout], [], [], 0.2)[0]:
            self.assertLess(time.monotonic(), end)
            self.caller.call("token.refresh", {"account": "work"})
        self.assertEqual(process.stdout.readline(), "token.refreshed\n")
        self.assertIn("ended with 3 for token.refreshed", process.stderr.readline())
        with open(told, encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        self.assertEqual({event["type"] for event in events}, {"token.refreshed"})
        self.assertEqual({event["account"] for event in events}, {self.alice})
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(PATIENCE_SECONDS), 130)
        process.stdout.close()
        process.stderr.close()

    def hook(self, command):
        process = subprocess.Popen(
            [LANYARD, "events", "--type", "token.refreshed", "--exec", command], stdout=subprocess.PIPE, text=True,
            env=self.environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        end = time.monotonic() + PATIENCE_SECONDS
        while not select.select([process.stdout], [], [], 0.2)[0]:
            self.assertLess(time.monotonic(), end)
            self.caller.call("token.refresh", {"account": "work"})
        return process

    def test_a_command_that_floods_or_leaves_a_program_behind_stops_no_later_event(self):
        for command in ("echo begun; head -c 9000000 /dev/zero >&2", "sleep 60 & echo begun"):
            process = self.hook(command)
            for _ in range(2):
                self.assertEqual(process.stdout.readline(), "begun\n")
                self.caller.call("token.refresh", {"account": "work"})
            process.terminate()
            self.assertEqual(process.wait(PATIENCE_SECONDS), 130)

    def test_a_signal_ends_the_command_that_runs(self):
        begun = os.path.join(self.place, "begun")
        process = subprocess.Popen(
            [LANYARD, "events", "--type", "token.refreshed", "--exec", f'touch "{begun}"; exec sleep 60'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment())
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        end = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(begun):
            self.assertLess(time.monotonic(), end)
            self.caller.call("token.refresh", {"account": "work"})
            time.sleep(0.1)
        process.terminate()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 130)


class Notifications(Desktop):
    """`lanyard notify`, with a real bus and a notification service of the test."""

    def setUp(self):
        super().setUp()
        self.session = Session()
        self.addCleanup(self.session.close)
        self.service = self.session.connect()
        self.service.bus("RequestName", "su", NAME, 0)
        self.shown = queue.Queue()
        self.closed = queue.Queue()
        self.number = 0
        self.capabilities = ["actions", "body"]
        threading.Thread(target=self.service.serve, args=(self.answer,), daemon=True).start()

    def answer(self, message):
        if message.fields["member"] == "Notify":
            self.number += 1
            self.shown.put((self.number, *message.body))
            return "u", (self.number,)
        if message.fields["member"] == "GetCapabilities":
            return "as", (self.capabilities,)
        self.closed.put(message.body[0])
        return "", ()

    def start(self, *words, **environment):
        process = subprocess.Popen(
            [LANYARD, "notify", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment(DBUS_SESSION_BUS_ADDRESS=self.session.address, **environment))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_an_account_that_needs_its_person_is_told_of_once(self):
        self.end_session()
        process = self.start()
        number, application, _, _, title, text, actions, _, _ = self.shown.get(timeout=PATIENCE_SECONDS)
        self.assertEqual((application, title), ("Lanyard", "work: sign in again"))
        self.assertIn("Programs get no tokens until you sign in again.", text)
        self.assertEqual(actions, ["default", "Sign in", "sign-in", "Sign in"])
        # Other events tell nothing new.
        for _ in range(3):
            self.caller.call("token.refresh", {"account": "home"})
        self.end_session("home")
        self.assertEqual(self.shown.get(timeout=PATIENCE_SECONDS)[4], "home: sign in again")
        self.assertTrue(self.shown.empty())
        # What is over is taken back, and told of again when it returns.
        self.sign_in_again()
        self.assertEqual(self.closed.get(timeout=PATIENCE_SECONDS), number)
        self.end_session()
        self.assertEqual(self.shown.get(timeout=PATIENCE_SECONDS)[4], "work: sign in again")
        self.agent.kill()
        self.assertEqual(process.wait(PATIENCE_SECONDS), 3)

    def test_the_action_begins_the_sign_in(self):
        self.end_session()
        opened = os.path.join(self.place, "opened")
        browser = os.path.join(self.place, "browser")
        with open(browser, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$1" > "{opened}.new"; mv "{opened}.new" "{opened}"\n')
        os.chmod(browser, 0o700)
        self.start(BROWSER=browser)
        number = self.shown.get(timeout=PATIENCE_SECONDS)[0]
        # Another program on the bus can't act for the desktop.
        stranger = self.session.connect()
        for name in [None, *(f":1.{count}" for count in range(10))]:
            to = {"destination": name} if name else {}
            stranger.send(SIGNAL, "us", (number, "sign-in"), path=PATH, interface=NAME, member="ActionInvoked", **to)
        self.service.send(SIGNAL, "us", (number, "other"), path=PATH, interface=NAME, member="ActionInvoked")
        self.service.send(SIGNAL, "us", (number + 7, "sign-in"), path=PATH, interface=NAME, member="ActionInvoked")
        self.caller.call("token.refresh", {"account": "home"})
        time.sleep(0.5)
        self.assertFalse(os.path.exists(opened))
        self.service.send(SIGNAL, "us", (number, "sign-in"), path=PATH, interface=NAME, member="ActionInvoked")
        end = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(opened):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        with open(opened, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"^http://(127\.0\.0\.1|localhost):\d+/")

    def test_a_program_that_asks_for_a_sign_in_is_told_of(self):
        self.end_session()
        self.start()
        self.shown.get(timeout=PATIENCE_SECONDS)
        provider = self.caller.call("account.get", {"account": "work"})["provider"]
        begun = self.caller.call("signIn.begin", {"provider": provider, "flow": "browser", "announce": True})["signIn"]
        number, _, _, _, title, text, actions, _, _ = self.shown.get(timeout=PATIENCE_SECONDS)
        self.assertTrue(title.endswith(" asks you to sign in"), title)
        self.assertIn(f"At {provider}.", text)
        self.assertNotIn("http", text)
        self.assertEqual(actions, [])
        # Another one at the same provider takes its place, and what is over is taken back.
        second = self.caller.call("signIn.begin", {"provider": provider, "flow": "browser", "announce": True})["signIn"]
        self.assertEqual(self.closed.get(timeout=PATIENCE_SECONDS), number)
        number = self.shown.get(timeout=PATIENCE_SECONDS)[0]
        for sign_in in (begun, second):
            self.caller.call("signIn.cancel", {"signIn": sign_in})
        self.caller.call("token.refresh", {"account": "home"})
        self.assertEqual(self.closed.get(timeout=PATIENCE_SECONDS), number)
        self.assertTrue(self.shown.empty())

    # What needs a person's yes

    def approve(self, **more):
        """Requests of the AI agent's grant to one path need a yes; returns the grant."""
        self.caller.call("provider.update", {
            "provider": self.caller.call("account.get", {"account": "work"})["provider"],
            "allowedOrigins": ["https://api.example", "https://other.example"]})
        self.caller.call("policy.set", {"name": "default", "policy": {"name": "default", "version": 1, "capabilities": {
            "ticket.comment": {"kind": "write", "offlineWindowSeconds": 3600, "approve": {"waitSeconds": 20}, **more,
                               "requests": [{"origin": "https://api.example", "methods": ["POST"], "path": "/tickets/*"}]}}}})
        return self.caller.call("grant.create", {
            "client": "claude", "accounts": ["work"], "methods": ["request.authorize"], "agent": True})

    def ask(self, path="/tickets/17"):
        """A program that waits for a yes; what came of it is in the queue."""
        told = queue.Queue()

        def run():
            with self.agent.client() as client:
                try:
                    told.put(client.call("request.authorize", {
                        "account": "work", "method": "POST", "url": "https://api.example" + path, "grant": "claude"}))
                except LanyardError as error:
                    told.put(error)
        threading.Thread(target=run, daemon=True).start()
        return told

    def press(self, number, action, sender=None, **to):
        (sender or self.service).send(
            SIGNAL, "us", (number, action), path=PATH, interface=NAME, member="ActionInvoked", **to)

    def test_a_request_that_waits_gets_buttons_and_a_yes_sends_it(self):
        self.approve()
        self.start()
        told = self.ask("/tickets/17?note=hidden")
        number, _, _, _, title, text, actions, _, _ = self.shown.get(timeout=PATIENCE_SECONDS)
        self.assertEqual(title, "claude asks for your yes")
        self.assertIn("POST https://api.example/tickets/17?note as work (ticket.comment)", text)
        self.assertNotIn("hidden", text)
        # No click on the notification itself says yes.
        self.assertEqual(actions, ["allow", "Allow once", "deny", "Deny"])
        stranger = self.session.connect()
        self.press(number, "allow", stranger)
        self.press(number, "default")
        self.press(number + 7, "allow")
        self.caller.call("token.refresh", {"account": "home"})
        time.sleep(0.5)
        self.assertTrue(told.empty())
        self.press(number, "allow")
        self.assertIn("accessToken", told.get(timeout=PATIENCE_SECONDS))
        self.assertEqual(self.closed.get(timeout=PATIENCE_SECONDS), number)

    def test_the_other_button_says_no(self):
        self.approve()
        self.start()
        told = self.ask()
        self.press(self.shown.get(timeout=PATIENCE_SECONDS)[0], "deny")
        self.assertEqual(told.get(timeout=PATIENCE_SECONDS).data["reason"], "declined")

    def test_what_is_decided_elsewhere_is_taken_back(self):
        self.approve()
        self.start()
        told = self.ask()
        number = self.shown.get(timeout=PATIENCE_SECONDS)[0]
        [found] = self.caller.call("approval.list")["approvals"]
        self.caller.call("approval.decide", {"approval": found["approval"], "verdict": "once"})
        self.assertEqual(self.closed.get(timeout=PATIENCE_SECONDS), number)
        self.assertIn("accessToken", told.get(timeout=PATIENCE_SECONDS))
        # A late click finds nothing.
        self.press(number, "deny")
        self.ask("/tickets/18")
        self.assertIn("/tickets/18", self.shown.get(timeout=PATIENCE_SECONDS)[5])

    def test_a_service_without_buttons_shows_the_commands(self):
        self.capabilities = ["body"]
        self.approve()
        self.start()
        told = self.ask()
        _, _, _, _, _, text, actions, _, _ = self.shown.get(timeout=PATIENCE_SECONDS)
        self.assertEqual(actions, [])
        [command] = re.findall("`lanyard (approvals allow [^`]+)`", text)
        self.lanyard(*command.split())
        self.assertIn("accessToken", told.get(timeout=PATIENCE_SECONDS))

    def test_a_wish_for_more_access(self):
        created = self.approve()
        self.start()
        with self.agent.client(grant=created["secret"]) as client:
            wish = {"origins": ["https://other.example"], "methods": ["POST"], "reason": "To see <b>all</b>."}
            self.assertEqual(client.call("access.request", wish)["status"], "waiting")
            number, _, _, _, title, text, actions, _, _ = self.shown.get(timeout=PATIENCE_SECONDS)
            self.assertEqual((title, actions), ("claude asks for more access", ["allow", "Allow for an hour", "deny", "Deny"]))
            self.assertIn("https://other.example with POST; it says: “To see &lt;b&gt;all&lt;/b&gt;.”", text)
            self.press(number, "allow")
            self.assertEqual(self.closed.get(timeout=PATIENCE_SECONDS), number)
            self.assertEqual(client.call("access.request", wish)["status"], "allowed")

    def test_a_flood_of_requests_does_not_bury_the_desktop(self):
        self.approve()
        self.start()
        for number in range(12):
            self.ask(f"/tickets/{number}")
        shown = [self.shown.get(timeout=PATIENCE_SECONDS)[0] for _ in range(8)]
        time.sleep(0.5)
        self.assertTrue(self.shown.empty())
        self.press(shown[0], "deny")
        self.shown.get(timeout=PATIENCE_SECONDS)

    def test_without_a_desktop(self):
        ran = self.lanyard("notify", "--once", status=1)
        self.assertIn("lanyard events --exec", ran.stderr)


class SystemdUnits(Desktop):
    """`lanyard credential systemd`, started for a connection as by `lanyard-credential.socket`."""

    def served(self, address, status=0):
        path = os.path.join(self.place, "credential.sock")
        if os.path.exists(path):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as unit:
            listener.bind(path)
            listener.listen()
            if address is not None:
                unit.bind(b"\0" + os.urandom(8).hex().encode() + address)
            unit.connect(path)
            connection, _ = listener.accept()
            with connection:
                ran = subprocess.run(
                    [LANYARD, "credential", "systemd"], stdin=connection, stdout=connection, stderr=subprocess.PIPE, text=True,
                    env=self.environment(), timeout=PATIENCE_SECONDS)
            self.assertEqual(ran.returncode, status, ran.stderr)
            return unit.recv(65536), ran.stderr

    def test_a_unit_gets_the_raw_token_of_its_account(self):
        told = self.lanyard("account", "set", "work", "--unit", "backup.service", "--unit", "sync@home.service")
        self.assertIn("backup.service gets its token", told.stdout)
        for unit in ("backup.service", "sync@home.service"):
            self.assertEqual(self.served(f"/unit/{unit}/token".encode()), (self.token().encode(), ""))
        self.assertEqual(
            json.loads(self.lanyard("account", "show", "work", "--json").stdout)["units"],
            ["backup.service", "sync@home.service"])

    def test_no_other_unit_and_no_other_program_gets_one(self):
        self.lanyard("account", "set", "work", "--unit", "backup.service")
        sent, error = self.served(b"/unit/other.service/token", status=1)
        self.assertEqual(sent, b"")
        command = re.search("`lanyard (account set ACCOUNT --unit other.service)`", error)[1]
        self.lanyard(*command.replace("ACCOUNT", "home").split())
        self.assertEqual(self.served(b"/unit/other.service/token")[0], self.token("home").encode())
        for address in (None, b"/unit/backup.service", b"/unit/backup.service/token/more", b"/other/backup.service/token"):
            self.assertEqual(self.served(address, status=2)[0], b"")
        self.lanyard("credential", "systemd", status=2)
        # A unit has one account; empty takes all units away.
        self.lanyard("account", "set", "home", "--unit", "backup.service")
        self.assertEqual(self.served(b"/unit/backup.service/token")[0], self.token("home").encode())
        self.lanyard("account", "set", "home", "--unit", "")
        self.assertEqual(self.served(b"/unit/backup.service/token", status=1)[0], b"")

    def test_a_container_that_sees_the_socket_gets_nothing(self):
        self.lanyard("account", "set", "work", "--unit", "backup.service")
        path = os.path.join(self.place, "credential.sock")
        script = (
            "import socket, sys\nunit = socket.socket(socket.AF_UNIX)\n"
            "unit.bind(b'\\0x/unit/backup.service/token')\nunit.connect(sys.argv[1])\n"
            "sys.stdout.buffer.write(unit.recv(65536))")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            inside = subprocess.Popen(
                ["unshare", "-Urn", sys.executable, "-c", script, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(inside.communicate)
            listener.settimeout(PATIENCE_SECONDS)
            connection, _ = listener.accept()
            with connection:
                ran = subprocess.run(
                    [LANYARD, "credential", "systemd"], stdin=connection, stdout=connection, stderr=subprocess.PIPE,
                    env=self.environment(), timeout=PATIENCE_SECONDS)
            self.assertEqual(ran.returncode, 2)
            self.assertEqual(inside.communicate(timeout=PATIENCE_SECONDS)[0], b"")

    def test_a_signed_out_account_is_told_in_the_journal(self):
        self.lanyard("account", "set", "work", "--unit", "backup.service")
        self.caller.call("account.signOut", {"account": "work", "mode": "soft"})
        sent, error = self.served(b"/unit/backup.service/token", status=4)
        self.assertEqual(sent, b"")
        self.assertIn("lanyard login", error)


class AccountBrowser(Desktop):
    def test_a_sign_in_opens_the_browser_of_the_account(self):
        opened = os.path.join(self.place, "opened")
        browser = os.path.join(self.place, "browser")
        with open(browser, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$@" > "{opened}.new"; mv "{opened}.new" "{opened}"\n')
        os.chmod(browser, 0o700)
        told = self.lanyard("account", "set", "work", "--browser", f"{browser} -P work")
        self.assertIn(f"work signs in with the browser `{browser} -P work`", told.stdout)
        self.assertEqual(
            json.loads(self.lanyard("account", "show", "work", "--json").stdout),
            {"account": self.alice, "browser": f"{browser} -P work"})
        self.assertIn("usual browser", self.lanyard("account", "show", "home").stdout)
        process = subprocess.Popen(
            [LANYARD, "login", "-u", "work", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment(BROWSER="/bin/false"))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        end = time.monotonic() + PATIENCE_SECONDS
        while not os.path.exists(opened):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        with open(opened, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"^-P work http://(127\.0\.0\.1|localhost):\d+/")
        self.lanyard("account", "set", "work", "--browser", "no-such-browser", status=2)
        self.assertIn("usual browser", self.lanyard("account", "set", "work", "--browser", "").stdout)
