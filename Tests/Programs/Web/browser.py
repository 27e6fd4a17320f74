"""A real browser for tests of the page: chromium by its driver, in either colour scheme and any width, and axe-core in it."""

from __future__ import annotations

import base64
import glob
import os
import shutil
import subprocess
import sys
import time
import unittest
import urllib.parse
from typing import Any, Callable, Dict, List

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGES = os.path.join(HERE, "..", "..", "..", ".build", "web", "lib", "python*", "site-packages")

WIDTHS = (360, 1280)
SCHEMES = ("light", "dark")


def missing(what: str) -> Exception:
    """Where something can not be had, tests say that they skip, unless LANYARD_REQUIRE_REAL=1 (.ci/run) asks for them."""
    if os.environ.get("LANYARD_REQUIRE_REAL") == "1":
        return AssertionError(f"{what} is missing, and LANYARD_REQUIRE_REAL=1")
    return unittest.SkipTest(f"{what} is missing")


def installed(name: str) -> str:
    """The path of a program of the set `web` of .ci/packages."""
    found = shutil.which(name)
    if found is None:
        raise missing(name)
    return found


def packages() -> str:
    """The folder of the packages of requirements.txt, which are installed once (see `install`)."""
    if subprocess.run([os.path.join(HERE, "install")]).returncode != 0:
        raise missing("a package index")
    return glob.glob(PACKAGES)[0]


class Browser:
    """A chromium without a window."""

    def __init__(self) -> None:
        chromium, driver = installed("chromium"), installed("chromedriver")
        place = packages()
        if place not in sys.path:
            sys.path.append(place)
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = chromium
        # Without a sandbox of its own: tests run as root, too, and the page is ours.
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-proxy-server",
                     "--disable-dev-shm-usage"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(driver), options=options)
        self.driver.set_page_load_timeout(20)
        with open(os.path.join(place, "selenium_axe_python", "axe-core", "axe.min.js"), encoding="utf-8") as file:
            self._axe = file.read()
        self.resize(1280)

    def close(self) -> None:
        self.driver.quit()

    def resize(self, width: int, height: int = 800) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def scheme(self, name: str) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def scripts(self, allowed: bool) -> None:
        self.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not allowed})

    def go(self, address: str) -> None:
        self.driver.get(address)

    @property
    def path(self) -> str:
        return urllib.parse.urlsplit(self.driver.current_url).path

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> List[Any]:
        return self.driver.find_elements("css selector", selector)

    def click(self, selector: str) -> None:
        """Clicks an element, and its successor where the page replaced it in between."""
        from selenium.common.exceptions import StaleElementReferenceException

        for _ in range(10):
            try:
                self.find(selector).click()
                return
            except StaleElementReferenceException:
                pass
        raise AssertionError(f"{selector} is replaced all the time")

    def text(self, selector: str = "main") -> str:
        """What a person reads there."""
        return self.run("const part = document.querySelector(arguments[0]); return part ? part.innerText : ''", selector)

    def until(self, condition: Callable[[], Any], what: str, seconds: float = 10) -> float:
        """Waits for what the browser shows by itself; how long it took."""
        began = time.monotonic()
        while True:
            try:
                if condition():
                    return time.monotonic() - began
            except Exception as error:  # The element was replaced meanwhile.
                if "stale" not in str(error) and "no such element" not in str(error):
                    raise
            if time.monotonic() - began > seconds:
                raise AssertionError(f"in vain: {what}; the page says:\n{self.text('body')[:1500]}")
            time.sleep(0.01)

    def press(self, *keys: str) -> None:
        """Presses keys, wherever the focus is. `Tab` and `Enter` are names, all else is typed."""
        from selenium.webdriver import ActionChains, Keys

        named: Dict[str, str] = {"Tab": Keys.TAB, "Enter": Keys.ENTER, "Space": Keys.SPACE, "Down": Keys.ARROW_DOWN}
        for key in keys:
            ActionChains(self.driver).send_keys(named.get(key, key)).perform()

    def point_at(self, selector: str) -> None:
        """Moves the pointer onto an element."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver, duration=0).move_to_element(self.find(selector)).perform()

    def click_there(self) -> None:
        """Clicks where the pointer is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver, duration=0).click().perform()

    def focused(self) -> Any:
        return self.driver.switch_to.active_element

    def tab_to(self, element_id: str, most: int = 200) -> None:
        """Goes on by the tabulator until this element has the focus."""
        for _ in range(most):
            if self.focused().get_attribute("id") == element_id:
                return
            self.press("Tab")
        raise AssertionError(f"the keyboard does not reach {element_id}")

    def overflow(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(self.run("return document.documentElement.scrollWidth - window.innerWidth"))

    def violations(self) -> List[str]:
        """What axe-core finds wrong, contrast of 4.5 included."""
        self.run(self._axe)
        found = self.driver.execute_async_script("axe.run(document).then(arguments[arguments.length - 1])")
        assert len(found["passes"]) > 10, "axe-core checked nothing"
        return [f"{each['id']}: {node['html'][:160]}" for each in found["violations"] for node in each["nodes"]]

    def errors(self) -> List[str]:
        """What the console says since the last time: refusals of the Content-Security-Policy, scripts that failed."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]

    def picture(self, most: int = 2000) -> bytes:
        """The whole page as PNG, at most so many pixels high."""
        width = self.run("return window.innerWidth")
        height = min(most, self.run("return document.documentElement.scrollHeight"))
        taken = self.driver.execute_cdp_cmd(
            "Page.captureScreenshot",
            {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}})
        return base64.b64decode(taken["data"])


def lynx(address: str, cookie: str) -> str:
    """A page as it reads without script and without style."""
    done = subprocess.run(
        ["curl", "--silent", "--noproxy", "*", "--header", f"Cookie: {cookie}", address], capture_output=True, check=True)
    read = subprocess.run(
        [installed("lynx"), "-dump", "-stdin", "-width=100", "-assume_charset=utf-8", "-display_charset=utf-8"],
        input=done.stdout, capture_output=True, check=True)
    return read.stdout.decode()


__all__ = ["SCHEMES", "WIDTHS", "Browser", "installed", "lynx", "missing"]
