"""Permissions at the running agent: grants, strict mode, and other users."""

import os
import pwd
import socket
import stat
import subprocess
import sys
import unittest

from agent_fixture import BIN, PATIENCE_SECONDS, Client, AgentFixture, LanyardError, add_provider, import_account

NOT_PERMITTED, LOCKED = 1007, 1001
LANYARD = os.path.join(BIN, "lanyard")


class Callers(AgentFixture):
    """alice and bob, on an agent with these options."""

    options = ()

    def setUp(self):
        self.practice = self.provider()
        self.agent = self.scene(*self.options)
        self.owner = self.person()
        add_provider(self.owner, self.practice)
        self.accounts = {
            person: import_account(self.owner, self.practice, person, alias=person) for person in ("alice", "bob")}

    def person(self):
        """A program of the agent's owner."""
        return self.with_grant(None)

    def with_grant(self, secret):
        client = Client(self.agent.socket, timeout=PATIENCE_SECONDS, grant=secret)
        self.addCleanup(client.close)
        return client

    def grant(self, *methods, accounts=("alice",), **members):
        return self.owner.call(
            "grant.create", {"client": "test", "accounts": list(accounts), "methods": list(methods), **members})


class GrantTests(Callers):
    def test_grant_limits_its_holder_to_its_accounts_and_methods(self):
        client = self.with_grant(self.grant("token.get")["secret"])
        self.assertTrue(client.call("token.get", {"account": "alice"})["accessToken"])
        told = {
            str(self.refused(NOT_PERMITTED, lambda: client.call("token.get", {"account": account})))
            for account in ("bob", "nobody", "acc_aaaaaaaaaaaaaaaaaaaaaaaaaa")}
        self.assertEqual(len(told), 1)
        self.refused(NOT_PERMITTED, lambda: client.call("account.list", {}))

    def test_revoked_grant_ends_at_once_and_stays_revoked_over_a_restart(self):
        made = self.grant("token.get")
        client = self.with_grant(made["secret"])
        client.call("token.get", {"account": "alice"})
        self.owner.call("grant.revoke", {"grant": made["grant"]})
        self.refused(NOT_PERMITTED, lambda: client.call("token.get", {"account": "alice"}))
        kept = self.grant("account.list")["secret"]
        self.agent.end()
        self.agent.start()
        self.refused(NOT_PERMITTED, lambda: self.with_grant(made["secret"]).call("agent.status", {}))
        self.assertEqual(len(self.with_grant(kept).call("account.list", {})["accounts"]), 1)

    def test_grant_secret_is_not_stored_on_the_disk(self):
        secret = self.grant("token.get")["secret"].encode()
        for folder, _, files in os.walk(self.agent.directory):
            for name in files:
                path = os.path.join(folder, name)
                if stat.S_ISREG(os.lstat(path).st_mode):
                    with open(path, "rb") as file:
                        self.assertNotIn(secret, file.read(), path)

    def test_audit_log_names_the_calling_program(self):
        """By the name that the client gives; else by the kernel's name, made safe to print."""
        program = (
            "import ctypes, socket, sys; ctypes.CDLL(None).prctl(15, b'\\x1b[2Jred\\n!', 0, 0, 0);"
            "s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode() + b'\\n');"
            "s.makefile('rb').readline()")
        line = '{"jsonrpc":"2.0","id":1,"method":"account.rename","params":{"account":"bob","alias":"bobby"}}'
        subprocess.run([sys.executable, "-c", program, self.agent.socket, line], timeout=PATIENCE_SECONDS, check=True)
        self.owner.call("account.rename", {"account": "bobby", "alias": "bob"})
        entries = [entry for entry in self.owner.call("audit.list", {})["entries"] if entry["event"] == "account.rename"]
        self.assertEqual([entry["client"] for entry in entries], ["?[2Jred", "lanyard-python"])

    @unittest.skipUnless(os.geteuid() == 0, "NOT TESTED: only root can become another user")
    def test_another_user_gets_no_answer_at_an_open_socket(self):
        """Also where the modes of directory and socket would allow the connection."""
        nobody = pwd.getpwnam("nobody").pw_uid
        path = self.agent.socket
        while path != "/":
            os.chmod(path, os.stat(path).st_mode | 0o777 if path == self.agent.socket else os.stat(path).st_mode | 0o011)
            path = os.path.dirname(path)
        child = os.fork()
        if child == 0:
            try:
                os.setuid(nobody)
                with socket.socket(socket.AF_UNIX) as client:
                    client.settimeout(PATIENCE_SECONDS)
                    client.connect(self.agent.socket)
                    try:
                        client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"agent.status"}\n')
                        got = client.recv(4096)
                    except (BrokenPipeError, ConnectionResetError):
                        got = b""
                os._exit(0 if got == b"" else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.owner.call("agent.status", {})


class StrictTests(Callers):
    """An agent that serves no caller without a grant."""

    options = ("--strict-grants",)

    @property
    def file(self):
        return os.path.join(self.agent.state, "owner-grant")

    def secret(self):
        with open(self.file) as file:
            return file.read().strip()

    def person(self):
        return self.with_grant(self.secret())

    def lanyard(self, *words, **environment):
        return subprocess.run(
            [LANYARD, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE_SECONDS,
            env={**self.agent.environment, "LANYARD_SOCKET": self.agent.socket, "LANYARD_STATE_DIR": self.agent.state,
                 "LANYARD_NO_START": "1", **environment})

    def test_strict_agent_serves_no_caller_without_a_grant(self):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(PATIENCE_SECONDS)
            raw.connect(self.agent.socket)
            lines = raw.makefile("rb")
            raw.sendall(b'{"jsonrpc":"2.0","id":1,"method":"token.get","params":{"account":"alice"}}\n')
            self.assertIn(b'"code":1007', lines.readline())
        client = self.with_grant(None)
        self.assertEqual(client.call("agent.hello", {"client": {"name": "t", "version": "1"}})["protocol"], "1")
        self.assertIn("openrpc", client.call("rpc.discover", {}))
        for method in ("agent.status", "account.list", "agent.lock", "agent.shutdown", "grant.list"):
            self.assertIn("lanyard grant create", str(self.refused(NOT_PERMITTED, lambda: client.call(method, {}))))
        self.assertFalse(self.owner.call("agent.status", {})["callersAreTrusted"])

    def test_owner_grant_is_private_and_new_at_each_start(self):
        status = os.stat(self.file)
        self.assertEqual((stat.S_IMODE(status.st_mode), status.st_uid), (0o600, os.geteuid()))
        first = self.secret()
        self.assertEqual(len(first), 43)
        # Each start makes another one; the last one's secret opens nothing.
        self.agent.kill()
        self.agent.start()
        self.assertNotEqual(self.secret(), first)
        self.refused(NOT_PERMITTED, lambda: self.with_grant(first).call("agent.status", {}))
        self.agent.end()
        self.assertFalse(os.path.exists(self.file))

    def test_owner_grant_works_while_the_vault_is_locked(self):
        made = self.grant("token.get")
        self.owner.call("agent.lock", {})
        self.refused(LOCKED, lambda: self.with_grant(made["secret"]).call("agent.status", {}))
        self.assertTrue(self.person().call("agent.status", {})["locked"])
        self.person().call("agent.unlock", {})
        self.assertTrue(self.with_grant(made["secret"]).call("token.get", {"account": "alice"})["accessToken"])

    def test_owners_programs_find_the_owner_grant(self):
        done = self.lanyard("token", "alice")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.lanyard("list").returncode, 0)
        # A program that sees only the socket is refused.
        done = self.lanyard("token", "alice", LANYARD_STATE_DIR="/nonexistent")
        self.assertEqual((done.returncode, done.stdout), (6, ""))
        self.assertIn("grant", done.stderr)

    def test_owner_grant_readable_by_others_is_not_used(self):
        os.chmod(self.file, 0o644)
        done = self.lanyard("token", "alice")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("chmod 600", done.stderr)

    def test_program_with_its_own_grant_uses_only_that(self):
        place = os.path.join(self.agent.directory, "ci-grant")
        done = self.lanyard("grant", "create", "ci", "-m", "token.get", "-u", "alice", "--expires-in", "7d", "--to", place)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(stat.S_IMODE(os.stat(place).st_mode), 0o600)
        # It presents that grant, and not the owner's, which is there too.
        self.assertEqual(self.lanyard("token", "alice", LANYARD_GRANT_FILE=place).returncode, 0)
        self.assertEqual(self.lanyard("token", "bob", LANYARD_GRANT_FILE=place).returncode, 6)
        self.assertEqual(self.lanyard("list", LANYARD_GRANT_FILE=place).returncode, 6)

    def test_agent_without_strict_mode_removes_the_owner_grant(self):
        self.agent.kill()
        self.assertTrue(os.path.exists(self.file))
        again = subprocess.Popen(
            [option for option in self.agent.command if option != "--strict-grants"], env=self.agent.environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            client = Client(self.agent.socket, timeout=PATIENCE_SECONDS)
            self.addCleanup(client.close)
            client.connect(wait_seconds=PATIENCE_SECONDS)
            self.assertTrue(client.call("agent.status", {})["callersAreTrusted"])
            self.assertFalse(os.path.exists(self.file))
        finally:
            again.terminate()
            again.wait()


class OwnerGrantFileTests(AgentFixture):
    def test_owner_grant_that_can_not_be_written_prevents_the_start(self):
        scene = self.scene("--strict-grants", start=False)
        os.mkdir(scene.state, 0o700)
        os.makedirs(os.path.join(scene.state, "owner-grant", "full"))
        done = scene.run()
        self.assertEqual(done.returncode, 73)
        self.assertIn(b"owner-grant", done.stderr)


if __name__ == "__main__":
    unittest.main()
