"""`lanyard setup`: what it writes for each tool, that the tool reads it, and that it takes back exactly that."""

import json
import os
import shutil
import subprocess

from test_credentials import LANYARD, Credentials

URL = "https://registry.acme.example"


class Setup(Credentials):
    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.place, "bin")
        os.mkdir(self.bin)
        for name in ("lanyard", "git-credential-lanyard", "docker-credential-lanyard", "bazel-credential-lanyard"):
            os.symlink(LANYARD, os.path.join(self.bin, name))

    def environment(self, **more):
        environment = super().environment(**more)
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

    def test_kubectl(self):
        if shutil.which("kubectl") is None:
            self.skipTest("there is no kubectl")
        self.put(".kube/config", self.tool("kubectl", "config", "view"))
        self.lanyard("setup", "kubectl", "-u", "work", "--yes")
        user = json.loads(self.tool("kubectl", "config", "view", "-o", "json"))["users"][0]
        self.assertEqual(user["name"], "lanyard-work")
        self.assertEqual(user["user"]["exec"]["args"], ["credential", "kubectl", "-u", "work"])
        self.lanyard("setup", "kubectl", "--undo", "--yes")
        self.assertFalse(json.loads(self.tool("kubectl", "config", "view", "-o", "json"))["users"])

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
