"""The page of `lanyard ui` from its start to its end: the command, sign-in, an agent that goes and comes, the live stream, what it
costs, and what its process may do and holds."""

import contextlib
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import unittest
import urllib.parse

from web_fixture import HERE, LANYARD, PAGES, PATIENCE_SECONDS, WEB, WebFixture

from agent_fixture import ROOT, answer_of_provider
from measure import resident_kb, status, wake_ups
from test_canary import MARK, Search, canary

MOST_RESIDENT_KB = 12 * 1024


class Command(WebFixture):
    def test_lanyard_ui(self):
        page = self.page(command=[LANYARD, "ui"]).open()
        self.assertIn("alice", page.get("/accounts").text)
        self.assertEqual(page.get("/").header("Location"), "/accounts")

    def test_ctrl_c_ends_it(self):
        page = self.page().open()
        page.process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended(page)[0], 130)

    def test_a_port(self):
        free = self.page()
        free.process.terminate()
        self.ended(free)
        self.assertEqual(self.page("--port", str(free.port)).port, free.port)

    def test_a_port_that_is_taken(self):
        page = self.page()
        done = subprocess.run(
            [WEB, "--no-browser", "--port", str(page.port)], capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"port {page.port} is in use", done.stderr)
        self.assertIn("`lanyard ui` without --port", done.stderr)

    def test_a_grant_is_not_the_person(self):
        done = subprocess.run(
            [WEB, "--no-browser"], capture_output=True, text=True,
            env={**self.environment, "LANYARD_GRANT_FILE": "/nonexistent"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("the page is for the person", done.stderr)

    def test_the_browser_gets_the_address(self):
        place = os.path.join(self.directory(), "browser")
        with open(place, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nprintf %s "$1" > {place}.told.new && mv {place}.told.new {place}.told\n')
        os.chmod(place, stat.S_IRWXU)
        process = subprocess.Popen(
            [LANYARD, "ui", "--json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**self.environment, "BROWSER": place})
        self.addCleanup(self._end, process)
        announced = json.loads(process.stdout.readline())
        self.until(lambda: os.path.exists(f"{place}.told"), "the browser was started")
        with open(f"{place}.told", encoding="utf-8") as file:
            self.assertEqual(file.read(), announced["url"])

    def test_it_starts_an_agent(self):
        self.agent.end()
        page = self.page().open()
        try:
            self.assertEqual(page.get("/accounts").status, 200)
        finally:
            subprocess.run([LANYARD, "stop"], env=self.environment, check=True, capture_output=True)

    def test_no_start(self):
        self.agent.end()
        done = subprocess.run([WEB, "--no-browser", "--no-start"], capture_output=True, text=True, env=self.environment)
        self.assertEqual(done.returncode, 3)


class Idle(WebFixture):
    def test_it_ends_when_nobody_uses_it(self):
        page = self.page("--idle-seconds", "2").open()
        began = time.monotonic()
        status, said = self.ended(page)
        self.assertEqual(status, 0)
        self.assertIn("`lanyard ui`", said)
        self.assertGreater(time.monotonic() - began, 1.5)

    def test_a_person_keeps_it(self):
        page = self.page("--idle-seconds", "4").open()
        for _ in range(6):
            time.sleep(1)
            self.assertEqual(page.get("/accounts").status, 200)

    def test_an_open_page_by_itself_does_not(self):
        page = self.page("--idle-seconds", "4").open()
        live = page.live("accounts")
        self.addCleanup(live.close)
        for _ in range(3):
            time.sleep(0.5)
            page.get("/accounts", Sec_Fetch_Dest="empty", Sec_Fetch_Site="same-origin")
        self.assertTrue(live.has_ended())
        self.assertEqual(self.ended(page)[0], 0)


class SigningIn(WebFixture):
    def test_the_browser_is_led_to_the_provider_and_the_account_appears(self):
        page = self.page().open()
        live = page.live("accounts")
        self.addCleanup(live.close)
        answer = page.post("/do/sign-in", {"token": page.form_token(), "provider": "practice", "alias": "bobby"})
        self.assertEqual(answer.status, 200, answer.text)
        address = (answer.header("Refresh") or "").partition("; url=")[2]
        self.assertTrue(address.startswith(self.idp.issuer), address)
        self.assertIn(address.replace("&", "&amp;"), answer.text)
        self.assertNotIn("bobby", page.get("/accounts").text)
        before = live.messages
        back = answer_of_provider(address, "bob")
        told = subprocess.run(["curl", "--silent", "--noproxy", "*", back], capture_output=True, text=True).stdout
        self.assertIn("signed in", told.lower())
        live.wait_for(before + 1)
        self.until(lambda: "bobby" in page.get("/accounts").text, "the account is on the page")

    def test_an_unknown_provider_is_told(self):
        page = self.page().open()
        answer = page.post("/do/sign-in", {"token": page.form_token(), "provider": "nowhere"})
        self.assertEqual(answer.status, 303)
        self.assertRegex(answer.header("Location"), r"^/accounts\?done=\d+$")
        self.assertIn("There is no provider of this name", page.get(answer.header("Location")).text)


class Agents(WebFixture):
    """The agent goes, locks, and comes back."""

    def test_an_agent_that_is_gone(self):
        page = self.page().open()
        live = page.live("accounts")
        self.addCleanup(live.close)
        live.wait_for(1)
        self.agent.end()
        live.wait_for(2)
        for name in PAGES:
            with self.subTest(name):
                answer = page.get(f"/{name}")
                self.assertEqual(answer.status, 200)
                self.assertIn("lanyard status", answer.text)
                self.assertNotIn("alice", answer.text)
        before = live.messages
        self.agent.start()
        live.wait_for(before + 1)
        self.until(lambda: "alice" in page.get("/accounts").text, "the account is on the page again")

    def test_an_agent_that_hangs_holds_nothing_else_up(self):
        page = self.page().open()
        os.kill(self.agent.pid, signal.SIGSTOP)
        try:
            with page.begin("/accounts"):
                # What loads nothing of the agent works, and the end waits for nobody.
                self.assertEqual(page.get("/style.css").status, 200)
                began = time.monotonic()
                page.process.terminate()
                self.assertEqual(self.ended(page)[0], 0)
                self.assertLess(time.monotonic() - began, 2)
        finally:
            os.kill(self.agent.pid, signal.SIGCONT)

    def test_a_locked_vault(self):
        page = self.page().open()
        self.caller.call("agent.lock", {})
        for name in PAGES:
            with self.subTest(name):
                answer = page.get(f"/{name}")
                self.assertEqual(answer.status, 200)
                self.assertIn("locked", answer.text)

    def test_what_a_form_is_refused_is_told(self):
        page = self.page().open()
        answer = page.post("/do/revoke-grant", {"token": page.form_token(), "grant": "gr_nothing"})
        self.assertEqual(answer.status, 303)
        told = page.get(answer.header("Location"))
        self.assertEqual(told.status, 200)
        self.assertNotIn("is revoked", told.text)

    def test_an_unknown_action(self):
        page = self.page().open()
        self.assertEqual(page.post("/do/nothing", {"token": page.form_token()}).status, 404)


class LiveStream(WebFixture):
    def test_an_event_comes_within_a_second(self):
        page = self.page().open()
        live = page.live("accounts")
        self.addCleanup(live.close)
        live.wait_for(1)
        time.sleep(0.3)
        began = time.monotonic()
        self.caller.call("account.rename", {"account": "alice", "alias": "allie"})
        live.wait_for(2)
        self.assertLess(time.monotonic() - began, 1)
        self.assertIn("allie", page.get("/accounts").text)

    def test_many_events_are_few_messages(self):
        page = self.page().open()
        live = page.live("accounts")
        self.addCleanup(live.close)
        live.wait_for(1)
        time.sleep(0.3)
        began = time.monotonic()
        account = self.caller.call("account.get", {"account": "alice"})["id"]
        for number in range(100):
            self.caller.call("account.rename", {"account": account, "alias": f"alice-{number}"})
        seconds = time.monotonic() - began
        time.sleep(0.5)
        live.wait_for(2)
        self.assertLessEqual(live.messages, 3 + (seconds + 0.5) / 0.2)

    def test_it_needs_a_session_and_a_page(self):
        page = self.page()
        self.assertEqual(page.get("/live?page=accounts").status, 401)
        page.open()
        self.assertEqual(page.get("/live").status, 404)
        self.assertEqual(page.get("/live?page=nothing").status, 404)

    def test_closed_pages_leave_room(self):
        page = self.page().open()
        for _ in range(3):
            streams = [page.live("accounts") for _ in range(16)]
            self.assertEqual(page.get("/live?page=accounts").status, 503)
            for stream in streams:
                stream.close()
            self.until(lambda: self._opens(page), "a stream is free again")

    def _opens(self, page):
        live = page.live("accounts")
        try:
            return live.status == 200
        finally:
            live.close()

    def test_it_ends_with_the_program(self):
        page = self.page().open()
        live = page.live("accounts")
        self.addCleanup(live.close)
        page.process.terminate()
        self.assertTrue(live.has_ended())
        self.assertEqual(self.ended(page)[0], 0)


class Costs(WebFixture):
    def test_it_sleeps_and_is_small(self):
        page = self.page().open()
        for name in PAGES:
            self.assertEqual(page.get(f"/{name}").status, 200)
        live = page.live("accounts")
        self.addCleanup(live.close)
        live.wait_for(1)
        time.sleep(2)
        before = wake_ups(page.pid)
        time.sleep(5)
        woken = wake_ups(page.pid) - before
        print(f"lanyard-web idle with an open page: {resident_kb(page.pid)} KB, {woken} wake-ups in 5 s", file=sys.stderr)
        self.assertEqual(woken, 0)
        self.assertLess(resident_kb(page.pid), MOST_RESIDENT_KB)


class Confined(WebFixture):
    def test_its_process(self):
        page = self.page()
        told = status(f"/proc/{page.pid}/status")
        self.assertEqual(told["NoNewPrivs"], "1")
        self.assertEqual(told["Seccomp"], "2")
        # PR_SET_DUMPABLE 0: its files in /proc are root's.
        self.assertEqual(os.stat(f"/proc/{page.pid}/mem").st_uid, 0)

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the page's files in /proc")
    def test_it_loads_no_library_that_it_does_not_need(self):
        with open(f"/proc/{self.page().pid}/maps") as file:
            loaded = file.read()
        self.assertIn("/lanyard-web", loaded)
        self.assertNotRegex(loaded, r"libcurl|libssl|libcrypto|libsqlite")

    def test_all_threads_are_confined(self):
        page = self.page().open()
        live = page.live("accounts")
        self.addCleanup(live.close)
        for task in os.listdir(f"/proc/{page.pid}/task"):
            self.assertEqual(status(f"/proc/{page.pid}/task/{task}/status")["Seccomp"], "2", task)

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the page's files in /proc")
    def test_it_writes_no_file(self):
        page = self.page().open()
        page.get("/accounts")
        opened = []
        for number in os.listdir(f"/proc/{page.pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # A connection that has ended meanwhile.
                opened.append(os.readlink(f"/proc/{page.pid}/fd/{number}"))
        self.assertEqual([path for path in opened if path.startswith("/") and not path.startswith(("/dev/", "/proc/"))], [])


class Secrecy(WebFixture):
    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the memory")
    def test_no_token_is_in_its_memory(self):
        access = self.caller.call("token.get", {"account": "alice"})["accessToken"]
        grant = self.caller.call(
            "grant.create", {"client": "robot", "accounts": ["alice"], "methods": ["token.get"]})["secret"]
        pages = self.page().open()
        token = pages.form_token()
        for name in PAGES:
            self.assertEqual(pages.get(f"/{name}").status, 200)
        made = {"token": token, "client": "maker", "account.alice": "on", "can.status": "on"}
        self.assertEqual(pages.post("/do/create-grant", made).status, 303)
        pages.post("/do/check-account", {"token": token, "account": "alice"})
        refreshed = self.caller.call("token.refresh", {"account": "alice"})["accessToken"]
        for name in PAGES:
            text = pages.get(f"/{name}").text
            for secret in (access, refreshed, grant, pages.code):
                self.assertNotIn(secret, text)
        self.assertEqual(Search([access, refreshed, grant]).memory(pages.pid), [])

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the memory")
    def test_what_a_form_brought_does_not_stay(self):
        page = self.page().open()
        secret = canary("form")
        page.post("/do/nothing", {"token": page.form_token(), "secret": secret})
        page.post("/do/lock", {"token": "wrong", "passphrase": secret})
        self.assertEqual(Search([]).memory(page.pid), [])
        self.assertIn(MARK, secret)

    @unittest.skipIf(os.geteuid() != 0, "NOT TESTED: only root may read the memory")
    def test_a_key_that_is_typed_goes_to_the_agent_alone(self):
        self.caller.call("provider.add", {"name": "hosting", "kind": "secret", "allowedOrigins": [self.idp.issuer]})
        page, secret = self.page().open(), canary("typed") + " &=+%"
        typed = {"token": page.form_token(), "provider": "hosting", "secret": secret, "alias": "deploy", "expires": "2040-06-30"}
        answer = page.post("/do/add-key", typed)
        self.assertIn("The key is kept", page.get(answer.header("Location")).text)
        given = self.caller.call("token.get", {"account": "deploy"})
        self.assertEqual((given["accessToken"], given["expiresAt"]), (secret, "2040-06-30T00:00:00.000Z"))
        for name in PAGES:
            self.assertNotIn(MARK, page.get(f"/{name}").text)
        self.assertEqual(Search([]).memory(page.pid), [])
        # What the agent refuses is told, and nothing is kept.
        refused = page.post("/do/add-key", {**typed, "alias": "other", "secret": "\tnot\ta\tkey"})
        self.assertIn("secret", page.get(refused.header("Location")).text)
        self.assertEqual(len([account for account in self.caller.call("account.list", {})["accounts"] if account.get("kind") == "secret"]), 1)

    def test_the_log_and_the_output_have_no_code(self):
        page = self.page().open()
        page.get("/accounts")
        page.process.terminate()
        _, said = self.ended(page)
        self.assertNotIn(page.code, said)
        self.assertNotIn(page.cookie.partition("=")[2], said)
        self.assertNotIn(page.code, self.agent.log())


class AllowList(unittest.TestCase):
    """The list of methods, held against the contract. `PageGateTests` shows that nothing else is asked."""

    def setUp(self):
        with open(os.path.join(ROOT, "Sources", "Programs", "PageGate", "AllowedMethods.swift"), encoding="utf-8") as file:
            text = file.read()
        reads = text[text.index("reads: Set<String> = ["):]
        self.reads = re.findall(r'"(\w+\.\w+)"', reads[:reads.index("]")])
        changes = text[text.index("changes: [String: Set<String>] = ["):]
        self.changes = {
            name: re.findall(r'"(\w+)"', members)
            for name, members in re.findall(r'"(\w+\.\w+)": \[([^\]]*)\]', changes)}

    def result(self, method):
        with open(os.path.join(ROOT, "Schemas", "methods", f"{method}.json"), encoding="utf-8") as file:
            return json.load(file)["result"]

    def secrets(self, schema, path="", depth=0):
        """The places of a schema, and of what it refers to, that hold a secret."""
        found = []
        if isinstance(schema, dict):
            if schema.get("x-secret"):
                found.append(path)
            for key, value in schema.items():
                if key == "$ref" and depth < 8:
                    place = os.path.join(ROOT, "Schemas", "types", os.path.basename(value))
                    with open(place, encoding="utf-8") as file:
                        found += self.secrets(json.load(file), path, depth + 1)
                elif key != "$ref":
                    found += self.secrets(value, f"{path}/{key}", depth)
        elif isinstance(schema, list):
            for value in schema:
                found += self.secrets(value, path, depth)
        return found

    def test_what_is_read_has_no_secret(self):
        self.assertGreater(len(self.reads), 15)
        for method in self.reads:
            with self.subTest(method):
                self.assertEqual(self.secrets(self.result(method)), [])

    def test_what_is_kept_of_a_change_is_no_secret(self):
        self.assertGreater(len(self.changes), 10)
        for method, members in self.changes.items():
            for member in members:
                with self.subTest(f"{method} {member}"):
                    result = self.result(method)
                    while "$ref" in result:
                        place = os.path.join(ROOT, "Schemas", "types", os.path.basename(result["$ref"]))
                        with open(place, encoding="utf-8") as file:
                            result = json.load(file)
                    self.assertIn(member, result["properties"])
                    self.assertEqual(self.secrets(result["properties"][member]), [])

    def test_nothing_gives_tokens_secrets_or_claims(self):
        for method in [*self.reads, *self.changes]:
            self.assertNotRegex(
                method, r"^(token|secret|identity|credential|exec|request)\.|^snapshot\.get$|^agent\.(backup|restore|shutdown)$")

    def test_the_list_is_what_the_pages_and_forms_ask_for(self):
        """A page that asks for more would show a refusal for ever; what none asks for is no right of the program."""
        asked = set()
        for top, _, names in os.walk(os.path.join(ROOT, "Sources", "Programs", "WebPages")):
            for name in names:
                with open(os.path.join(top, name), encoding="utf-8") as file:
                    text = file.read()
                asked |= set(re.findall(r'AgentQuestion\(\s*(?:"[^"]*"|\w+),\s*"(\w+\.\w+)"', text))
                asked |= set(re.findall(r'simple\(\s*\.\w+,\s*"(\w+\.\w+)"', text))
        self.assertGreater(len(asked), 10)
        # The live feed follows the agent's events.
        self.assertEqual(asked | {"event.subscribe"}, set(self.reads) | set(self.changes))


if __name__ == "__main__":
    unittest.main()
