"""Tables fit the terminal: 80 columns, long cells elided in the middle, wide characters counted."""

import fcntl
import json
import os
import re
import unicodedata
import unittest

from people import CLIENT, HOME, IDP, WORK, accounts
from person import Person

LONG = {**HOME, "id": "acc_aaaaaaaaaaaaaaaaaaaaaaaaaa", "displayName": "Maximiliane Friederike von Hohenstein",
        "email": "maximiliane.friederike@department.of.example", "tenant": "f8cdef31-a31e-4b4a-93e4-5f571e91255a"}
WIDE = {**HOME, "id": "acc_bbbbbbbbbbbbbbbbbbbbbbbbbb", "alias": "tokyo", "displayName": "山田 太郎", "tenant": "東京"}


def columns(text):
    return sum(0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1
               for sign in text)


class TableTests(Person):
    def lines(self, *words, size=(24, 80)):
        screen = self.on_terminal(*words, size=size, environment={"NO_COLOR": "1"})
        self.assertEqual(screen.code, 0, screen.text)
        return screen.text.splitlines()

    def test_lists_fit_the_terminal_and_elide_in_the_middle(self):
        self.agent(accounts(WORK, LONG, WIDE, providers=[{**IDP, "issuer": "https://idp.example/" + "realm/" * 20}]))
        for words in (["list"], ["provider", "list"]):
            for width in (80, 100, 132):
                with self.subTest(words=words, width=width):
                    lines = self.lines(*words, size=(24, width))
                    self.assertTrue(all(columns(line) <= width for line in lines), lines)
                    self.assertIn("…", "".join(lines))
        shown = "\n".join(self.lines("list"))
        self.assertIn("work", shown)
        self.assertRegex(shown, r"Maxim\S*.*…")

    def narrow(self, *words, whole, joined=(), width):
        """Each line fits; `whole` stand in one line, `joined` over several."""
        lines = self.lines(*words, size=(24, width))
        self.assertTrue(all(columns(line) <= width for line in lines), lines)
        text = "".join(line.replace(" ", "") for line in lines)
        for name in whole:
            self.assertTrue(any(name in line for line in lines), (name, lines))
        for name in joined:
            self.assertIn(name.replace(" ", ""), text)
        return lines

    def test_names_and_ids_are_whole_on_narrow_screens(self):
        long_name = "client-of-the-northern-branch"
        agent = self.agent(accounts(WORK, {**LONG, "alias": long_name}, providers=[IDP, {**IDP, "name": "corporate-directory"}]))
        agent.answers["rule.list"] = {"rules": [
            {"rule": "rule_1", "pattern": "https://github.com/acme/*", "account": WORK["id"]}]}
        agent.answers["policy.list"] = {"policies": [{"name": "orders-and-notes", "version": 3}]}
        agent.answers["agent.listKeySlots"] = {"slots": [
            {"slot": 0, "protection": "keyFile", "createdAt": "2020-01-01T00:00:00.000Z", "opened": True}]}
        agent.answers["grant.list"] = {"grants": [
            {"grant": "gra_c2ztq4xk7m3vwy5ndhb6rf", "client": "continuous-integration", "accounts": [WORK["id"], LONG["id"]],
             "methods": ["token.get", "request.send"], "origins": ["https://api.example", "https://other.example:8443"]}]}
        for width in (40, 60, 80):
            with self.subTest(width=width):
                self.narrow("list", whole=["work", long_name, "sign in again"], width=width)
                self.narrow("provider", "list", whole=["idp", "corporate-directory"], joined=["offline_access"], width=width)
                self.narrow("rule", whole=["https://github.com/acme/*", "work"], width=width)
                self.narrow("policy", "list", whole=["orders-and-notes"], width=width)
                self.narrow("key", whole=["opened the vault" if width > 40 else "opened"], width=width)
                self.narrow("grant", whole=["gra_c2ztq4xk7m3vwy5ndhb6rf", "continuous-integration"],
                            joined=["token.get,request.send", "https://other.example:8443".removeprefix("https://"), long_name], width=width)

    def test_an_account_without_an_alias_is_listed_with_its_whole_id(self):
        self.agent(accounts(WORK, CLIENT))
        for width in (40, 60, 80):
            self.narrow("list", whole=[CLIENT["id"], "signed out"], width=width)

    def test_sentences_of_the_audit_log_are_whole(self):
        agent = self.agent(accounts(WORK))
        agent.answers["audit.list"] = {"entries": [
            {"sequence": 1, "at": "2030-01-01T00:00:00.000Z", "event": "authorization.check", "outcome": "deny",
             "account": WORK["id"], "client": "a program with quite a long name of its own",
             "facts": {"capability": "orders.approve.and.much.more", "reason": "offlineWindowExpired"}}]}
        for width in (40, 60, 80, 100):
            with self.subTest(width=width):
                lines = self.narrow("audit", whole=[], joined=["may not do orders.approve.and.much.more (offline window expired)"]
                                    if width < 60 else [], width=width)
                words = " ".join(lines).split()
                for word in ("orders.approve.and.much.more" if width > 60 else "not", "(offline", "window", "expired)"):
                    self.assertIn(word, words)

    def test_a_waiting_revocation_fits_and_keeps_its_id(self):
        entry = {"id": "rev_c2ztq4xk7m3vwy5ndhb6rfgupa", "issuer": "https://login.department.example/tenants/a",
                 "accountLabel": "work", "attempts": 2, "nextAttemptAt": "2999-01-01T00:00:00.000Z",
                 "expiresAt": "2999-02-01T00:00:00.000Z", "lastError": {"name": "providerMisconfigured"}}
        self.agent({"revocation.list": {"revocations": [entry]}})
        for width in (50, 60, 80):
            self.narrow("revocations", whole=[entry["id"], "work", entry["issuer"]], width=width)

    def test_columns_are_aligned_behind_wide_characters(self):
        self.agent(accounts(WORK, WIDE))
        lines = self.lines("list", size=(24, 200))
        places = {columns(line[:line.index("idp")]) for line in lines[1:]}
        self.assertEqual(places, {columns(lines[0][:lines[0].index("PROVIDER")])})

    def test_wide_and_a_pipe_show_every_cell_whole(self):
        self.agent(accounts(WORK, LONG))
        for shown in ("\n".join(self.lines("list", "--wide")), self.answer("list")):
            self.assertIn(f"{LONG['displayName']} <{LONG['email']}>", shown)
            self.assertIn(LONG["tenant"], shown)

    def test_findings_are_broken_between_words_and_keep_commands_whole(self):
        command = "`lanyard provider update idp --redirect localhost:0`"
        self.agent({**accounts(WORK), "agent.diagnose": {"findings": [
            {"check": "providerPreset", "severity": "notice", "message": "A sentence of more than eighty columns, "
             "so that it has to be broken somewhere between two of its words.",
             "remedies": [f"Register it at the provider, and then this command changes it: {command}."]}]}})
        screen = self.on_terminal("doctor", environment={"NO_COLOR": "1"})
        lines = screen.text.splitlines()
        start = next(index for index, line in enumerate(lines) if "A sentence" in line)
        self.assertRegex(lines[start + 1], r"^ {9}\S")
        self.assertTrue(all(columns(line) <= 80 for line in lines[start:start + 4]), lines)
        self.assertTrue(any(command in line for line in lines), lines)
        self.assertIn("A sentence of more than eighty columns, so that it has to be broken somewhere between two",
                      self.lanyard("doctor").stdout)

    def test_audit_fits_the_terminal(self):
        agent = self.agent(accounts(WORK))
        agent.answers["audit.list"] = {"entries": [
            {"sequence": 1, "at": "2030-01-01T00:00:00.000Z", "event": "authorization.check", "outcome": "deny",
             "account": WORK["id"], "client": "a program with quite a long name of its own",
             "facts": {"capability": "orders.approve.and.much.more", "reason": "offlineWindowExpired"}}]}
        lines = self.lines("audit")
        self.assertTrue(all(columns(line) <= 80 for line in lines), lines)
        self.assertRegex("\n".join(lines), r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "a moment is not elided")
        self.assertIn("offline window expired", "\n".join(self.lines("audit", "--wide")))


class LockedTests(Person):
    def test_a_locked_agent_counts_no_accounts(self):
        from people import AGENT
        for counts in ({}, {"accounts": {"total": 0, "byState": {}}}):
            status = {name: value for name, value in AGENT.items() if name != "accounts"}
            agent = self.agent({"agent.status": {**status, "locked": True, **counts}})
            self.assertRegex(self.answer("status"), "Accounts +not known while the vault is locked")
            agent.close()


class ProgramTests(Person):
    def test_quiet_leaves_out_notes_and_keeps_failures(self):
        self.agent(accounts(WORK))
        self.assertIn("valid for 300 s", self.lanyard("token", "-t", "600").stderr)
        for words in (["token", "-t", "600", "--quiet"], ["-q", "token", "-t", "600"]):
            self.assertEqual(self.answer(*words), "not-a-real-access-token\n")
        self.assertIn("There is no account", self.refused(1, "token", "nobody", "-q"))

    def test_quiet_leaves_out_what_was_done(self):
        """Only what was asked for is an answer: a token, a list, the state of something."""
        added = {"provider": {"name": "corp", "issuer": "https://corp.example"}}
        waiting = {"revocations": []}
        agent = self.agent({
            **accounts(WORK, HOME), "provider.add": added, "provider.update": {"provider": IDP}, "agent.lock": {"locked": True},
            "agent.unlock": {"locked": False}, "account.rename": lambda params, _: dict(params),
            "account.resolve": lambda params, _: {"account": WORK["id"], "because": "selector"},
            "rule.add": {"rule": "rule_1", "pattern": "https://a.example/*"}, "rule.list": {"rules": []}, "rule.remove": {},
            "grant.revoke": {}, "revocation.abandon": {}, "revocation.list": waiting, "revocation.retry": waiting,
            "operation.cancel": {"attempts": 0}, "agent.rotateRootKey": {"keyEpoch": 2},
            "agent.removeKeySlot": {"slots": []}, "stepUp.verify": {"validUntil": "2999-01-01T00:00:00.000Z"},
            "stepUp.status": {"enrolled": True, "attemptsLeft": 10}, "agent.backup": {"accounts": 1, "providers": 1, "policies": 0},
            "policy.validate": {"name": "p", "version": 1}, "agent.shutdown": {}})
        agent.last = "agent.shutdown"
        secret, policy = os.path.join(self.home, "pw"), os.path.join(self.home, "p.json")
        for path, text in ((secret, "not-a-real-passphrase\n"), (policy, '{"name":"p","version":1,"capabilities":{}}')):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o600)
        with open(os.path.join(self.work, ".lanyard"), "w", encoding="utf-8") as file:
            file.write("account = work\n")
        for words in (
            ["trust"], ["trust", "--remove"], ["account", "set", "work", "--browser", "/bin/true"], ["switch", "work"], ["rename", "work", "acme"],
            ["provider", "add", "corp", "--issuer", "https://corp.example", "--client-id", "x"],
            ["provider", "update", "idp", "--client-id", "y"], ["provider", "remove", "idp"], ["lock"], ["unlock"],
            ["rule", "add", "https://a.example/*", "work"], ["rule", "remove", "rule_1"], ["grant", "revoke", "gra_1"],
            ["revocations", "abandon", "rev_1"], ["revocations", "send"], ["operations", "cancel", "op_1", "-u", "work"],
            ["key", "rotate"], ["key", "remove", "1"], ["step-up", "work"], ["policy", "check", policy],
            ["backup", os.path.join(self.home, "b"), "--pw-file", secret], ["logout", "work"], ["forget", "work", "--yes"],
            ["stop"],
        ):
            with self.subTest(words):
                input = {"input": "2468\n"} if words[0] == "step-up" else {}
                done = self.lanyard(*words, "--quiet", **input)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), done)

    def test_the_manual_page_has_every_command(self):
        page = self.answer("man")
        self.assertTrue(page.startswith('.TH LANYARD 1 '), page[:40])
        for command in ("lanyard rename", "lanyard provider update", "lanyard grant create", "lanyard trust"):
            self.assertIn(f".SS {command}\n", page)
        self.assertFalse([line for line in page.splitlines() if line.startswith(("'", ". "))])

    def test_pages_have_their_sections_in_the_order_of_man_pages_7(self):
        order = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "JSON", "EXIT STATUS", "ENVIRONMENT", "FILES",
                 "EXAMPLES", "SEE ALSO"]
        # As in a new home: no part of it is there yet.
        place = os.path.join(self.home, ".local", "share", "man", "man1")
        self.answer("man", "--quiet", "--directory", place)
        for name in sorted(os.listdir(place)):
            with self.subTest(name), open(os.path.join(place, name), encoding="utf-8") as file:
                text = file.read()
                sections = re.findall(r"^\.SH (.*)$", text, re.MULTILINE)
                self.assertEqual(sections[:3], ["NAME", "SYNOPSIS", "DESCRIPTION"])
                self.assertEqual(sections[-1], "SEE ALSO")
                self.assertLessEqual({"OPTIONS", "EXIT STATUS", "ENVIRONMENT"}, set(sections))
                common = [section for section in order if section in sections]
                known = [section for section in sections if section != "COMMANDS"]
                self.assertEqual([section for section in common if section != "COMMANDS"], known)
        with open(os.path.join(place, "lanyard-token.1"), encoding="utf-8") as file:
            page = file.read()
        self.assertIn(".SH SYNOPSIS\n.B lanyard token\n[<account>] ", page)
        self.assertIn(".TP\n.B \\-\\-timeout <seconds>\nHow long the agent may take.", page)
        self.assertIn("lanyard token \\-\\-aud https://mail.example \\-s mail.read", page.partition(".SH EXAMPLES")[2])

    def test_the_line_of_usage_is_broken_between_options(self):
        for width in (40, 60, 80, 132):
            lines = self.on_terminal("token", "--help", size=(24, width)).text.splitlines()
            start = next(index for index, line in enumerate(lines) if line.startswith("USAGE: "))
            usage = lines[start:lines.index("", start)]
            self.assertTrue(all(columns(line) <= width for line in usage), usage)
            for option in ("[--minimum-lifetime <seconds>]", "[--scope <scope> ...]", "[--timeout <seconds>]"):
                self.assertTrue(any(option in line for line in usage), usage)
        self.assertLessEqual(max(map(len, self.answer("help", "provider", "add").splitlines())), 80)

    def test_each_command_has_a_page_and_its_json_is_described(self):
        place = os.path.join(self.work, "pages")
        os.mkdir(place)
        self.answer("man", "--quiet", "--directory", place)
        names = {name.removesuffix(".1") for name in os.listdir(place)}
        self.assertLessEqual({"lanyard", "lanyard-agent", "lanyard-provider-add", "lanyard-setup"}, names)
        with open(os.path.join(place, "lanyard-provider-add.1"), encoding="utf-8") as file:
            self.assertEqual(self.answer("man", "provider", "add"), file.read())
        shapes = set(re.findall(r"^  lanyard (.*)$", self.answer("help", "json"), re.MULTILINE))
        silent = {"completion", "demo", "exec", "man", "mcp", "notify"}
        commands = {name.removeprefix("lanyard-").replace("-", " ") for name in names - {"lanyard", "lanyard-agent"}}
        commands.discard("step up")
        commands.add("step-up")
        groups = {command for command in commands if any(other.startswith(command + " ") for other in commands)}
        tools = {command for command in commands if command.startswith("credential ")}
        self.assertEqual(shapes | silent, commands - groups - tools)

    def test_topics_of_the_help(self):
        codes = self.answer("help", "exit-codes")
        for code in ("0", "1", "2", "3", "4", "5", "6", "7", "8", "130"):
            self.assertRegex(codes, rf"(?m)^  {code} ")
        self.assertIn("4 if you have to sign in again", " ".join(codes.split()))
        variables = self.answer("help", "environment")
        for name in ("LANYARD_ACCOUNT", "LANYARD_SOCKET", "LANYARD_NO_START", "LANYARD_GRANT_FILE", "BROWSER"):
            self.assertRegex(variables, rf"(?m)^  {name} ")
        for topic in ("exit-codes", "environment", "json"):
            for line in self.answer("help", topic).splitlines():
                self.assertLessEqual(len(line), 80)

    def test_examples_of_the_help_can_be_copied(self):
        page = self.answer("man").replace("\\-", "-").replace("\\e", "\\")
        commands = [line.removeprefix(".SS lanyard ").split() for line in page.splitlines() if line.startswith(".SS ")]
        self.assertGreater(len(commands), 40)
        for words in commands:
            shown = self.answer(*words, "--help")
            examples = shown.partition("EXAMPLES:\n")[2].split("\n\n")[0]
            for line in examples.splitlines():
                with self.subTest(words):
                    self.assertTrue(line.startswith("  "), f"a broken line: {line!r}")
                    self.assertLessEqual(len(line), 80)

    def test_stop_ends_the_agent(self):
        agent = self.agent({"agent.shutdown": {}})
        agent.last = "agent.shutdown"
        self.assertEqual(self.answer("stop"), "The agent has ended.\n")
        agent.close()
        self.assertEqual(self.answer("stop"), "No agent runs.\n")

    def ending_agent(self):
        """The lock of an agent whose socket is gone, and which waits for exchanges on their way."""
        state = os.path.join(self.home, ".local", "state", "lanyard")
        os.makedirs(state, mode=0o700)
        lock = os.fdopen(os.open(os.path.join(state, "lock"), os.O_RDWR | os.O_CREAT, 0o600), "w")
        self.addCleanup(lock.close)
        lock.write(f"{os.getpid()}\n{self.socket}\nending\n")
        lock.flush()
        fcntl.lockf(lock, fcntl.LOCK_EX)
        return lock

    def test_stop_waits_for_an_agent_that_still_holds_the_state(self):
        lock = self.ending_agent()

        def end(_):
            fcntl.lockf(lock, fcntl.LOCK_UN)
            return ""

        screen = self.on_terminal("stop", answers=[("waiting for the agent", end)])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertTrue(screen.text.endswith("The agent has ended.\n"), screen.text)
        # What it wrote about itself stays there.
        self.assertEqual(self.answer("stop"), "No agent runs.\n")

    def test_stop_says_that_an_agent_ends_for_long(self):
        self.ending_agent()
        told = self.refused(1, "stop")
        self.assertIn("The agent is still ending after 10 s", told)
        self.assertIn("`lanyard stop`", told)

    def test_shells_complete_what_the_agent_knows(self):
        agent = self.agent(accounts(WORK))
        agent.answers["rpc.discover"] = {"methods": [{"name": "token.get"}, {"name": "secret.put"}]}
        agent.answers["policy.list"] = {"policies": [{"name": "p"}]}
        agent.answers["policy.get"] = {"policy": {"name": "p", "capabilities": {"order.view": {}, "order.sign": {}}}}
        script = self.answer("completion", "bash")
        for word in ("entra", "keycloak", "session.expired", "clock.suspect"):
            self.assertIn(word, script)
        with open(self.schema("eventType")) as file:
            for event in json.load(file)["enum"]:
                self.assertIn(event, script)
        self.assertEqual(self.answer("---completion", "rpc", "--", "positional@0", "2", "0").split(),
                         ["token.get", "secret.put"])
        self.assertEqual(self.answer("---completion", "can", "--", "positional@0", "2", "0").split(),
                         ["order.view", "order.sign"])

    @staticmethod
    def schema(name):
        import os
        return os.path.join(os.path.dirname(__file__), "../../../Schemas/types", f"{name}.json")


if __name__ == "__main__":
    unittest.main()
