#!/usr/bin/env python3
"""Makes the pictures of docs/page.md: each page of an agent with something on it, in both schemes. `make pictures` runs it."""

import io
import os
import sys
import unittest

from test_pages import PageFixture

from agent_fixture import ROOT, import_account
from browser import SCHEMES
from busy import add_key, grant, in_days, under_grant
from web_fixture import PAGES

PLACE = os.path.join(ROOT, "docs", "page")
WIDTH = 1180
MOST_HIGH = 900
MOST_BYTES = 60_000


class Pictures(PageFixture):
    def test_pictures(self):
        from PIL import Image

        os.makedirs(PLACE, exist_ok=True)
        claude = self.busy()
        self.more()
        self.asking(claude)
        asks = under_grant(self.client(self.agent), claude["secret"])
        asks.call("access.request", {
            "origins": [self.api.origin], "methods": ["DELETE"], "reason": "To delete the drafts that you asked me to tidy up."})
        account = self.caller.call("account.get", {"account": "alice"})["id"]
        queries = {"policies": f"?account={account}&capability=notes.write&offline=432000"}
        self.browser.resize(WIDTH)
        for scheme in SCHEMES:
            self.browser.scheme(scheme)
            for name in PAGES:
                self.go(f"/{name}{queries.get(name, '')}")
                picture = Image.open(io.BytesIO(self.browser.picture(MOST_HIGH))).convert("RGB")
                path = os.path.join(PLACE, f"{name}-{scheme}.webp")
                # Text stays sharp; the size is of a page that is loaded over a slow line.
                for quality in (90, 80, 65, 50):
                    picture.save(path, "WEBP", quality=quality, method=6)
                    if os.path.getsize(path) <= MOST_BYTES:
                        break
                self.assertLessEqual(os.path.getsize(path), MOST_BYTES, path)
                print(f"wrote docs/page/{name}-{scheme}.webp, {os.path.getsize(path)} bytes", file=sys.stderr)
        for approval in self.caller.call("approval.list", {})["approvals"]:
            self.caller.call("approval.decide", {"approval": approval["approval"], "verdict": "deny"})

    def more(self):
        """A second person, keys, a second AI agent, and a sign-out whose revocation waits for its provider."""
        import_account(self.caller, self.idp, "bob", alias="home")
        gone = import_account(self.caller, self.idp, "carol", alias="contractor")
        add_key(self.caller, "mail", self.api.origin)
        add_key(self.caller, "backup", self.api.origin, expiresAt=in_days(300))
        self.caller.call("account.switch", {"account": "alice"})
        codex = under_grant(self.client(self.agent), grant(self.caller, "codex", accounts=["alice", "home"])["secret"])
        for number in range(24):
            codex.call("request.send", {"account": "home", "method": "GET", "url": f"{self.api.origin}/notes/{number}"})
        grant(self.caller, "ci", accounts=["backup"], methods=["token.get"], agent=False, expiresInSeconds=2_592_000)
        for label in ("Note on 21", "Note on 23"):
            self.caller.call(
                "operation.enqueue", {"account": "alice", "capability": "notes.read", "label": label, "payload": {}})
        self.idp.stop()
        self.caller.call("account.signOut", {"account": gone, "mode": "hard", "revocationTimeoutSeconds": 1})


if __name__ == "__main__":
    unittest.main()
