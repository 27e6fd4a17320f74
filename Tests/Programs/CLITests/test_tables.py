"""Tables fit the terminal: 80 columns, long cells elided in the middle, wide characters counted."""

import json
import os
import re
import unicodedata
import unittest

from people import HOME, IDP, WORK, accounts
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

    def test_the_manual_page_has_every_command(self):
        page = self.answer("man")
        self.assertTrue(page.startswith('.TH LANYARD 1 '), page[:40])
        for command in ("lanyard rename", "lanyard provider update", "lanyard grant create", "lanyard trust"):
            self.assertIn(f".SS {command}\n", page)
        self.assertFalse([line for line in page.splitlines() if line.startswith(("'", ". "))])

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
