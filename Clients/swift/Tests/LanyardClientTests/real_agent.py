"""Starts the agent and the practice provider, signs alice and bob in, and tells where until standard input ends."""

import json
import os
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[".."] * 4))
sys.path[:0] = [os.path.join(ROOT, "Tests", "Bench"), os.path.join(ROOT, "Clients", "python", "src")]

import harness  # noqa: E402

with harness.Practice(os.environ["LANYARD_DEMO"]) as practice, harness.Agent(os.environ["LANYARD_AGENT"]) as agent:
    with agent.client() as client:
        provider = harness.add_provider(client, practice.issuer)
        accounts = [harness.sign_in(client, provider, person, person) for person in ("alice", "bob")]
    print(json.dumps({"socket": agent.socket, "issuer": practice.issuer, "accounts": accounts}), flush=True)
    sys.stdin.read()
