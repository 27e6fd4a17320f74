"""`lanyard setup`: what it writes for each tool, that the tool reads it, and that it takes back exactly that."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import unittest

from test_credentials import LANYARD, Credentials

URL = "https://registry.acme.example"


def kubectl_is_missing():
    """Why the tests of kubectl can't run; nothing if they can."""
    if shutil.which("kubectl") is None:
        return "NOT TESTED: there is no kubectl"
    told = subprocess.run(["kubectl", "version", "--client", "--output", "json"], capture_output=True, text=True).stdout
    found = re.search(r'"v1\.(\d+)', told)
    return f"NOT TESTED: this kubectl is v1.{found[1]}" if found and int(found[1]) < 22 else ""


NO_KUBECTL = kubectl_is_missing()


class Setup(Credentials):
    more = {}

    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.place, "bin")
        os.mkdir(self.bin)
        for name in ("lanyard", "git-credential-lanyard", "docker-credential-lanyard", "bazel-credential-lanyard"):
            os.symlink(LANYARD, os.path.join(self.bin, name))

    def environment(self, **more):
        environment = super().environment(**{**self.more, **more})
        return {**environment, "PATH": self.bin + ":" + environment["PATH"]}

    def path(self, name):
        return os.path.join(self.place, name)

    def put(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(file.name, 0o640)

    def text(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def files(self):
        found = {}
        for folder, _, names in os.walk(self.place):
            for name in names:
                path = os.path.join(folder, name)
                if folder != self.bin and not os.path.islink(path):
                    with open(path, "rb") as file:
                        found[os.path.relpath(path, self.place)] = file.read()
        return found

    def tool(self, *words):
        return subprocess.run(words, capture_output=True, text=True, env=self.environment(), cwd=self.place, check=True).stdout

    def round_trip(self, *words):
        """Sets a tool up, and takes it back: every file is as it was."""
        before = self.files()
        self.lanyard("setup", *words, "--yes")
        during = self.files()
        self.assertNotEqual(before, during)
        again = self.lanyard("setup", *words, "--yes")
        self.assertIn("set up already", again.stdout)
        self.assertEqual(self.files(), during)
        self.lanyard("setup", words[0], "--undo")
        self.assertEqual(self.files(), before)

    def test_git(self):
        self.put(".gitconfig", "[user]\n\tname = Alice\n[credential]\n\thelper = store\n")
        self.round_trip("git")
        self.round_trip("git", "https://git.example/acme/*", "-u", "work")
        self.lanyard("setup", "git", "https://git.example/acme/*", "-u", "work", "--yes")
        asked = subprocess.run(
            ["git", "credential", "fill"], input="url=https://git.example/acme/app.git\n\n", capture_output=True, text=True,
            env=self.environment(GIT_TERMINAL_PROMPT="0"), cwd=self.place, check=True).stdout
        self.assertIn("password=" + self.token(), asked)
        listed = self.lanyard("setup").stdout
        self.assertRegex(listed, r"git +https://git.example/acme/\* +work +works")
        self.caller.call("account.signOut", {"account": "work", "mode": "soft"})
        row = json.loads(self.lanyard("setup", "--json").stdout)["tools"][0]
        self.assertFalse(row["works"])
        self.assertIn("signed out", row["problem"])

    def test_docker(self):
        self.put(".docker/config.json", '{\n\t"auths": {\n\t\t"other.example": {}\n\t},\n\t"experimental": 1.50\n}\n')
        self.round_trip("docker", URL, "-u", "work")
        self.lanyard("setup", "docker", URL, "-u", "work", "--yes")
        self.assertEqual(
            json.loads(self.text(".docker/config.json")),
            {"auths": {"other.example": {}}, "experimental": 1.5, "credHelpers": {"registry.acme.example": "lanyard"}})
        self.assertIn("1.50", self.text(".docker/config.json"))
        self.assertEqual(os.stat(self.path(".docker/config.json")).st_mode & 0o777, 0o640)
        self.assertEqual(self.chosen(URL), self.alice)
        ran = self.lanyard("setup", "podman", URL, "--yes")
        self.assertIn("podman is set up", ran.stdout)
        self.put(".docker/config.json", '{"credHelpers": {"other.example": "pass"}}')
        ran = self.lanyard("setup", "docker", "https://other.example", "--yes", status=1)
        self.assertIn("pass", ran.stderr)
        self.put(".docker/config.json", "{ not JSON")
        ran = self.lanyard("setup", "docker", "https://third.example", "--yes", status=1)
        self.assertEqual(self.text(".docker/config.json"), "{ not JSON")
        self.assertIn("Nothing was changed", ran.stderr)

    def chosen(self, url):
        return self.caller.call("account.resolve", {"url": url})["account"]

    def users(self):
        return {user["name"]: user["user"] for user in json.loads(self.tool("kubectl", "config", "view", "--raw", "-o", "json"))["users"] or []}

    @unittest.skipIf(NO_KUBECTL, NO_KUBECTL)
    def test_kubectl(self):
        self.put(".kube/config", self.tool("kubectl", "config", "view"))
        self.round_trip("kubectl", "-u", "work")
        self.lanyard("setup", "kubectl", "-u", "work", "--yes")
        executed = self.users()["lanyard-work"]["exec"]
        self.assertEqual(executed["command"], "lanyard")
        self.assertEqual(executed["args"], ["credential", "kubectl", "-u", "work"])
        self.assertEqual((executed["apiVersion"], executed["interactiveMode"]), ("client.authentication.k8s.io/v1", "IfAvailable"))
        self.lanyard("setup", "kubectl", "--undo", "--yes")
        self.assertFalse(self.users())

    def test_kubectl_that_is_too_old_is_told_and_nothing_is_changed(self):
        self.put(".kube/config", "kind: Config\napiVersion: v1\n")
        before = self.files()
        for version, fits in (("v1.20.2", False), ("v1.9.11", False), ("v1.21.14+k3s1", False), ("v1.22.0", True), ("v1.32.4", True)):
            with open(os.path.join(self.bin, "kubectl"), "w", encoding="utf-8") as file:
                file.write(
                    "#!/bin/sh\n[ \"$1\" = version ] || { echo NAME; exit; }\n"
                    f'echo \'{{"clientVersion": {{"major": "1", "gitVersion": "{version}"}}}}\'\n')
            os.chmod(file.name, 0o755)
            with self.subTest(version):
                told = self.lanyard("setup", "kubectl", "-u", "work", "--yes", status=1).stderr
                said = f"This kubectl is {version}, and takes credentials of a program only from v1.22 on. Nothing was changed."
                (self.assertNotIn if fits else self.assertIn)(said, " ".join(told.split()))
                os.remove(file.name)
                self.assertEqual(self.files(), before)

    @unittest.skipIf(NO_KUBECTL, NO_KUBECTL)
    def test_kubectl_keeps_comments_and_order(self):
        own = '- name: own\n  user: {token: "x#y"}  # mine\n'
        texts = [
            "", "\n", "# only a comment\n", "kind: Config\napiVersion: v1", "users:\nkind: Config\napiVersion: v1\n",
            "kind: Config # the kind\nusers: # who\n# the first\n" + own + "apiVersion: v1\n# the end\n",
            "apiVersion: v1\nkind: Config\nusers:\n" + own.replace("- ", "  - ").replace("\n  user", "\n    user"),
            "apiVersion: v1\r\nkind: Config\r\nusers:\r\n" + own.replace("\n", "\r\n") + "# end\r\n",
            "apiVersion: v1\nkind: Config\nusers: []\npreferences: {}  # none\n", "kind: Config\napiVersion: v1\nusers: null",
            '{"apiVersion": "v1", "kind": "Config", "users": [{"name": "own", "user": {"token": "x"}}]}',
            '{"kind": "Config", "apiVersion": "v1"}\n', '{"kind": "Config", "apiVersion": "v1", "users": []}',
        ]
        for text in texts:
            with self.subTest(text):
                with open(self.path("config"), "w", encoding="utf-8", newline="") as file:
                    file.write(text)
                with self.variables(KUBECONFIG=self.path("config")):
                    before = self.users()
                    self.round_trip("kubectl", "-u", "work")
                    self.lanyard("setup", "kubectl", "-u", "work", "--yes")
                    self.lanyard("setup", "kubectl", "-u", "home", "--yes")
                    self.assertEqual(set(self.users()), {*before, "lanyard-work", "lanyard-home"})
                    with open(self.path("config"), encoding="utf-8", newline="") as file:
                        now = file.read()
                    self.assertEqual(now.count("#"), text.count("#"))
                    self.lanyard("setup", "kubectl", "--undo")
                    with open(self.path("config"), encoding="utf-8", newline="") as file:
                        self.assertEqual(file.read(), text)

    @unittest.skipIf(NO_KUBECTL, NO_KUBECTL)
    def test_kubectl_in_a_form_that_can_not_be_changed_without_loss(self):
        for text in ("users: [{name: own, user: {token: x}}] # mine\n", '"users": # mine\n- name: own\n  user: {}\n',
                     "---\n# mine\nkind: Config\napiVersion: v1\n"):
            self.put(".kube/config", text)
            ran = self.lanyard("setup", "kubectl", "-u", "work", "--yes", status=1)
            self.assertIn("kubectl config set-credentials lanyard-work", ran.stderr)
            self.assertEqual(self.text(".kube/config"), text)
            # Nothing but the file is noted as changed.
            self.assertIn("wrote nothing", self.lanyard("setup", "kubectl", "--undo").stdout)
        # The hinted command does it.
        words = ran.stderr.split("`")[1]
        subprocess.run(["/bin/sh", "-c", words], env=self.environment(), check=True, capture_output=True)
        self.assertEqual(self.users()["lanyard-work"]["exec"]["args"], ["credential", "kubectl", "-u", "work"])

    @unittest.skipIf(NO_KUBECTL, NO_KUBECTL)
    def test_kubectl_that_wrote_the_file_anew(self):
        self.put(".kube/config", "kind: Config\napiVersion: v1\n")
        self.lanyard("setup", "kubectl", "-u", "work", "--yes")
        self.tool("kubectl", "config", "set-credentials", "own", "--token=x")
        self.lanyard("setup", "kubectl", "--undo")
        self.assertEqual(set(self.users()), {"own"})
        self.lanyard("setup", "kubectl", "-u", "work", "--yes")
        changed = self.text(".kube/config").replace("IfAvailable", "Never # mine")
        self.put(".kube/config", changed)
        ran = self.lanyard("setup", "kubectl", "--undo", status=1)
        self.assertIn("`kubectl config delete-user lanyard-work`", ran.stderr)
        self.assertEqual(self.text(".kube/config"), changed)

    @contextlib.contextmanager
    def variables(self, **more):
        self.more = more
        try:
            yield
        finally:
            self.more = {}

    def test_every_tool_leaves_no_file_where_there_was_none(self):
        tools = {
            "aws": ["-u", "work", "--role-arn", "arn:aws:iam::123456789012:role/deploy"], "bazel": [URL], "cargo": [],
            "claude": ["https://mcp.example/mcp"], "codex": ["https://mcp.example/mcp"], "cursor": ["https://mcp.example/mcp"],
            "docker": [URL], "gemini": ["https://mcp.example/mcp"], "git": [], "kubectl": ["-u", "work"], "pip": [],
            "podman": [URL], "skopeo": [URL], "terraform": [], "uv": [], "vscode": ["https://mcp.example/mcp"]}
        if NO_KUBECTL:
            del tools["kubectl"]
        for tool, words in tools.items():
            with self.subTest(tool):
                self.assertEqual(self.files(), {})
                self.round_trip(tool, *words)

    def test_bytes_are_as_they_were(self):
        role = "arn:aws:iam::123456789012:role/deploy"
        cases = {
            ".gitconfig": (["git", "https://h.example/a/*", "-u", "work"], [
                "", "\n", "[user]\n\tname = A", "[user]\r\n\tname = A\r\n", "[credential]\n", "# mine\n[credential \"https://h.example\"]\n",
                "[credential]\n\thelper =\n\thelper = store ; mine\n[user]\n\tname = A # me\n"]),
            ".bazelrc": (["bazel", URL], ["", "\n", "build --jobs=2", "a\r\nb\nc", "a\nb\r\nc\r\n"]),
            ".docker/config.json": (["docker", URL], [
                "", "\n", "{}", "{}\n", "{ }", "{\n}\n", '{"credHelpers":{}}', '{"credHelpers": {\n}}\n', '{\n  "auths": {}\n}',
                '{"auths":{},"credHelpers":{"x.example":"pass"}}\r\n']),
            ".config/pip/pip.conf": (["pip"], ["", "[global]", "[global]\r\na = b\nc = d", "[install]\nx = 1"]),
            ".cargo/config.toml": (["cargo"], ["", "[registry]", "[net]\nretry = 2"]),
            ".aws/config": (["aws", "-u", "work", "--role-arn", role], ["", "[default]\nregion = x"]),
            ".codex/config.toml": (["codex", "https://mcp.example/mcp"], ["", "model = \"x\"", "[mcp_servers.own]\ncommand = \"x\"\r\n"]),
        }
        for name, (words, texts) in cases.items():
            for text in texts:
                with self.subTest(name=name, text=text):
                    os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
                    with open(self.path(name), "w", encoding="utf-8", newline="") as file:
                        file.write(text)
                    self.round_trip(*words)
            os.unlink(self.path(name))

    def test_git_with_a_setting_that_the_person_added_beside(self):
        self.put(".gitconfig", "[user]\n\tname = A\n")
        self.lanyard("setup", "git", "https://h.example", "-u", "work", "--yes")
        self.tool("git", "config", "--global", "--add", "credential.https://h.example.helper", "store")
        self.lanyard("setup", "git", "--undo")
        self.assertEqual(self.text(".gitconfig"), "[user]\n\tname = A\n[credential \"https://h.example\"]\n\thelper = store\n")

    def test_lines_that_the_person_added_to_a_section_stay_in_it(self):
        role = "arn:aws:iam::123456789012:role/deploy"
        self.put(".aws/config", "[default]\nregion = x\n")
        self.lanyard("setup", "aws", "-u", "work", "--role-arn", role, "--yes")
        self.put(".aws/config", self.text(".aws/config") + "region = y\n")
        changed = self.text(".aws/config")
        self.assertIn("by hand", self.lanyard("setup", "aws", "--undo", status=1).stderr)
        self.assertEqual(self.text(".aws/config"), changed)
        self.put(".aws/config", changed + "[profile own]\nregion = z\n")
        self.assertIn("by hand", self.lanyard("setup", "aws", "--undo", status=1).stderr)
        self.put(".aws/config", changed.replace("region = y\n", "# mine\n[profile own]\nregion = z\n"))
        self.lanyard("setup", "aws", "--undo")
        self.assertEqual(self.text(".aws/config"), "[default]\nregion = x\n# mine\n[profile own]\nregion = z\n")

    def test_git_with_its_configuration_elsewhere(self):
        self.put(".config/git/config", "[user]\n\tname = A\n")
        self.round_trip("git")
        self.lanyard("setup", "git", "--yes")
        self.assertFalse(os.path.exists(self.path(".gitconfig")))
        self.put(".gitconfig", "[user]\n\tname = B\n")
        self.put(".gitconfig", "[credential]\n\thelper = lanyard\n")
        self.lanyard("setup", "git", "--undo")
        self.assertEqual(self.text(".config/git/config"), "[user]\n\tname = A\n")
        self.assertEqual(self.text(".gitconfig"), "[credential]\n\thelper = lanyard\n")
        os.unlink(self.path(".gitconfig"))
        with self.variables(GIT_CONFIG_GLOBAL=self.path("other")):
            self.round_trip("git")

    def test_a_file_that_its_tool_can_not_read_is_left_alone(self):
        for name, tool, text in ((".gitconfig", "git", "[credential\n"), (".cargo/config.toml", "cargo", "[registry\n"),
                                 (".config/uv/uv.toml", "uv", "a = [\n")):
            self.put(name, text)
            self.assertIn("Nothing was changed", self.lanyard("setup", tool, "--yes", status=1).stderr)
            self.assertEqual(self.text(name), text)

    def test_sections(self):
        self.put(".config/pip/pip.conf", "[global]\ntimeout = 60\n\n[install]\nuser = true\n")
        self.round_trip("pip")
        self.lanyard("setup", "pip", "--yes")
        self.assertEqual(
            self.text(".config/pip/pip.conf"),
            "[global]\n# lanyard setup pip: begin\nkeyring-provider = subprocess\n# lanyard setup pip: end\n"
            "timeout = 60\n\n[install]\nuser = true\n")
        self.lanyard("setup", "pip", "--undo", "--yes")
        self.put(".config/pip/pip.conf", "[global]\nkeyring-provider = import\n")
        ran = self.lanyard("setup", "pip", "--yes", status=1)
        self.assertIn("keyring-provider = import", ran.stderr)
        self.assertEqual(self.text(".config/pip/pip.conf"), "[global]\nkeyring-provider = import\n")
        self.put(".cargo/config.toml", "[registries.acme]\nindex = \"sparse+https://acme.example/\"\n")
        self.round_trip("cargo")
        self.put(".config/uv/uv.toml", "[pip]\nstrict = true\n")
        self.round_trip("uv")
        self.lanyard("setup", "uv", "--yes")
        self.assertTrue(self.text(".config/uv/uv.toml").startswith("# lanyard setup uv: begin\nkeyring-provider"))
        self.round_trip("terraform")
        self.round_trip("bazel", URL)
        self.lanyard("setup", "bazel", URL, "--yes")
        self.lanyard("setup", "bazel", "https://other.example", "--yes")
        self.lanyard("setup", "bazel", URL, "--undo", "--yes")
        self.assertNotIn(URL[8:], self.text(".bazelrc"))
        self.assertIn("other.example", self.text(".bazelrc"))

    def test_aws(self):
        role = "arn:aws:iam::123456789012:role/deploy"
        self.put(".aws/config", "[default]\nregion = eu-central-1\n")
        self.round_trip("aws", "-u", "work", "--role-arn", role)
        self.lanyard("setup", "aws", "-u", "work", "--role-arn", role, "--yes")
        self.assertIn(f"[profile lanyard-work]\ncredential_process = {self.bin}/lanyard credential aws -u work --role-arn {role}\n",
                      self.text(".aws/config"))
        self.lanyard("setup", "aws", "-u", "work", status=2)

    def test_a_link_stays_a_link(self):
        self.put("dotfiles/bazelrc", "build --jobs=2\n")
        os.symlink("dotfiles/bazelrc", self.path(".bazelrc"))
        self.lanyard("setup", "bazel", URL, "--yes")
        self.assertTrue(os.path.islink(self.path(".bazelrc")))
        self.assertIn("credential_helper=registry.acme.example=", self.text("dotfiles/bazelrc"))
        self.lanyard("setup", "bazel", "--undo", "--yes")
        self.assertEqual(self.text("dotfiles/bazelrc"), "build --jobs=2\n")

    def test_line_ends_and_spellings_of_other_editors(self):
        for text in ("[global]\r\nindex-url = x\r\n[install]\r\nno-input = true\r\n", "[ global ]\nindex-url = x",
                     "\ufeff[global]\nindex-url = x\n", "index-url = x"):
            self.put(".config/pip/pip.conf", text)
            self.round_trip("pip")
            self.lanyard("setup", "pip", "--yes")
            now = self.text(".config/pip/pip.conf")
            self.assertEqual(now.lower().count("global"), 1, now)
            self.lanyard("setup", "pip", "--undo")
        self.put(".config/pip/pip.conf", "[global]\r\nkeyring-provider: import\r\n")
        ran = self.lanyard("setup", "pip", "--yes", status=1)
        self.assertIn("keyring-provider: import", ran.stderr)
        for text in ("registry.global-credential-providers = []\n", 'registry.default = "x"\n', "registry = {}\n"):
            self.put(".cargo/config.toml", text)
            self.lanyard("setup", "cargo", "--yes", status=1)
            self.assertEqual(self.text(".cargo/config.toml"), text)

    def test_what_two_share_stays_until_both_are_gone(self):
        self.lanyard("setup", "pip", "--yes")
        self.lanyard("setup", "uv", "--yes")
        link = self.path(".local/bin/keyring")
        self.lanyard("setup", "pip", "--undo")
        self.assertTrue(os.path.islink(link))
        self.lanyard("setup", "uv", "--undo")
        self.assertFalse(os.path.islink(link))
        self.lanyard("setup", "git", "https://h.example/a/*", "-u", "work", "--yes")
        self.lanyard("setup", "git", "https://h.example/b/*", "-u", "home", "--yes")
        self.lanyard("setup", "git", "https://h.example/a/*", "--undo")
        self.assertEqual(self.tool("git", "config", "--global", "credential.https://h.example.helper"), "lanyard\n")
        self.assertEqual([rule["pattern"] for rule in self.caller.call("rule.list")["rules"]], ["https://h.example/b/*"])
        self.lanyard("setup", "git", "--undo")
        self.assertFalse(os.path.exists(self.path(".gitconfig")) and "lanyard" in self.text(".gitconfig"))

    def test_what_the_person_changed_stays_and_is_named(self):
        self.lanyard("setup", "bazel", URL, "--yes")
        changed = self.text(".bazelrc").replace("# lanyard setup", "build --jobs=1\n# lanyard setup", 2).replace(
            "build --jobs=1\n", "", 1)
        self.put(".bazelrc", changed)
        ran = self.lanyard("setup", "bazel", "--undo", status=1)
        self.assertIn("by hand", ran.stderr)
        self.assertEqual(self.text(".bazelrc"), changed)
        self.put(".bazelrc", "")
        self.lanyard("setup", "bazel", "--undo")
        self.lanyard("setup", "docker", URL, "--yes")
        ran = self.lanyard("setup", "docker", "--undo", status=1, DOCKER_CONFIG=self.path("elsewhere"))
        self.assertIn(".docker/config.json", ran.stderr)
        self.lanyard("setup", "docker", "--undo")
        self.assertFalse(os.path.exists(self.path(".docker/config.json")))

    def test_another_role_is_told_and_not_taken_for_the_first(self):
        role = "arn:aws:iam::123456789012:role/"
        self.lanyard("setup", "aws", "-u", "work", "--role-arn", role + "A", "--yes")
        ran = self.lanyard("setup", "aws", "-u", "work", "--role-arn", role + "B", "--yes", status=1)
        self.assertIn("other lines", ran.stderr)
        self.assertIn(role + "A", self.text(".aws/config"))

    def test_undo_after_a_rename(self):
        self.lanyard("setup", "git", "https://h.example/*", "-u", "work", "--yes")
        self.caller.call("account.rename", {"account": "work", "alias": "job"})
        self.caller.call("account.rename", {"account": "home", "alias": "work"})
        self.rule("https://h.example/*", "work")
        self.lanyard("setup", "git", "--undo")
        rules = self.caller.call("rule.list")["rules"]
        self.assertEqual([rule["account"] for rule in rules], [self.bob])

    def test_odd_words_are_refused_and_change_nothing(self):
        before = self.files()
        for url in ("https://", "https://u@h.example/a", "https://h.example/a?x", 'https://h"x/', "https://h]x.example/",
                    "https://h\nx.example/", "http://127.0.0.1.evil.example/", "http://localhost.evil.example",
                    "https://h.example:x", "https://h.example/$(id)", "https://h.example/`id`"):
            for tool in ("git", "bazel", "docker"):
                self.lanyard("setup", tool, url, "--yes", status=2)
        for role in ("x", "x\n[default]\ncredential_process = id", "arn:aws:iam::1:role/a b", "arn:aws:iam::1:role/a;id"):
            self.lanyard("setup", "aws", "-u", "work", "--role-arn", role, "--yes", status=2)
        self.assertEqual(self.files(), before)

    def test_json_of_another_form_is_left_alone(self):
        for text in ('{"credHelpers": "x"}', '{"credHelpers": ["x"]}', '{"credHelpers": null}', "[]",
                     '{"credHelpers": {"a": "1", "a": "2"}}', '{"credHelpers": {}, "credHelpers": {}}'):
            self.put(".docker/config.json", text)
            self.lanyard("setup", "docker", URL, "--yes", status=1)
            self.assertEqual(self.text(".docker/config.json"), text)

    def test_many_at_once_lose_no_record(self):
        hosts = [f"h{number}.example" for number in range(6)]
        running = [subprocess.Popen([LANYARD, "setup", "bazel", "https://" + host, "--yes"], env=self.environment(),
                                    stdout=subprocess.DEVNULL) for host in hosts]
        self.assertEqual([process.wait() for process in running], [0] * 6)
        told = json.loads(self.text(".config/lanyard/setup.json"))["entries"]
        self.assertEqual({entry["url"][8:] for entry in told}, set(hosts))
        for host in hosts:
            self.assertIn(f"--credential_helper={host}=", self.text(".bazelrc"))
        self.lanyard("setup", "bazel", "--undo")
        self.assertFalse(os.path.exists(self.path(".bazelrc")))

    def test_nothing_without_a_yes(self):
        before = self.files()
        ran = self.lanyard("setup", "git", status=2)
        self.assertIn("credential.helper = lanyard", ran.stdout)
        self.assertIn("--yes", ran.stderr)
        self.assertEqual(self.files(), before)
        # What the person wrote alike is not taken back.
        self.tool("git", "config", "--global", "credential.helper", "lanyard")
        self.assertIn("already", self.lanyard("setup", "git", "--yes").stdout)
        self.assertIn("wrote nothing", self.lanyard("setup", "git", "--undo", "--yes").stdout)
        self.assertEqual(self.tool("git", "config", "--global", "credential.helper"), "lanyard\n")
        for words in (["docker"], ["git", "http://git.example"], ["git", "--role-arn", "x"], ["--undo"], ["emacs"]):
            self.lanyard("setup", *words, status=2)
