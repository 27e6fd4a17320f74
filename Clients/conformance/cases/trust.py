"""The client speaks only to an agent of its own user."""

import os
import subprocess
import sys

from failures import CaseFailed, Skipped, patience, same
from trial import case

OTHER_USER = 65534

# Serves the socket as another user, and prints each byte that it gets.
SERVER = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
if sys.argv[2] == "own":
    listener.bind(sys.argv[1])
os.setgid(65534)
os.setuid(65534)
if sys.argv[2] != "own":
    listener.bind(sys.argv[1])
listener.listen(8)
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    while True:
        data = connection.recv(4096)
        if not data:
            break
        print("got", len(data), flush=True)
"""


@case("trust: a socket that another user serves gets nothing")
def other_user(t):
    if os.geteuid() != 0:
        raise Skipped("only root can serve a socket as another user")
    directory = os.path.join(t.directory, "shared")
    os.mkdir(directory, 0o777)
    os.chmod(directory, 0o777)
    os.chmod(t.directory, 0o711)
    t.agent.path = os.path.join(directory, "agent.sock")
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, t.agent.path, "theirs"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def end():
        server.kill()
        server.wait()
        server.stdout.close()

    t.closes(end)
    same(server.stdout.readline(), b"ready\n", "the first line of the server")
    t.opened(grant="not-a-real-grant")
    error = t.driver.error(t.call(params={"account": "work"}), "untrustedAgent")
    same(error["retryable"], False, "`retryable`")
    t.driver.finish()
    server.kill()
    server.wait(patience())
    said = server.stdout.read()
    if b"got" in said:
        raise CaseFailed("the client sent something to another user's process")
