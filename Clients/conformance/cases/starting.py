"""The client starts an agent where none runs, as the commands do."""

import os
import sys

from failures import CaseFailed, same
from trial import case

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# `lanyard-agent` for one case: notes how it was started, then behaves as the case says.
PROGRAM = """#!{python}
import json, os, socket, sys, time
sys.path.insert(0, {here!r})
from lines import HELLO, answer
with open({notes!r}, "a") as notes:
    notes.write(json.dumps({{"arguments": sys.argv[1:], "environment": dict(os.environ), "cwd": os.getcwd()}}) + "\\n")
{body}
"""

SERVE = """
path = sys.argv[sys.argv.index("--socket") + 1] if "--socket" in sys.argv else os.environ["LANYARD_SOCKET"]
if os.path.exists(path):
    os.unlink(path)
listener = socket.socket(socket.AF_UNIX)
time.sleep(0.2)
listener.bind(path)
listener.listen(64)
listener.settimeout(20)
import threading
def serve(connection):
    for text in connection.makefile("rb"):
        request = json.loads(text)
        if "id" in request:
            connection.sendall(answer(request, HELLO if request["method"] == "agent.hello" else {"served": True}))
    connection.close()
while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,)).start()
"""

REFUSE = """
sys.stderr.write("lanyard-agent: the vault of the case is broken\\n")
sys.exit(76)
"""


def installed(t, body, **environment):
    """Puts the program into `PATH` and starts the driver."""
    directory = os.path.join(t.directory, "bin")
    os.mkdir(directory)
    program = os.path.join(directory, "lanyard-agent")
    notes = os.path.join(t.directory, "starts")
    with open(program, "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(python=sys.executable, here=HERE, notes=notes, body=body))
    os.chmod(program, 0o755)
    path = directory + ":" + os.environ["PATH"]
    t.start_driver(PATH=path, **{"LANYARD_NO_START": "", **environment})

    def starts():
        try:
            with open(notes, encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    return starts


@case("starting: an agent where none runs", "start")
def starts_one(t):
    starts = installed(t, SERVE, SECRET_OF_THE_CASE="not-a-real-secret")
    t.driver.do("open", client="c")
    number = t.call("account.list")
    same(t.driver.result(number), {"served": True}, "the result")
    same(len(starts()), 1, "the number of starts")
    if "not-a-real-secret" in starts()[0]:
        raise CaseFailed("the agent got a variable of the client that it does not need")
    t.driver.do("close", client="c")
    t.driver.do("open", client="d")
    same(t.driver.result(t.call("account.list", client="d")), {"served": True}, "the result")
    same(len(starts()), 1, "the number of starts")


@case("starting: one agent for two clients at once", "start")
def one_for_two(t):
    starts = installed(t, SERVE)
    for client in ("a", "b"):
        t.driver.do("open", client=client)
    numbers = [t.call("account.list", client=client) for client in ("a", "b")]
    for number in numbers:
        same(t.driver.result(number), {"served": True}, "the result")
    if not starts():
        raise CaseFailed("no agent was started")


@case("starting: LANYARD_NO_START forbids it", "start")
def forbidden(t):
    starts = installed(t, SERVE, LANYARD_NO_START="1")
    t.driver.do("open", client="c")
    t.driver.error(t.call("account.list"), "agentNotRunning")
    same(starts(), [], "the starts")


@case("starting: a client that may not", "start")
def may_not(t):
    starts = installed(t, SERVE)
    t.driver.do("open", client="c", start=False)
    t.driver.error(t.call("account.list"), "agentNotRunning")
    t.driver.do("open", client="d", socket=os.path.join(t.directory, "other.sock"))
    t.driver.error(t.call("account.list", client="d"), "agentNotRunning")
    same(starts(), [], "the starts")


@case("starting: the agent's last words are in the error", "start")
def last_words(t):
    installed(t, REFUSE)
    t.driver.do("open", client="c")
    error = t.driver.error(t.call("account.list"), "agentStartFailed")
    if "the vault of the case is broken" not in error["message"]:
        raise CaseFailed(f"the message does not hold the agent's words: {error['message']}")
    same(error["retryable"], False, "`retryable`")


@case("starting: no agent is installed", "start")
def not_installed(t):
    t.start_driver(LANYARD_NO_START="", PATH=path_without_agent())
    t.driver.do("open", client="c")
    error = t.driver.error(t.call("account.list"), "agentStartFailed")
    if "lanyard-agent" not in error["message"]:
        raise CaseFailed(f"the message does not name the program: {error['message']}")


def path_without_agent():
    kept = [
        place for place in os.environ["PATH"].split(":") if not os.path.exists(os.path.join(place, "lanyard-agent"))]
    return ":".join(kept)


@case("starting: a stream that lost its agent starts none", "start", "events")
def stream_starts_none(t):
    starts = installed(t, SERVE)
    t.agent.listen()
    number = t.opening(connect=True, start=True)
    peer = t.agent.greeted()
    t.driver.result(number)
    t.subscribed(peer)
    t.agent.stop_listening()
    peer.hang_up()
    t.agent.no_peer(0.6)
    same(starts(), [], "the starts")
