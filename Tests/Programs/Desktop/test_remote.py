"""Programs that see the agent's socket and nothing else of it: at another machine, and in a container.

The agent runs with --strict-grants, so such a program gets what its grant covers.
"""

import getpass
import json
import os
import shlex
import subprocess
import sys
import unittest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

from desktop_fixture import PATIENCE_SECONDS, ROOT, Desktop, program  # noqa: E402
from test_credentials import LANYARD  # noqa: E402
from lanyard import Client  # noqa: E402
from loopback import accepts, free_port  # noqa: E402
from forms import in_quick_form  # noqa: E402

DENIED = 6
"""The exit code of `lanyard` for what a grant does not cover."""

NOT_PERMITTED = 1007


class Strict(Desktop):
    """An agent with --strict-grants, and a grant for `token.get` of the account `work`."""

    def scene(self, *options, start=True):
        return super().scene("--strict-grants", *options, start=start)

    def client(self, scene):
        with open(os.path.join(scene.state, "owner-grant"), encoding="utf-8") as file:
            client = Client(scene.socket, timeout=PATIENCE_SECONDS, grant=file.read().strip())
        self.addCleanup(client.close)
        return client

    def setUp(self):
        super().setUp()
        self.grant = os.path.join(self.place, "grant")
        self.create_grant("token.get")

    def create_grant(self, *methods):
        """Creates a grant for the account `work`; its secret replaces that of the last one in the file."""
        if os.path.exists(self.grant):
            os.remove(self.grant)
        words = [word for method in methods for word in ("-m", method)]
        made = self.lanyard(
            "grant", "create", "there", *words, "-u", "work", "--expires-in", "1h", "--to", self.grant,
            LANYARD_STATE_DIR=self.agent.state)
        self.assertEqual(made.stdout, "")

    def assertStillSignedIn(self):  # noqa: N802
        self.assertEqual(self.caller.call("session.get", {"account": "work"})["state"], "active")

    def assertDenied(self, ran):  # noqa: N802
        self.assertEqual((ran.returncode, ran.stdout), (DENIED, ""), ran.stderr)
        self.assertIn("grant", ran.stderr)

    def check_what_the_grant_covers(self, lanyard):
        """`lanyard(*words, grant=True)` runs the command line where only the socket is seen."""
        self.assertEqual(lanyard("token", "work").stdout, self.token("work") + "\n")
        self.assertDenied(lanyard("token", "home"))
        self.assertDenied(lanyard("token", "work", "--force"))
        self.assertDenied(lanyard("token", "work", grant=False))
        sign_out = json.dumps({"account": "work", "mode": "hard"})
        self.assertDenied(lanyard("rpc", "account.signOut", sign_out))
        self.assertDenied(lanyard("rpc", "account.signOut", sign_out, grant=False))
        self.assertStillSignedIn()


@in_quick_form("test_a_forwarded_socket_serves_what_the_grant_covers")
class OverSSH(Strict):
    """The socket, forwarded by `ssh -R` to a machine of its own: an sshd on loopback, and a home that is not the agent's."""

    def setUp(self):
        super().setUp()
        self.there = os.path.join(self.place, "there")
        self.socket = os.path.join(self.there, "run", "agent.sock")
        os.makedirs(os.path.dirname(self.socket), 0o700)
        for name in ("host", "own"):
            subprocess.run(
                [program("ssh-keygen", "openssh-client"), "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(self.place, name)],
                check=True, capture_output=True, timeout=PATIENCE_SECONDS)
        self.port = self.start_sshd()
        with open(os.path.join(self.place, "host.pub"), encoding="utf-8") as file:
            self.write("known_hosts", f"[127.0.0.1]:{self.port} {file.read()}")

    def start_sshd(self):
        if os.geteuid() == 0 and not os.path.isdir("/run/sshd"):
            # The package's tmpfiles make it at the machine's start; sshd of root does not start without it.
            os.mkdir("/run/sshd", 0o755)
            self.addCleanup(os.rmdir, "/run/sshd")
        port = free_port()
        with open(os.path.join(self.place, "own.pub"), encoding="utf-8") as file:
            keys = self.write("authorized_keys", file.read())
        settings = self.write("sshd_config", f"""
Port {port}
ListenAddress 127.0.0.1
HostKey {self.place}/host
PidFile none
AuthorizedKeysFile {keys}
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
AllowStreamLocalForwarding remote
StreamLocalBindUnlink yes
LogLevel ERROR
""")
        sshd = self.background(program("sshd", "openssh-server"), "-D", "-e", "-f", settings)

        def is_ready():
            self.assertIsNone(sshd.poll(), "sshd ended")
            return accepts(port)

        self.until(is_ready, "sshd accepts connections")
        return port

    def ssh(self, *words):
        """The words of an ssh that forwards the socket, and runs a command there."""
        options = [
            f"UserKnownHostsFile={self.place}/known_hosts", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes", "BatchMode=yes",
            "ExitOnForwardFailure=yes", "LogLevel=ERROR"]
        return [
            program("ssh", "openssh-client"), "-F", "/dev/null", "-i", os.path.join(self.place, "own"), "-p", str(self.port),
            *(word for option in options for word in ("-o", option)),
            "-R", f"{self.socket}:{self.agent.socket}", f"{getpass.getuser()}@127.0.0.1", *words]

    def command(self, *words, grant=True):
        """A command line for the shell there, in which nothing of this machine's environment is left."""
        variables = {"PATH": os.path.dirname(LANYARD), "HOME": self.there, "LANYARD_SOCKET": self.socket, "LANYARD_NO_START": "1"}
        if grant:
            variables["LANYARD_GRANT_FILE"] = self.grant
        return shlex.join(["env", "-i", *(f"{name}={value}" for name, value in variables.items()), LANYARD, *words])

    def run_there(self, line):
        return subprocess.run(
            self.ssh(line), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
            env=self.environment())

    def test_a_forwarded_socket_serves_what_the_grant_covers(self):
        self.check_what_the_grant_covers(lambda *words, grant=True: self.run_there(self.command(*words, grant=grant)))

    def test_the_forwarded_socket_is_private_and_goes_with_the_connection(self):
        ran = self.run_there(f"stat -c '%a %u' {self.socket}")
        self.assertEqual((ran.stdout, ran.stderr), (f"600 {os.geteuid()}\n", ""))
        ran = subprocess.run(
            ["sh", "-c", self.command("token", "work")], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual((ran.returncode, ran.stdout), (3, ""), ran.stderr)

    def test_a_revoked_grant_ends_while_the_connection_stays(self):
        token = self.command("token", "work")
        script = f"{token} && echo first && read line && {token}; echo $?"
        with subprocess.Popen(
                self.ssh(script), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                env=self.environment()) as there:
            self.assertEqual(there.stdout.readline(), self.token() + "\n")
            self.assertEqual(there.stdout.readline(), "first\n")
            (grant,) = self.caller.call("grant.list", {})["grants"]
            self.caller.call("grant.revoke", {"grant": grant["grant"]})
            told, problem = there.communicate("\n", PATIENCE_SECONDS)
        self.assertEqual(told, f"{DENIED}\n")
        self.assertIn("grant", problem)


@in_quick_form("test_a_container_gets_what_the_grant_covers", "test_without_a_grant_every_method_is_refused")
class InAContainer(Strict):
    """A container of bubblewrap: namespaces of its own, no network, and of the agent the directory of its socket, read-only."""

    every_method = """
import json, lanyard

with lanyard.Client() as client:
    told = {}
    for method in client.call("rpc.discover", {})["methods"]:
        params = {each["name"]: each["value"] for each in method["examples"][0]["params"]}
        try:
            client.call(method["name"], params)
            told[method["name"]] = "served"
        except lanyard.LanyardError as error:
            told[method["name"]] = error.code
print(json.dumps(told))
"""
    what_is_seen = """
import os, socket, sys

for path in sys.argv[1:4]:
    print(os.path.exists(path))
print(os.listdir("/run/lanyard"))
try:
    os.remove("/run/lanyard/agent.sock")
except OSError as error:
    print(os.strerror(error.errno))
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[4])), 1)
except OSError as error:
    print(os.strerror(error.errno))
"""

    def command(self, *words, grant=True):
        variables = {"HOME": "/nowhere", "LANYARD_SOCKET": "/run/lanyard/agent.sock", "LANYARD_NO_START": "1",
                     "PYTHONPATH": "/client", "PYTHONDONTWRITEBYTECODE": "1"}
        seen = {"/usr": "/usr", os.path.dirname(LANYARD): "/opt/lanyard", os.path.join(ROOT, "Clients", "python", "src"): "/client",
                os.path.dirname(self.agent.socket): "/run/lanyard"}
        if grant:
            seen[self.grant] = "/grant"
            variables["LANYARD_GRANT_FILE"] = "/grant"
        options = ["--unshare-all", "--die-with-parent", "--clearenv", "--proc", "/proc", "--dev", "/dev"]
        for name in ("lib", "lib64"):
            options += ["--symlink", f"usr/{name}", f"/{name}"]
        for outside, inside in seen.items():
            options += ["--ro-bind", outside, inside]
        for name, value in variables.items():
            options += ["--setenv", name, value]
        return [program("bwrap", "bubblewrap"), *options, *words]

    def contained(self, *words, grant=True):
        return subprocess.run(
            self.command(*words, grant=grant), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_SECONDS)

    def python(self, script, *words):
        ran = self.contained("/usr/bin/python3", "-c", script, *words, grant=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_a_container_gets_what_the_grant_covers(self):
        self.check_what_the_grant_covers(
            lambda *words, grant=True: self.contained("/opt/lanyard/lanyard", *words, grant=grant))

    def test_lanyard_without_any_library_gives_a_token(self):
        ran = subprocess.run(
            [program("bwrap", "bubblewrap"), "--unshare-all", "--die-with-parent", "--clearenv", "--proc", "/proc",
             "--ro-bind", LANYARD, "/lanyard", "--ro-bind", os.path.dirname(self.agent.socket), "/run/lanyard",
             "--ro-bind", self.grant, "/grant", "--setenv", "LANYARD_SOCKET", "/run/lanyard/agent.sock",
             "--setenv", "LANYARD_GRANT_FILE", "/grant", "/lanyard", "token", "work"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        self.assertEqual((ran.returncode, ran.stdout), (0, self.token("work") + "\n"), ran.stderr)

    def test_a_credential_helper_works_under_a_grant_that_may_resolve(self):
        self.rule("https://git.example/acme/*", "work")
        self.rule("https://git.example/globex/*", "home")

        def ask(path, status):
            ran = subprocess.run(
                self.command("/opt/lanyard/lanyard", "credential", "git", "get"), capture_output=True, text=True,
                input=f"protocol=https\nhost=git.example\npath={path}\n\n", timeout=PATIENCE_SECONDS)
            self.assertEqual(ran.returncode, status, ran.stderr)
            return dict(line.split("=", 1) for line in ran.stdout.splitlines())

        self.assertEqual(ask("acme/app.git", DENIED), {})
        self.create_grant("token.get", "account.resolve")
        self.assertEqual(ask("acme/app.git", 0)["password"], self.token("work"))
        # Rules for other accounts do not exist for it, and git asks its next helper.
        self.assertEqual(ask("globex/app.git", 0), {})
        self.assertEqual(ask("other/app.git", 0), {})

    def test_without_a_grant_every_method_is_refused(self):
        told = json.loads(self.python(self.every_method))
        self.assertGreater(len(told), 50)
        for open_to_all in ("agent.hello", "rpc.discover"):
            self.assertNotEqual(told.pop(open_to_all), NOT_PERMITTED)
        self.assertEqual({method: code for method, code in told.items() if code != NOT_PERMITTED}, {})
        self.assertStillSignedIn()

    def test_the_container_sees_the_socket_alone(self):
        told = self.python(
            self.what_is_seen, self.agent.state, self.agent.socket, self.place, self.idp.issuer.rpartition(":")[2])
        self.assertEqual(told.splitlines(), [
            "False", "False", "False", "['agent.sock']", "Read-only file system", "Connection refused"])

    def test_the_socket_of_an_agent_that_starts_again_is_seen(self):
        script = "/opt/lanyard/lanyard token work && echo first && read line && /opt/lanyard/lanyard token work"
        with subprocess.Popen(
                self.command("/usr/bin/sh", "-c", script), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as there:
            self.assertEqual(there.stdout.readline(), self.token() + "\n")
            self.assertEqual(there.stdout.readline(), "first\n")
            self.agent.end()
            self.agent.start()
            self.caller = self.client(self.agent)
            told, _ = there.communicate("\n", PATIENCE_SECONDS)
        self.assertEqual(told, self.token() + "\n")


if __name__ == "__main__":
    unittest.main()
