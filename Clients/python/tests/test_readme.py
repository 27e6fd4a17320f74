"""The README's examples, run one by one against a scripted agent."""

import contextlib
import io
import os
import re
import sys
import unittest
from typing import Any, Dict, Iterator, List
from unittest import mock

from .fake_agent import TOKEN, FakeAgent, Fault, Peer
from .test_auth import library

README = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "README.md")


def examples() -> Dict[str, str]:
    """The python blocks, under their headings."""
    with open(README, encoding="utf-8") as file:
        text = file.read()
    found: Dict[str, str] = {}
    heading = ""
    for line, block in re.findall(r"^#+ ([^\n]+)$|^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        heading = line or heading
        if block:
            found[f"{heading} {len(found) + 1}"] = block
    return found


def libraries(source: str) -> List[str]:
    """The modules of other packages that an example imports."""
    modules = re.findall(r"^(?:import|from) ([\w.]+)", source, re.MULTILINE)
    return [name for name in modules if name.split(".")[0] in ("azure", "google", "httpx", "keyring", "requests")]


@contextlib.contextmanager
def web() -> Iterator[None]:
    """Answers the requests of the libraries, which would go to hosts that do not exist."""
    with contextlib.ExitStack() as patches:
        if "requests" in sys.modules:
            requests: Any = sys.modules["requests"]

            def send(adapter: Any, request: Any, **options: Any) -> Any:
                response = requests.Response()
                response.status_code, response.url, response.request = 200, request.url, request
                response._content, response.connection = b"[]", adapter
                return response

            patches.enter_context(mock.patch.object(requests.adapters.HTTPAdapter, "send", send))
        if "httpx" in sys.modules:
            httpx: Any = sys.modules["httpx"]
            answer = lambda transport, request: httpx.Response(200, content=b"[]", request=request)
            patches.enter_context(mock.patch.object(httpx.HTTPTransport, "handle_request", answer))
        yield


class Readme(unittest.TestCase):
    def test_the_examples_run(self) -> None:
        self.assertGreaterEqual(len(examples()), 7)
        for name, source in examples().items():
            with self.subTest(example=name), FakeAgent() as agent:
                for module in libraries(source):
                    library(module)
                script(agent)
                printed = io.StringIO()
                environment = mock.patch.dict(os.environ, {"LANYARD_SOCKET": agent.path})
                with environment, web(), contextlib.redirect_stdout(printed):
                    exec(compile(source, f"README.md, {name}", "exec"), {"__name__": "__main__"})
                self.assertNotIn("secret", printed.getvalue())
                if name.startswith("Errors"):
                    self.assertEqual(printed.getvalue(), "acc_retired outcomeUnknown ['reauthenticate']\n")
                if name.startswith("Signing in"):
                    self.assertIn("Signed in: acc_alice", printed.getvalue())


def script(agent: FakeAgent) -> None:
    def token(request: Dict[str, Any], peer: Peer) -> Dict[str, Any]:
        if request["params"]["account"] == "retired":
            data = {"account": "acc_retired", "reason": "outcomeUnknown", "remedies": ["reauthenticate"]}
            raise Fault(2004, "reauthenticationRequired", **data)
        return TOKEN

    def subscribe(request: Dict[str, Any], peer: Peer) -> None:
        peer.subscription = "sub-1"
        peer.answer(request, {"subscription": "sub-1", "epoch": "epoch-1", "sequence": 0, "gap": False})
        for sequence, kind in enumerate(["session.expired", "event.gap", "account.switched"], 1):
            peer.event(sequence, kind)

    begun = {"signIn": "s1", "flow": "device", "expiresAt": "2030-01-01T00:00:00.000Z"}
    begun.update({"verificationUri": "https://idp.example/device", "userCode": "ABCD-EFGH"})
    agent.on("token.get", token)
    agent.on("token.reject", token)
    agent.on("event.subscribe", subscribe)
    agent.on("signIn.begin", lambda request, peer: begun)
    agent.on("signIn.wait", lambda request, peer: {"status": "completed", "account": "acc_alice"})


if __name__ == "__main__":
    unittest.main()
