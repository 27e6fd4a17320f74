"""The site of `make site`: built without a warning, whole, and readable without scripts and without a network."""

import glob
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "Tests", "Programs"))

from forms import in_quick_form  # noqa: E402

BIN = os.environ.get("LANYARD_BIN", os.path.join(ROOT, ".build", "release"))
NO_INDEX = 75
# Versions that are there already, the newest last: not in the order of their letters.
OTHERS = ("0.9.0", "0.10.0", "1000.0.0")


class Loaded(html.parser.HTMLParser):
    """What a browser loads for a page by itself, and where its links lead."""

    def __init__(self, page):
        super().__init__()
        self.loaded, self.links, self.names = [], [], set()
        with open(page, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.names.update(filter(None, (named.get("id"), named.get("name"))))
        if tag == "a":
            self.links.append(named.get("href"))
        elif tag == "link" and not {"canonical", "next", "prev"} & set((named.get("rel") or "").split()):
            self.loaded.append(named.get("href"))
        elif tag in ("script", "img", "iframe", "source"):
            self.loaded.append(named.get("src"))


def is_outside(target):
    return re.match(r"(https?:)?//", target) is not None


@in_quick_form()
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        installed = subprocess.run([f"{ROOT}/.packaging/site/install"], capture_output=True, text=True)
        if installed.returncode == NO_INDEX and os.environ.get("LANYARD_REQUIRE_REAL", "0") != "1":
            raise unittest.SkipTest(f"NOT TESTED: no package index, so no MkDocs: {installed.stderr}")
        if installed.returncode != 0:
            raise AssertionError(installed.stderr)
        cls.place = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.place)
        for name in OTHERS:
            os.mkdir(f"{cls.place}/{name}")
            open(f"{cls.place}/{name}/index.html", "w", encoding="utf-8").close()
        built = subprocess.run(
            [f"{ROOT}/.build/site-tools/bin/python", f"{ROOT}/.packaging/site/build", cls.place, "--bin", BIN],
            capture_output=True, text=True)
        if built.returncode != 0:
            raise AssertionError(built.stdout + built.stderr)
        (cls.site,) = (path for path in glob.glob(f"{cls.place}/*/") if path.split("/")[-2] not in OTHERS)
        cls.pages = {page: Loaded(page) for page in glob.glob(f"{cls.site}**/*.html", recursive=True)}

    def read(self, page):
        """A page as lynx shows it, which knows no script."""
        if not shutil.which("lynx"):
            self.skipTest("NOT TESTED: no lynx")
        shown = subprocess.run(
            ["lynx", "-dump", "-nolist", "-width=200", "-display_charset=utf-8", "-localhost", self.site + page], check=True,
            stdout=subprocess.PIPE).stdout.decode()
        return " ".join(shown.split())

    def test_each_document_has_a_page_that_links_lead_to(self):
        reached, ahead = set(), [f"{self.site}index.html"]
        while ahead:
            page = ahead.pop()
            if page in reached or page not in self.pages:
                continue
            reached.add(page)
            ahead += [os.path.normpath(os.path.join(os.path.dirname(page), (link or "").split("#")[0]))
                      for link in self.pages[page].links]
        for document in glob.glob(f"{ROOT}/docs/**/*.md", recursive=True):
            name = os.path.relpath(document, ROOT)[:-3].replace("README", "index")
            self.assertIn(f"{self.site}{name}.html", reached)

    def test_pages_load_nothing_from_elsewhere(self):
        for page, found in self.pages.items():
            self.assertEqual([target for target in found.loaded if target and is_outside(target)], [], page)
        for sheet in glob.glob(f"{self.site}**/*.css", recursive=True):
            with open(sheet, encoding="utf-8") as file:
                self.assertNotRegex(file.read(), r"url\([\"']?(https?:)?//", sheet)

    def test_links_and_anchors_lead_somewhere(self):
        broken = []
        for page, found in self.pages.items():
            if page.endswith("/404.html"):
                continue
            for target in [*found.links, *found.loaded]:
                if not target or is_outside(target) or ":" in target:
                    continue
                path, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(page), path.split("?")[0])) if path else page
                path = os.path.join(path, "index.html") if os.path.isdir(path) else path
                if not os.path.exists(path) or anchor and path in self.pages and anchor not in self.pages[path].names:
                    broken.append((page[len(self.site):], target))
        self.assertEqual(broken, [])

    def test_text_is_there_without_scripts(self):
        self.assertIn("One small agent per person", self.read("index.html"))
        self.assertIn("Find the socket: $LANYARD_SOCKET", self.read("docs/clients.html"))
        self.assertIn("token.get", self.read("Schemas/generated/reference.html"))
        self.assertIn("lanyard login", self.read("man/lanyard-login.html"))
        self.assertIn("practice provider", self.read("man/lanyard-demo.html"))

    def test_versions_are_listed_and_the_newest_is_opened(self):
        with open(f"{self.place}/versions.json", encoding="utf-8") as file:
            listed = [entry["version"] for entry in json.load(file)]
        self.assertEqual(listed, ["1000.0.0", os.path.basename(self.site.rstrip("/")), "0.10.0", "0.9.0"])
        with open(f"{self.place}/index.html", encoding="utf-8") as file:
            self.assertIn("url=1000.0.0/index.html", file.read())

    def test_search_knows_the_text(self):
        with open(f"{self.site}search/search_index.json", encoding="utf-8") as file:
            self.assertIn("LANYARD_SOCKET", file.read())


if __name__ == "__main__":
    unittest.main()
