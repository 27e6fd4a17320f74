"""A person's browser: an `xdg-open` that fetches the page that it is given, and records where that leads."""

import json
import os
import sys
import time

PROGRAM = """#!{python}
import os, sys
open({record!r} + ".started", "w").close()
import http.client, json, urllib.parse
place = urllib.parse.urlsplit(sys.argv[1])
connection = http.client.HTTPConnection(place.netloc, timeout=20)
connection.request("GET", place.path)
answer = connection.getresponse()
with open({record!r} + ".new", "w") as file:
    json.dump([sys.argv[1:], answer.status, answer.getheader("Location")], file)
os.rename({record!r} + ".new", {record!r})
"""


class Browser:
    """`environment` is the desktop that it belongs to."""

    def __init__(self, place):
        self._record = os.path.join(place, "opened")
        programs = os.path.join(place, "bin")
        os.mkdir(programs)
        program = os.path.join(programs, "xdg-open")
        with open(program, "w") as file:
            file.write(PROGRAM.format(python=sys.executable, record=self._record))
        os.chmod(program, 0o755)
        self.environment = {"PATH": f"{programs}:/usr/bin:/bin", "DISPLAY": ":99"}

    def was_started(self):
        """Waits a second, since the browser runs on its own."""
        time.sleep(1)
        return os.path.exists(self._record + ".started")

    def opened(self):
        """Its arguments, and the address that it was sent on to; waits for it, since it runs on its own."""
        deadline = time.monotonic() + 20
        while not os.path.exists(self._record):
            if time.monotonic() > deadline:
                return None, None
            time.sleep(0.01)
        with open(self._record) as file:
            arguments, status, location = json.load(file)
        assert status == 303, status
        return arguments, location
