#!/usr/bin/env python3
"""Makes the pictures of docs/page.md: each page of an agent with something on it, in both schemes. `make pictures` runs it."""

import io
import os
import sys
import unittest

from test_pages import PageFixture

from agent_fixture import ROOT
from browser import SCHEMES
from web_fixture import PAGES

PLACE = os.path.join(ROOT, "docs", "page")
WIDTH = 1180
MOST_HIGH = 900
MOST_BYTES = 60_000


class Pictures(PageFixture):
    def test_pictures(self):
        from PIL import Image

        os.makedirs(PLACE, exist_ok=True)
        made = self.busy()
        self.asking(made)
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
        approval = self.caller.call("approval.list", {})["approvals"][0]["approval"]
        self.caller.call("approval.decide", {"approval": approval, "verdict": "deny"})


if __name__ == "__main__":
    unittest.main()
