"""The client that docs/clients.md shows, run as it stands there."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import unittest

from agent_fixture import AgentFixture, PATIENCE_SECONDS, add_provider, import_account

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))


def program():
    with open(os.path.join(ROOT, "docs", "clients.md"), encoding="utf-8") as file:
        return re.search(r"^```perl\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL).group(1)


@unittest.skipUnless(shutil.which("perl"), "there is no perl")
class ClientGuide(AgentFixture):
    def perl(self, path, *arguments):
        return subprocess.run(
            ["perl", "-", *arguments], input=program(), capture_output=True, text=True, timeout=PATIENCE_SECONDS,
            env={**os.environ, "LANYARD_SOCKET": path})

    def test_it_gets_a_token(self):
        provider = self.provider()
        scene = self.scene()
        with scene.client() as client:
            add_provider(client, provider)
            account = import_account(client, provider, "alice", alias="alice")
        ran = self.perl(scene.socket, "alice")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertRegex(ran.stdout, rf"^{account}: a token for \d+ s, from (cache|refreshed|signIn)\n$")
        ran = self.perl(scene.socket, "no-such-account")
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("accountNotFound: ", ran.stderr)

    def test_it_says_that_no_agent_runs(self):
        ran = self.perl("/nonexistent/agent.sock")
        self.assertIn("no agent runs", ran.stderr)

    def test_it_ends_when_the_agent_goes_away(self):
        with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
            path = os.path.join(directory, "agent.sock")
            listener.bind(path)
            listener.listen()

            def hang_up():
                connection, _ = listener.accept()
                connection.recv(1024)
                connection.close()

            thread = threading.Thread(target=hang_up)
            thread.start()
            ran = self.perl(path)
            thread.join()
        self.assertIn("the agent went away", ran.stderr)

    def test_it_is_as_short_as_the_guide_says(self):
        lines = [line for line in program().splitlines() if line and not line.startswith("#")]
        self.assertLessEqual(len(lines), 30)


if __name__ == "__main__":
    unittest.main()
