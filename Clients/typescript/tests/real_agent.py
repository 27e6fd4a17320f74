"""A real agent with alice and bob signed in, for real-agent.test.ts.

Prints one line of JSON. Then obeys the words `kill` and `start` on its input, each answered by a line, and ends with it.
"""

import json
import os
import signal
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "Tests", "Bench"), os.path.join(ROOT, "Clients", "python", "src")]

import harness  # noqa: E402

with harness.Practice(os.path.abspath(os.environ["LANYARD_DEMO"])) as practice:
    with harness.Agent(os.path.abspath(os.environ["LANYARD_AGENT"])) as agent:
        with agent.client() as client:
            provider = harness.add_provider(client, practice.issuer)
            accounts = {person: harness.sign_in(client, provider, person, person) for person in ("alice", "bob")}
        print(json.dumps({"socket": agent.socket, "issuer": practice.issuer, **accounts}), flush=True)
        for word in sys.stdin:
            if word.strip() == "kill":
                agent.end(signal.SIGKILL)
            else:
                agent.start()
            print(word.strip(), flush=True)
