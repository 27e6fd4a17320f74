"""The seven pages in a real browser: what they show, that they change by themselves, the keyboard, narrow and wide windows, both
schemes, names that are hostile, thousands of rows, and no script at all."""

import glob
import os
import re
import socket
import subprocess
import threading
import time
import unittest

from browser import SCHEMES, WIDTHS, Browser, lynx
from busy import Api, add_key, grant, in_days, set_policy, under_grant
from web_fixture import LANYARD, PAGES, WebFixture

from agent_fixture import ROOT, import_account, request

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


class PageFixture(WebFixture):
    """A browser that has opened the page of Alice's agent."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.browser.scripts(True)
        self.browser.resize(1280)
        self.browser.scheme("light")
        self.api = Api()
        self.addCleanup(self.api.close)
        self.served = self.page()
        self.browser.go(self.served.url)
        self.browser.until(lambda: self.browser.path == "/accounts", "the opening page leads on")
        self.addCleanup(lambda: self.assertEqual(self.browser.errors(), []))

    def tearDown(self):
        self.browser.go("about:blank")
        super().tearDown()

    def go(self, path):
        self.browser.go(self.served.address + path)

    @property
    def text(self):
        return self.browser.text()

    @property
    def cookie(self):
        return "; ".join(f"{each['name']}={each['value']}" for each in self.browser.driver.get_cookies())

    def busy(self):
        """Something on every page."""
        set_policy(self.caller, self.api.origin)
        add_key(self.caller, "hosting", self.api.origin, expiresAt=in_days(2))
        made = grant(self.caller, "claude")
        agent = under_grant(self.client(self.agent), made["secret"])
        for number in range(5):
            agent.call("request.send", {"account": "alice", "method": "GET", "url": f"{self.api.origin}/notes/{number}"})
        self.refused(1007, lambda: agent.call(
            "request.send", {"account": "alice", "method": "DELETE", "url": f"{self.api.origin}/notes/1"}))
        self.caller.call(
            "operation.enqueue", {"account": "alice", "capability": "notes.read", "label": "Note on 17", "payload": {}})
        return made

    def raw_request(self, made, path):
        """The connection of a program that waits for an approval; it is withdrawn when that is closed."""
        connection = socket.socket(socket.AF_UNIX)
        self.addCleanup(connection.close)
        connection.connect(self.agent.socket)
        hello = {"client": {"name": "test", "version": "1"}, "protocol": "1", "grant": made["secret"]}
        sent = {"account": "alice", "method": "POST", "url": self.api.origin + path, "body": "x"}
        connection.sendall(request("agent.hello", hello, 1) + request("request.send", sent, 2))
        return connection

    def asking(self, made, path="/notes"):
        """A request of the AI agent that waits for the person; what came of it once it is over."""
        outcome = []
        caller = under_grant(self.client(self.agent), made["secret"])

        def send():
            try:
                outcome.append(caller.call(
                    "request.send", {"account": "alice", "method": "POST", "url": self.api.origin + path, "body": "x"})["status"])
            except Exception as error:  # The refusal of the agent.
                outcome.append(error)

        thread = threading.Thread(target=send)
        thread.start()
        self.addCleanup(thread.join)
        self.until(lambda: self.caller.call("approval.list", {})["approvals"], "the request waits")
        return thread, outcome


class Content(PageFixture):
    def test_accounts(self):
        self.busy()
        self.go("/accounts")
        for words in ("alice", "well", "hosting", "ends soon", "practice", "since", "active"):
            self.assertIn(words, self.text)
        self.assertIn("1 needs you", self.text.replace("\n", " "))
        self.assertRegex(self.text.replace("\n", " "), r"6 requests of programs since \S+, 1 refused or failed")

    def test_activity_shows_what_an_agent_did_in_the_last_hour(self):
        self.busy()
        self.go("/activity")
        self.assertIn("6 requests in the last hour", self.text.replace("\n", " "))
        self.assertIn("1 refused or failed", self.text.replace("\n", " "))
        self.assertIn("1 AI agent at work", self.text.replace("\n", " "))
        lane = self.browser.find("svg.bars desc").get_attribute("textContent")
        self.assertIn("6 requests, 1 refused", lane)
        self.assertTrue(self.browser.all("svg.bars rect.allow") and self.browser.all("svg.bars rect.deny"))
        self.go("/activity?verdict=refused&program=claude")
        rows = [row.text for row in self.browser.all("#entries tbody tr")]
        self.assertTrue(rows and all("refused" in row and "claude" in row for row in rows), rows)

    def test_activity_tells_what_the_person_decided(self):
        made = self.busy()
        thread, _ = self.asking(made)
        approval = self.caller.call("approval.list", {})["approvals"][0]["approval"]
        self.caller.call("approval.decide", {"approval": approval, "verdict": "once"})
        thread.join()
        self.go("/activity")
        self.assertIn("You decided", self.text)
        self.assertNotIn("sign-out", self.text)

    def test_programs(self):
        self.busy()
        self.go("/programs")
        for words in ("claude", "AI agent", "send requests", "alice", "until you revoke it"):
            self.assertIn(words, self.browser.run("return document.querySelector('main').textContent"))
        # It sent requests a moment ago.
        self.assertIn("Last request", self.text)
        self.assertNotIn("none known", self.text)

    def test_waiting(self):
        self.busy()
        self.go("/waiting")
        self.assertIn("Note on 17", self.text)

    def test_a_policy_is_tried(self):
        self.busy()
        self.go("/policies")
        self.assertIn("notes.write", self.text)
        self.assertIn("your approval", self.text)
        self.browser.run("document.getElementById('try-offline').value = '259200'")
        self.browser.run("document.getElementById('try-capability').value = 'notes.read'")
        self.browser.click("#try-now")
        self.browser.until(lambda: "It may not." in self.text, "the decision")
        self.assertIn("Offline window expired", self.text)

    def test_health(self):
        self.go("/health")
        for words in ("The agent", "Network", "Store", "Sessions and their ends", "alice"):
            self.assertIn(words, self.text)

    def test_no_token_is_on_any_page(self):
        made = self.busy()
        token = self.caller.call("token.get", {"account": "alice"})["accessToken"]
        for name in PAGES:
            self.go(f"/{name}")
            source = self.browser.driver.page_source
            for secret in (token, made["secret"], "not-a-real-key"):
                self.assertNotIn(secret, source, name)


class Changes(PageFixture):
    """What the person does on the page, and what the page shows by itself."""

    def test_a_rename_is_seen_within_a_second(self):
        self.browser.until(lambda: "alice" in self.text, "the account")
        time.sleep(0.3)
        began = time.monotonic()
        self.caller.call("account.rename", {"account": "alice", "alias": "allie"})
        self.browser.until(lambda: "allie" in self.text, "the new name")
        self.assertLess(time.monotonic() - began, 1)

    def test_every_page_counts_what_waits_within_a_second(self):
        made = self.busy()
        for name in PAGES:
            with self.subTest(name):
                self.go(f"/{name}")
                time.sleep(0.3)
                began = time.monotonic()
                thread, _ = self.asking(made, f"/notes/{name}")
                self.browser.until(lambda: self.browser.all("#pages .count"), "the count")
                self.assertLess(time.monotonic() - began, 1)
                self.assertIn("(1)", self.browser.driver.title)
                approval = self.caller.call("approval.list", {})["approvals"][0]["approval"]
                self.caller.call("approval.decide", {"approval": approval, "verdict": "deny"})
                thread.join()
                self.browser.until(lambda: not self.browser.all("#pages .count"), "the count is gone")

    def test_a_request_is_allowed_and_another_denied(self):
        made = self.busy()
        self.go("/approvals")
        thread, outcome = self.asking(made)
        self.browser.until(lambda: "claude wants to send" in self.text, "the request")
        self.assertIn("/notes", self.text)
        self.browser.click("button[id^='once-']")
        thread.join()
        self.assertEqual(outcome, [200])
        self.browser.until(lambda: "Allowed, this once." in self.text, "what came of it")
        thread, outcome = self.asking(made, "/notes/2")
        self.browser.until(lambda: self.browser.all("button[id^='deny-']"), "the second request")
        self.browser.click("button[id^='deny-']")
        thread.join()
        self.assertEqual(getattr(outcome[0], "code", outcome), 4001)

    def test_a_request_that_is_withdrawn_brings_no_other_button_under_a_click(self):
        made = self.busy()
        first = self.raw_request(made, "/notes/harmless")
        self.until(lambda: len(self.caller.call("approval.list", {})["approvals"]) == 1, "the first request waits")
        thread, _ = self.asking(made, "/notes/other")
        self.until(lambda: len(self.caller.call("approval.list", {})["approvals"]) == 2, "the second request waits")
        self.go("/approvals")
        self.browser.point_at("button[id^='once-']")
        first.close()
        self.browser.until(lambda: "/notes/harmless" not in self.text, "the first request is withdrawn")
        self.browser.click_there()
        time.sleep(0.3)
        waiting = self.caller.call("approval.list", {})["approvals"]
        self.assertEqual([each["url"] for each in waiting], [f"{self.api.origin}/notes/other"])
        self.browser.click("button[id^='deny-']")
        thread.join()

    def test_a_request_for_access(self):
        made = self.busy()
        agent = under_grant(self.client(self.agent), made["secret"])
        agent.call("access.request", {"origins": [self.api.origin], "methods": ["DELETE"], "reason": HOSTILE})
        self.go("/approvals")
        self.assertIn(HOSTILE, self.text)
        self.browser.click("button[id^='allow-']")
        self.browser.until(lambda: "Allowed: the grant has it now." in self.text, "what came of it")
        self.assertEqual(self.caller.call("access.list", {})["requests"], [])
        self.go("/programs")
        self.assertIn("you allowed besides: DELETE", self.text)

    def test_a_grant_is_created_and_revoked(self):
        self.go("/programs")
        self.browser.find("#grant-client").send_keys("codex")
        self.browser.click("#create-grant")
        told = "The grant is there. Start a program under it: lanyard sandbox --grant grt_"
        self.browser.until(lambda: told in self.text, "what came of it, and how a program is started under it")
        made = self.caller.call("grant.list", {})["grants"][0]
        self.assertEqual((made["client"], made["agent"]), ("codex", True))
        # What `lanyard grant create --can requests` gives.
        self.assertEqual(made["methods"], ["request.send", "account.resolve"])
        self.browser.click(f"#revoke-{made['grant']}")
        self.browser.until(lambda: "The grant is revoked." in self.text, "what came of it")
        self.assertEqual(self.caller.call("grant.list", {})["grants"], [])

    def test_a_hard_sign_out_asks_first(self):
        account = self.caller.call("account.get", {"account": "alice"})["id"]
        self.browser.click(f"#more-{account} summary")
        self.browser.click(f"#erase-{account}")
        self.browser.until(lambda: "can't be undone" in self.text, "the question")
        self.assertNotEqual(self.caller.call("account.get", {"account": account})["state"], "signedOut")
        self.browser.click("#erase")
        self.browser.until(lambda: "Its data was erased." in self.text, "what came of it")
        self.assertEqual(self.caller.call("account.get", {"account": account})["state"], "signedOut")

    def test_the_vault_is_locked_and_unlocked(self):
        self.browser.click("#lock")
        self.browser.until(lambda: "The vault is locked" in self.text, "the vault is locked")
        self.assertTrue(self.caller.call("agent.status", {})["locked"])
        # A key file opens it: no person is asked, and no pinentry is needed.
        self.browser.click("#unlock")
        self.browser.until(lambda: "The vault is unlocked." in self.text, "the vault is unlocked")
        self.assertIn("alice", self.text)

    def test_another_account_is_made_active(self):
        account = add_key(self.caller, "mail", self.api.origin)
        self.go("/accounts")
        self.browser.click(f"#switch-account-{account}")
        self.browser.until(lambda: "The active account was changed." in self.text, "what came of it")
        self.assertEqual(self.caller.call("account.list", {})["active"], account)

    def test_a_sign_in_leads_to_the_provider(self):
        self.browser.find("#sign-in-alias").send_keys("again")
        self.browser.click("#sign-in")
        self.browser.until(lambda: "You are signed in" in self.browser.text("body"), "the sign-in", 15)
        self.go("/accounts")
        self.assertIn("again", self.text)
        self.browser.errors()

    def test_a_revocation_is_tried_again_and_abandoned(self):
        gone = import_account(self.caller, self.idp, "carol", alias="contractor")
        self.idp.stop()
        self.caller.call("account.signOut", {"account": gone, "mode": "hard", "revocationTimeoutSeconds": 1})
        self.go("/waiting")
        self.assertNotIn(gone, self.text)
        self.browser.click("button[id^='retry-revocation']")
        self.browser.until(lambda: "1 token still to be revoked" in self.text, "what came of it")
        self.browser.click("a[id^='abandon-']")
        self.browser.until(lambda: "stays good at" in self.text, "the question")
        self.browser.click("#abandon")
        self.browser.until(lambda: "The revocation was abandoned" in self.text, "what came of it")
        self.assertEqual(self.caller.call("revocation.list", {})["revocations"], [])

    def test_a_refused_operation_waits_for_the_person(self):
        set_policy(self.caller, self.api.origin)
        self.api.status = 422
        sent = {"method": "GET", "url": f"{self.api.origin}/notes/9"}
        operation = self.caller.call("operation.enqueue", {
            "account": "alice", "capability": "notes.read", "label": "Note on 99", "request": sent})["operation"]

        def status():
            return self.caller.call("operation.get", {"account": "alice", "operation": operation})["status"]

        self.until(lambda: status() == "rejected", "the server refuses it")
        # The agent counts it no more.
        self.assertEqual(self.caller.call("agent.status", {})["pendingOperations"], 0)
        self.go("/waiting")
        for words in ("Note on 99", "refused", "the server answered 422"):
            self.assertIn(words, self.text)
        self.api.status = 200
        self.browser.click(f"#retry-operation-{operation}")
        self.browser.until(lambda: "waits for its turn again" in self.text, "what came of it")
        self.until(lambda: status() == "done", "it is sent")

    def test_an_operation_is_abandoned(self):
        self.busy()
        operation = self.caller.call("operation.list", {"account": "alice"})["operations"][0]["operation"]
        self.go("/waiting")
        self.browser.click(f"#cancel-operation-{operation}")
        self.browser.until(lambda: "The operation was abandoned" in self.text, "what came of it")
        self.assertIn("Nothing waits", self.text)

    def test_ten_tabs_load(self):
        """A browser has six connections to a server, for all tabs."""
        tabs = [self.browser.driver.current_window_handle]
        try:
            for _ in range(9):
                self.browser.driver.switch_to.new_window("tab")
                tabs.append(self.browser.driver.current_window_handle)
                self.go("/accounts")
            self.caller.call("account.rename", {"account": "alice", "alias": "allie"})
            for tab in (tabs[-1], tabs[0], tabs[5]):
                self.browser.driver.switch_to.window(tab)
                self.browser.until(lambda: "allie" in self.text, "the tab shows the change")
        finally:
            for tab in tabs[1:]:
                self.browser.driver.switch_to.window(tab)
                self.browser.driver.close()
            self.browser.driver.switch_to.window(tabs[0])

    def test_what_the_person_does_is_kept_while_the_page_changes(self):
        account = self.caller.call("account.get", {"account": "alice"})["id"]
        self.browser.click(f"#more-{account} summary")
        self.browser.find("#sign-in-alias").send_keys("half-ty")
        time.sleep(0.3)
        self.caller.call("account.rename", {"account": account, "alias": "allie"})
        self.browser.until(lambda: "allie" in self.text, "the change")
        self.assertEqual(self.browser.focused().get_attribute("id"), "sign-in-alias")
        self.browser.press("ped")
        self.assertEqual(self.browser.find("#sign-in-alias").get_property("value"), "half-typed")
        self.assertTrue(self.browser.find(f"#more-{account}").get_property("open"))

    def test_a_page_whose_server_has_ended_says_so(self):
        self.assertFalse(self.browser.find("#ended").is_displayed())
        self.served.process.terminate()
        self.browser.until(lambda: self.browser.find("#ended").is_displayed(), "the page says that it has ended")
        self.browser.errors()


class Reach(PageFixture):
    """Every person and every window."""

    def test_no_page_is_wider_than_its_window_and_axe_finds_nothing(self):
        made = self.busy()
        self.asking(made)
        agent = under_grant(self.client(self.agent), made["secret"])
        agent.call("access.request", {"origins": [self.api.origin], "methods": ["DELETE"], "reason": "To tidy up."})
        account = self.caller.call("account.get", {"account": "alice"})["id"]
        addresses = [f"/{name}" for name in PAGES]
        addresses += [f"/accounts?confirm=sign-out&account={account}",
                      f"/policies?account={account}&capability=notes.write&offline=259200"]
        for scheme in SCHEMES:
            self.browser.scheme(scheme)
            for width in WIDTHS:
                self.browser.resize(width)
                for address in addresses:
                    with self.subTest(f"{address} {scheme} {width}"):
                        self.go(address)
                        self.assertLessEqual(self.browser.overflow(), 0)
                        self.assertEqual(self.browser.violations(), [])
        # On a busy machine the request may have ended by itself.
        for waiting in self.caller.call("approval.list", {})["approvals"]:
            self.caller.call("approval.decide", {"approval": waiting["approval"], "verdict": "deny"})

    def test_the_keyboard_alone(self):
        made = self.busy()
        thread, outcome = self.asking(made)
        self.go("/accounts")
        # Past the navigation by the first link.
        self.browser.press("Tab")
        self.assertEqual(self.browser.focused().text, "Skip to the content")
        self.browser.press("Enter", "Tab")
        self.assertTrue(self.browser.run("return document.querySelector('main').contains(document.activeElement)"))
        self.go("/approvals")
        approval = self.caller.call("approval.list", {})["approvals"][0]["approval"]
        self.browser.tab_to(f"once-{approval}")
        outline = self.browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertNotEqual(outline, "none")
        self.browser.press("Enter")
        thread.join()
        self.assertEqual(outcome, [200])

    def test_every_control_is_reached_by_the_keyboard(self):
        self.busy()
        for name in PAGES:
            with self.subTest(name):
                self.go(f"/{name}")
                wanted = set(self.browser.run(
                    "return [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')]"
                    ".filter((part) => part.checkVisibility()).map((part) => part.outerHTML.slice(0, 200))"))
                reached = set()
                for _ in range(len(wanted) + 5):
                    self.browser.press("Tab")
                    reached.add(self.browser.run("return document.activeElement.outerHTML.slice(0, 200)"))
                self.assertEqual(wanted - reached, set())

    def test_without_script(self):
        self.browser.scripts(False)
        account = self.caller.call("account.get", {"account": "alice"})["id"]
        self.go("/accounts")
        self.browser.click(f"#more-{account} summary")
        self.browser.click(f"#sign-out-{account}")
        self.until(
            lambda: self.caller.call("account.get", {"account": account})["state"] == "signedOut", "the sign-out")

    def test_lynx(self):
        self.busy()
        words = {
            "accounts": "alice", "activity": "requests in the last hour", "approvals": "Nothing waits for you",
            "programs": "claude", "waiting": "Note on 17", "policies": "What if", "health": "Sessions and their ends"}
        for name, expected in words.items():
            with self.subTest(name):
                read = lynx(f"{self.served.address}/{name}", self.cookie)
                self.assertIn(expected, " ".join(read.split()))
                self.assertIn("Skip to the content", read)
                # Words that style sets apart are parted without it, too.
                self.assertNotRegex(read, r"wellsince|Alice Archeralice|AAlice|claudeAI|Lanyardonline|practicesign-in")

    def test_the_opening_code_can_be_typed(self):
        other = self.page()
        self.browser.go(other.address + "/open")
        self.browser.find("#code").send_keys(other.code)
        self.browser.click("#open-now")
        self.browser.until(lambda: self.browser.path == "/accounts", "the page is open")


class Hostile(PageFixture):
    def test_names_are_text(self):
        set_policy(self.caller, self.api.origin)
        add_key(self.caller, "hosting", self.api.origin, username=HOSTILE[:250])
        made = grant(self.caller, HOSTILE)
        agent = under_grant(self.client(self.agent), made["secret"])
        agent.call("request.send", {"account": "alice", "method": "GET", "url": f"{self.api.origin}/notes?{'x' * 300}"})
        self.caller.call("operation.enqueue", {
            "account": "alice", "capability": "notes.read", "label": HOSTILE + "\u202e\u200b" + "long" * 30, "payload": {}})
        for name in PAGES:
            with self.subTest(name):
                self.go(f"/{name}")
                self.assertEqual(self.browser.run("return document.scripts.length"), 1)
                self.assertEqual(self.browser.run("return document.images.length"), 0)
                source = self.browser.driver.page_source
                for hidden in ("\u202e", "\u200b"):
                    self.assertNotIn(hidden, source)
                for width in WIDTHS:
                    self.browser.resize(width)
                    self.assertLessEqual(self.browser.overflow(), 0)
        self.go("/programs")
        self.assertIn(HOSTILE, self.text)
        self.go("/accounts?find=" + "%3Cscript%3E")
        self.assertEqual(self.browser.find("#find").get_property("value"), "<script>")


class Hints(unittest.TestCase):
    """Each command that a page names is one of `lanyard`, with the options that it names."""

    def test_commands(self):
        commands = set()
        for path in glob.glob(os.path.join(ROOT, "Sources", "Programs", "WebPages", "**", "*.swift"), recursive=True):
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"\\\n\s*", "", file.read())
            lines = [line for line in text.splitlines() if not re.match(r"\s*//", line)]
            commands |= set(re.findall(r"(?:<code>|`)(lanyard [^<`\"]*)", "\n".join(lines)))
        self.assertGreater(len(commands), 8)
        for command in sorted(commands):
            with self.subTest(command):
                words = command.split(" -- ")[0].split()[1:]
                names = [word for word in words if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-")]
                done = subprocess.run([LANYARD, *names, "--help"], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                # What follows the command is an operand.
                usage = next(line for line in done.stdout.splitlines() if line.startswith("USAGE: lanyard "))
                command = [word for word in usage.split()[2:] if re.fullmatch(r"[a-z]+(-[a-z]+)*", word)]
                self.assertTrue(command and names[:len(command)] == command, usage)
                for option in words:
                    if option.startswith("--"):
                        self.assertIn(option, done.stdout)


class Size(PageFixture):
    ACCOUNTS = 1_000
    ENTRIES = 10_000

    def seconds(self, address: str) -> float:
        """The least of three times from the request to a page that is there."""
        times = []
        for _ in range(3):
            began = time.monotonic()
            self.browser.go(address)
            self.browser.find("h1")
            times.append(time.monotonic() - began)
        return min(times)

    def test_a_thousand_accounts_and_ten_thousand_entries_in_a_second(self):
        for number in range(self.ACCOUNTS):
            add_key(self.caller, f"key-{number}", self.api.origin)
        # A client has 5,000 entries an hour.
        for client in range(3):
            caller = self.client(self.agent)
            caller.call("agent.hello", {"client": {"name": f"filler-{client}", "version": "1"}, "protocol": "1"})
            for part in range(0, 3_500, 50):
                caller.call("authorization.checkMany", {
                    "account": "alice", "capabilities": [f"c{client}.n{part + number}" for number in range(50)]})
        newest = self.caller.call("audit.list", {"before": 2**53 - 1, "limit": 1})["entries"][0]["sequence"]
        self.assertGreater(newest, self.ENTRIES)
        set_policy(self.caller, self.api.origin)
        self.caller.call("provider.update", {"provider": "hosting", "policy": "assistant"})
        self.caller.call("operation.enqueue", {
            "account": f"key-{self.ACCOUNTS - 1}", "capability": "notes.read", "label": "Note of the last one", "payload": {}})
        # What the browser takes for a page that shows nothing of all this tells how fast the machine is.
        plain = self.seconds("data:text/html,<h1>plain</h1>")
        for name in PAGES:
            with self.subTest(name):
                self.assertLess(self.seconds(f"{self.served.address}/{name}"), max(1, 10 * plain))
        self.go("/accounts")
        self.assertEqual(len(self.browser.all("#accounts tbody tr")), 50)
        self.browser.click(".pager a")
        self.browser.until(lambda: "51 to 100 of 1001" in self.text, "the next part")
        self.go("/waiting")
        self.assertIn("Note of the last one", self.text)
        self.go("/activity")
        self.browser.click("#older")
        self.browser.until(lambda: "before=" in self.browser.driver.current_url, "older entries")
        self.assertTrue(self.browser.all("#entries tbody tr"))


if __name__ == "__main__":
    unittest.main()
