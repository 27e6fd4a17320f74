"""`lanyard setup` for programs that start MCP servers: what it writes, what it leaves alone, and that it takes back just that."""

import json
import os
import re
import stat
import tomllib

import people
from person import Person

URL = "https://mcp.acme.example/mcp"
# Where each program reads its servers: of the person, of the project, and the key in it.
PROGRAMS = {
    "claude": (".claude.json", ".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
}
CODEX = ".codex/config.toml"


class ServerPrograms(Person):
    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.place, "bin")
        os.mkdir(self.bin)
        os.symlink(os.path.join(self.programs, "lanyard"), os.path.join(self.bin, "lanyard"))
        self.environment["PATH"] = self.bin + ":/usr/bin:/bin"

    def path(self, name, base=None):
        return os.path.join(base or self.home, name)

    def put(self, name, text, base=None, mode=0o600):
        path = self.path(name, base)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.chmod(path, mode)

    def text(self, name, base=None):
        with open(self.path(name, base), encoding="utf-8", newline="") as file:
            return file.read()

    def setup(self, *words, **options):
        return self.answer("setup", *words, "--yes", **options)

    def files(self):
        """Every file in the home directory but Lanyard's own."""
        found = {}
        for folder, _, names in os.walk(self.home):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    found[os.path.relpath(file.name, self.home)] = file.read()
        return found

    def entry(self, program, *more, command=None):
        expected = {"command": command or os.path.join(self.bin, "lanyard"), "args": ["mcp", URL, *more]}
        return expected if program == "gemini" else {"type": "stdio", **expected}


class JSONPrograms(ServerPrograms):
    def test_a_program_without_a_file_gets_one_that_undo_removes(self):
        for program, (file, _, key) in PROGRAMS.items():
            with self.subTest(program):
                before = self.files()
                self.assertIn(f"{program} is set up", self.setup(program, URL))
                self.assertEqual(json.loads(self.text(file)), {key: {"acme-example": self.entry(program)}})
                self.assertEqual(stat.S_IMODE(os.stat(self.path(file)).st_mode), 0o600)
                self.answer("setup", program, "--undo")
                self.assertEqual(self.files(), before)

    def test_a_second_run_changes_nothing(self):
        for program in [*PROGRAMS, "codex"]:
            with self.subTest(program):
                self.setup(program, URL)
                before = self.files()
                self.assertIn("set up already", self.setup(program, URL))
                self.assertEqual(self.files(), before)

    def test_other_servers_and_settings_keep_each_byte(self):
        texts = [
            '{\n  "mcpServers": {\n    "other": {"command":"x",   "args": [ ]}\n  },\n  "numStartups": 1.50\n}\n',
            '{\n\t"mcpServers": {\n\t\t"other": {}\n\t}\n}',
            '{"theme":"dark","mcpServers":{"other":{"url":"https://h.example"}}}',
            '{"theme": "dark"}\n',
            '{ "mcpServers": { "other": { } } }',
            '\ufeff{\r\n  "a": "\\u00e9 \\"{}, //",\r\n  "mcpServers": {\r\n    "other": {}\r\n  }\r\n}\r\n',
            '{\n    "a": {\n        "mcpServers": {}\n    },\n    "b": []\n}\n',
            '{\n  "mcpServers":\n  {\n    "other": {}\n  }\n}\n',
        ]
        for program, (file, _, key) in PROGRAMS.items():
            for text in texts:
                text = text.replace('"mcpServers"', f'"{key}"')
                with self.subTest(program=program, text=text):
                    self.put(file, text, mode=0o640)
                    self.setup(program, URL)
                    now = self.text(file)
                    read = json.loads(now.lstrip("\ufeff"))
                    self.assertEqual(read[key].pop("acme-example"), self.entry(program))
                    before = json.loads(text.lstrip("\ufeff"))
                    self.assertEqual({**before, key: before.get(key, {})}, {**read, key: read[key]})
                    self.assertEqual("\r" in now, "\r" in text)
                    self.assertEqual(stat.S_IMODE(os.stat(self.path(file)).st_mode), 0o640)
                    self.answer("setup", program, "--undo")
                    self.assertEqual(self.text(file), text)

    def test_lines_are_laid_out_as_the_file_is(self):
        self.put(".cursor/mcp.json", '{\n\t"mcpServers": {\n\t\t"other": {}\n\t}\n}\n')
        self.setup("cursor", URL)
        self.assertEqual(
            self.text(".cursor/mcp.json"),
            '{\n\t"mcpServers": {\n\t\t"acme-example": {\n\t\t\t"type": "stdio",\n\t\t\t"command": "%s/lanyard",\n'
            '\t\t\t"args": ["mcp", "%s"]\n\t\t},\n\t\t"other": {}\n\t}\n}\n' % (self.bin, URL))

    def test_comments_and_trailing_commas_stay(self):
        text = ('// mine\n{\n  // the servers\n  "servers": { // all of them\n    /* a "quoted" { brace\n       over lines */\n'
                '    "other": {"command": "x",}, // last\n  },\n  "inputs": [1, 2,],\n}\n// end\n')
        for text in (text, text.replace("\n", "\r\n"), '{ /* none\n yet */ }\n', '{\n  "servers": {\n    // none yet\n  }\n}\n'):
            self.put(".config/Code/User/mcp.json", text)
            self.setup("vscode", URL)
            now = self.text(".config/Code/User/mcp.json")
            for comment in re.findall(r"//[^\r\n]*|/\*.*?\*/", text, re.S):
                self.assertIn(comment, now)
            self.assertIn('"acme-example": {', now)
            self.assertIn("set up already", self.setup("vscode", URL))
            self.answer("setup", "vscode", "--undo")
            left = self.text(".config/Code/User/mcp.json")
            if "// none yet" not in text and "/* none" not in text:
                self.assertEqual(left, text)
            self.assertNotIn("acme-example", left)
            self.assertEqual(left.count("none"), text.count("none"))

    def test_claude_reads_no_comments_so_that_a_file_with_some_is_refused(self):
        self.put(".claude.json", '{\n  // mine\n  "a": 1\n}\n')
        self.assertIn("without comments", self.refused(1, "setup", "claude", URL, "--yes"))
        self.assertEqual(self.text(".claude.json"), '{\n  // mine\n  "a": 1\n}\n')

    def test_a_file_that_is_broken_or_of_another_form_is_left_alone(self):
        texts = ["{ not JSON", '{"mcpServers": {}', "[]", '"x"', '{"mcpServers": []}', '{"mcpServers": "x"}',
                 '{"mcpServers": {"a": {}, "a": {}}}', '{"mcpServers": {}, "mcpServers": {}}', '{"a": /* open }', "{} {}",
                 '{"a": 1,, "b": 2}', '{,}', "\x00"]
        for program, (file, _, key) in PROGRAMS.items():
            for text in texts:
                text = text.replace('"mcpServers"', f'"{key}"')
                with self.subTest(program=program, text=text):
                    self.put(file, text)
                    before = self.files()
                    self.assertNotEqual(self.refused(1, "setup", program, URL, "--yes"), "")
                    self.assertEqual(self.files(), before)

    def test_another_entry_of_the_name_stays_and_its_secrets_are_not_shown(self):
        self.put(".claude.json", '{"mcpServers": {"acme-example": {"command": "npx", "env": {"KEY": "not-a-real-key"}}}}')
        before = self.files()
        told = self.refused(2, "setup", "claude", URL, "--yes")
        self.assertIn("mcpServers.acme-example: another entry", told)
        self.assertIn("--name", told)
        self.assertNotIn("not-a-real-key", told)
        self.assertEqual(self.files(), before)
        self.setup("claude", URL, "--name", "acme2")
        self.assertEqual(list(json.loads(self.text(".claude.json"))["mcpServers"]), ["acme2", "acme-example"])
        screen = self.on_terminal("setup", "cursor", URL, answers=[("Write this?", "y\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.put(".cursor/mcp.json", '{"mcpServers": {"acme-example": {"command": "npx"}}}')
        screen = self.on_terminal("setup", "cursor", URL, answers=[
            ("Another name for this one (empty: none): ", "no name\n"), ("Another name", "acme-2\n"), ("Write this?", "y\n")])
        self.assertEqual(screen.code, 0, screen.text)
        self.assertEqual(list(json.loads(self.text(".cursor/mcp.json"))["mcpServers"]), ["acme-2", "acme-example"])
        screen = self.on_terminal("setup", "cursor", URL, answers=[("Another name", "\n")])
        self.assertEqual(screen.code, 1, screen.text)

    def test_what_the_person_changed_stays_and_is_named(self):
        self.setup("gemini", URL)
        changed = self.text(".gemini/settings.json").replace('"mcp", ', '"mcp", "--verbose", ')
        self.put(".gemini/settings.json", changed)
        self.assertIn("Remove by hand", self.lanyard("setup", "gemini", "--undo").stderr)
        self.assertEqual(self.text(".gemini/settings.json"), changed)
        row = json.loads(self.answer("setup", "--json"))["tools"][0]
        self.assertEqual((row["name"], row["works"]), ("acme-example", False))
        self.put(".gemini/settings.json", "{}")
        self.answer("setup", "gemini", "--undo")
        self.assertEqual(self.text(".gemini/settings.json"), "{}")

    def test_a_program_that_wrote_the_file_anew_does_not_confuse_undo(self):
        self.put(".claude.json", '{"a": 1, "mcpServers": {"other": {}}}')
        self.setup("claude", URL)
        read = json.loads(self.text(".claude.json"))
        read["mcpServers"]["acme-example"] = dict(reversed(read["mcpServers"].pop("acme-example").items()))
        read["mcpServers"]["third"] = {}
        self.put(".claude.json", json.dumps(read, indent=2))
        self.assertIn("set up already", self.setup("claude", URL))
        self.answer("setup", "claude", "--undo")
        del read["mcpServers"]["acme-example"]
        self.assertEqual(self.text(".claude.json"), json.dumps(read, indent=2))

    def test_last_of_several_entries_goes_without_a_trailing_comma(self):
        for text in ('{\n  "mcpServers": {\n    "other": {},\n    %s\n  }\n}\n', '{"mcpServers": {"other": {}, %s}}'):
            self.setup("claude", URL)
            member = '"acme-example": ' + json.dumps(json.loads(self.text(".claude.json"))["mcpServers"]["acme-example"])
            self.put(".claude.json", text % member)
            self.answer("setup", "claude", "--undo")
            self.assertEqual(json.loads(self.text(".claude.json")), {"mcpServers": {"other": {}}})

    def test_variables_of_the_programs_name_their_directories(self):
        for program, variable, file in (("claude", "CLAUDE_CONFIG_DIR", ".claude.json"),
                                        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
                                        ("codex", "CODEX_HOME", "config.toml"),
                                        ("vscode", "XDG_CONFIG_HOME", "Code/User/mcp.json")):
            other = os.path.join(self.place, "other-" + program)
            self.setup(program, URL, environment={variable: other})
            self.assertIn(URL, self.text(file, other))

    def test_a_link_stays_a_link(self):
        self.put("dotfiles/mcp.json", '{"mcpServers": {"other": {}}}')
        os.makedirs(self.path(".cursor"))
        os.symlink("../dotfiles/mcp.json", self.path(".cursor/mcp.json"))
        self.setup("cursor", URL)
        self.assertTrue(os.path.islink(self.path(".cursor/mcp.json")))
        self.assertIn(URL, self.text("dotfiles/mcp.json"))
        self.put(".claude.json", "{}", mode=0o666)
        self.assertIn("Other users can write", self.lanyard("setup", "claude", URL, "--yes").stderr)


class Projects(ServerPrograms):
    def test_an_entry_of_a_project_names_the_program_alone_and_is_taken_back_from_anywhere(self):
        for program, (_, file, key) in PROGRAMS.items():
            with self.subTest(program):
                before = self.files()
                self.setup(program, URL, "--scope", "project")
                self.assertEqual(json.loads(self.text(file, self.work)),
                                 {key: {"acme-example": self.entry(program, command="lanyard")}})
                row = json.loads(self.answer("setup", "--json", cwd=self.home))["tools"][0]
                self.assertEqual((row["tool"], row["project"], row["works"]), (program, self.work, True))
                self.answer("setup", program, "--undo", cwd=self.home)
                self.assertEqual(self.files(), before)

    def test_undo_of_one_scope_or_name_leaves_the_others(self):
        self.setup("claude", URL)
        self.setup("claude", URL, "--scope", "project")
        self.setup("claude", URL, "--name", "second", "--scope", "project")
        self.answer("setup", "claude", "--undo", "--name", "second")
        self.assertEqual(list(json.loads(self.text(".mcp.json", self.work))["mcpServers"]), ["acme-example"])
        self.answer("setup", "claude", "--undo", "--scope", "user")
        self.assertFalse(os.path.exists(self.path(".claude.json")))
        self.answer("setup", "claude", "--undo", "--scope", "project")
        self.assertFalse(os.path.exists(self.path(".mcp.json", self.work)))

    def test_a_link_out_of_the_project_is_refused(self):
        self.put("precious.json", "{}")
        os.symlink(self.path("precious.json"), self.path(".mcp.json", self.work))
        os.symlink(self.home, self.path(".cursor", self.work))
        for program in ("claude", "cursor"):
            self.assertIn("a link leads elsewhere", self.refused(1, "setup", program, URL, "--scope", "project", "--yes"))
        self.assertEqual(self.text("precious.json"), "{}")
        self.assertFalse(os.path.exists(self.path("mcp.json")))

    def test_an_account_in_a_shared_file_is_told(self):
        self.agent({**people.accounts(people.WORK), "account.get": people.WORK})
        told = self.lanyard("setup", "claude", URL, "--scope", "project", "-u", "work", "--yes")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("need an account work", told.stderr)
        self.assertEqual(json.loads(self.text(".mcp.json", self.work))["mcpServers"]["acme-example"]["args"],
                         ["mcp", URL, "--account", "work"])


class Codex(ServerPrograms):
    def table(self):
        return tomllib.loads(self.text(CODEX).lstrip("\ufeff").replace("\r\n", "\n"))["mcp_servers"]["acme-example"]

    def test_the_entry_is_a_table_between_two_comments_and_undo_leaves_each_byte(self):
        texts = ["", 'model = "gpt-5.1"\n', '[mcp_servers.other]\ncommand = "x"\nargs = [\n  "[mcp_servers.acme-example]",\n]',
                 '[mcp_servers]\nother = { command = "x", args = ["]", \'}\'] }\n', "# only a comment",
                 'a = """\n[mcp_servers.acme-example]\n"""\nb = \'\'\'\n"\'\'\'\n[t]\nd = 1979-05-27 07:32:00 # x\n',
                 '\ufeffa = 1\r\n[b]\r\n"c d".e = [1, [2, {f = "]"}]]\r\n', "[[arrays]]\n[[arrays]]\nx = 1_000\n",
                 '[[a]]\nb = +1e3\n[a.c]\nd = "\\u00e9"\n[[a]]\nb = -inf\n[a.c]\nd = """\\\n  e"""\nf = 0xFF\n',
                 'a.b = true\na.c = 07:32:00\n[d.e]\n[d]\nf = 1979-05-27T00:32:00.5-07:00\n']
        for text in texts:
            with self.subTest(text):
                if text:
                    self.put(CODEX, text)
                self.setup("codex", URL)
                self.assertTrue(self.text(CODEX).startswith(text.rstrip("\r\n")))
                table = self.table()
                self.assertEqual(table["command"], os.path.join(self.bin, "lanyard"))
                self.assertEqual(table["args"], ["mcp", URL])
                self.assertIn("XDG_RUNTIME_DIR", table["env_vars"])
                self.assertIn("set up already", self.setup("codex", URL))
                self.answer("setup", "codex", "--undo")
                self.assertEqual(self.text(CODEX) if text else os.path.exists(self.path(CODEX)), text or False)

    def test_any_spelling_of_the_table_counts_as_the_name(self):
        for text in ('[mcp_servers.acme-example]\nurl = "x"\n', '[mcp_servers."acme-example"]\n', "[ mcp_servers . 'acme-example' ]\n",
                     '[mcp_servers.acme-example.env]\nA = "b"\n', "[mcp_servers]\nacme-example = {}\n",
                     'mcp_servers.acme-example.command = "x"\n', "mcp_servers = {}\n", '[mcp_servers]\n"acme\\u002dexample".args = []\n'):
            with self.subTest(text):
                self.put(CODEX, text)
                self.assertIn("--name", self.refused(2, "setup", "codex", URL, "--yes"))
                self.assertEqual(self.text(CODEX), text)

    def test_what_is_no_toml_is_left_alone(self):
        for text in ("a = \n", "[a\n", '"""', 'a = "b', "a = [1, 2\n", "a = {b = 1\n", "nonsense\n", "a = 1 b = 2\n", "= 1\n",
                     "a = 1\na = 2\n", "[a]\n[a]\n", "a.b = 1\na = 2\n", "a = 1\n[a]\n", "[a]\n[[a]]\n", "a = tru\n", "a = x\n",
                     'a = "\\q"\n', 'a = "\x01"\n', "[a]\nb = 1\n[a.b]\n"):
            with self.subTest(text):
                self.put(CODEX, text)
                self.assertIn("can't be understood", self.refused(1, "setup", "codex", URL, "--yes"))
                self.assertEqual(self.text(CODEX), text)


class Words(ServerPrograms):
    def test_odd_addresses_and_names_are_refused_and_change_nothing(self):
        before = self.files()
        for url in ("http://mcp.acme.example/mcp", "https://u:p@h.example/mcp", "https://h.example/mcp#a", "https://h.example/*",
                    "https://h.example/${HOME}", "https://h.example/mcp?a=$HOME", 'https://h"x/', "https://h.example/\n", "mcp.acme",
                    "https://h.example/mcp?api_key=1", "https://h.example/mcp?a=1&access_token=2"):
            for program in ("claude", "codex"):
                self.refused(2, "setup", program, url, "--yes")
        for name in ("", "a b", "a.b", "-a", "a/b", "ä", "a" * 65, "a\n", "$a"):
            self.refused(2, "setup", "claude", URL, "--name", name, "--yes")
        self.refused(2, "setup", "gemini", URL, "--name", "a_b", "--yes")
        for words in (["claude"], ["git", "--name", "x"], ["git", "--scope", "user"], ["claude", URL, "--scope", "machine"],
                      ["claude", URL, "--role-arn", "x"]):
            self.refused(2, "setup", *words)
        self.assertEqual(self.files(), before)

    def test_the_proposed_name_comes_from_the_host(self):
        for url, name in (("https://mcp.notion.com/mcp", "notion-com"), ("https://mcp.example/", "mcp-example"),
                          ("http://127.0.0.1:8080/mcp", "127-0-0-1-8080"), ("https://API.acme.example/x?project=1", "api-acme-example")):
            written = json.loads(self.answer("setup", "claude", url, "--yes", "--json"))["written"]
            self.assertIn(f'    "{name}": {{', written[0]["lines"])
            self.assertEqual(json.loads(self.text(".claude.json"))["mcpServers"][name]["args"][1], url)

    def test_json_tells_what_was_written_and_removed(self):
        written = json.loads(self.answer("setup", "vscode", URL, "--yes", "--json"))["written"]
        self.assertEqual([change["place"] for change in written], [self.path(".config/Code/User/mcp.json")])
        self.assertEqual(json.loads("\n".join(written[0]["lines"])), json.loads(self.text(".config/Code/User/mcp.json")))
        self.assertEqual(json.loads(self.answer("setup", "vscode", URL, "--yes", "--json")), {"written": []})
        self.assertEqual(json.loads(self.answer("setup", "vscode", "--undo", "--json")), {"removed": written})
        self.assertEqual(json.loads(self.answer("setup", "vscode", "--undo", "--json")), {"removed": []})

    def test_no_agent_and_no_rule_is_needed_and_nothing_is_written_without_a_yes(self):
        agent = self.agent()
        before = self.files()
        asked = self.lanyard("setup", "claude", URL)
        self.assertEqual((asked.returncode, self.files()), (2, before))
        self.assertIn('"args": ["mcp", "https://mcp.acme.example/mcp"]', asked.stdout)
        self.setup("claude", URL)
        self.assertEqual(agent.calls, [])


class SkillTests(ServerPrograms):
    """`lanyard setup claude --skill`: a text for the AI agent, and with a grant the tools of `lanyard mcp --self`."""

    FILE = ".claude/skills/lanyard/SKILL.md"

    def test_a_skill_is_written_and_taken_back(self):
        before = self.files()
        told = self.setup("claude", "--skill")
        self.assertIn("`lanyard setup claude --skill --grant FILE`", " ".join(told.split()))
        text = self.text(self.FILE)
        head, body = text.removeprefix("---\n").split("---\n", 1)
        self.assertEqual(re.findall("(?m)^(\\w+):", head), ["name", "description"])
        self.assertIn("name: lanyard\n", head)
        self.assertLess(len(head), 1024)
        for word in ("`accounts`", "`can`", "`request`", "`ask_access`", "`operations`", "`notApproved`", "`declined`",
                     "`notPermitted`", "Never ask for a password, key, token or code"):
            self.assertIn(word, body)
        after = self.files()
        self.assertIn("set up already", self.setup("claude", "--skill"))
        self.assertEqual(self.files(), after)
        self.answer("setup", "claude", "--skill", "--undo")
        self.assertEqual(self.files(), before)

    def test_with_a_grant_its_tools_are_there_too(self):
        grant = self.path("claude.grant")
        self.setup("claude", "--skill", "--grant", grant)
        self.assertEqual(json.loads(self.text(".claude.json")), {"mcpServers": {"lanyard": {
            "type": "stdio", "command": os.path.join(self.bin, "lanyard"), "args": ["mcp", "--self", "--grant", grant]}}})
        # Another server stays where the skill goes, and the other way round.
        self.setup("claude", URL)
        self.answer("setup", "claude", "--skill", "--undo")
        self.assertEqual(list(json.loads(self.text(".claude.json"))["mcpServers"]), ["acme-example"])
        self.assertFalse(os.path.exists(self.path(self.FILE)))

    def test_nothing_is_written_without_a_yes(self):
        before = self.files()
        asked = self.lanyard("setup", "claude", "--skill")
        self.assertEqual((asked.returncode, self.files()), (2, before))
        self.assertIn("name: lanyard", asked.stdout)
        self.assertIn("Add --yes", asked.stderr)

    def test_a_project_and_another_home_of_the_program(self):
        self.setup("claude", "--skill", "--scope", "project")
        self.assertTrue(os.path.exists(self.path(self.FILE, self.work)))
        self.assertFalse(os.path.exists(self.path(self.FILE)))
        directory = self.path("elsewhere")
        self.setup("claude", "--skill", environment={"CLAUDE_CONFIG_DIR": directory})
        self.assertTrue(os.path.exists(f"{directory}/skills/lanyard/SKILL.md"))

    def test_a_text_of_the_person_stays(self):
        self.put(self.FILE, "mine\n")
        self.assertIn("another text", self.refused(1, "setup", "claude", "--skill", "--yes"))
        self.assertEqual(self.text(self.FILE), "mine\n")
        # What the person changed since is not removed either.
        os.unlink(self.path(self.FILE))
        self.setup("claude", "--skill")
        self.put(self.FILE, self.text(self.FILE).replace("## Rules", "## My rules"))
        done = self.lanyard("setup", "claude", "--skill", "--undo")
        self.assertEqual(done.returncode, 1)
        self.assertIn("## My rules", self.text(self.FILE))

    def test_options_that_do_not_go_together(self):
        for words, told in (
            (["cursor", "--skill"], "--skill is for claude"), (["claude", URL, "--skill"], "takes no URL"),
            (["claude", URL, "--grant", "g"], "--grant goes with --skill"),
            (["claude", "--skill", "--grant", "g", "--scope", "project"], "yours alone"),
        ):
            with self.subTest(words):
                self.assertIn(told, self.refused(2, "setup", *words, "--yes"))


class HomelessTests(ServerPrograms):
    def test_without_a_home_no_file_of_the_working_directory_is_written(self):
        self.agent({**people.accounts(people.WORK), "rule.list": {"rules": []}, "rule.add": {"rule": "rul_1"}})
        told = self.refused(
            2, "setup", "git", "https://github.com/*", "--account", "work", "--yes",
            environment={"HOME": None, "XDG_CONFIG_HOME": os.path.join(self.place, "config")})
        self.assertIn("HOME is not set.", told)
        self.assertEqual(os.listdir(self.work), [])
