"""Runs each client's own tests, by `Clients/LANG/conformance/test`."""

import os
import subprocess
import time


def run(prepared, programs, say):
    """True if all of them pass. A client without this file has its tests elsewhere."""
    programs = os.path.abspath(programs)
    passed = True
    for language in {language.folder: language for language in prepared}.values():
        test = os.path.join(language.directory, "conformance", "test")
        if not os.path.exists(test):
            continue
        began = time.monotonic()
        ran = subprocess.run(
            [test], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "LANYARD_CLIENT_BUILD": language.build,
                "LANYARD_AGENT": os.path.join(programs, "lanyard-agent"),
                "LANYARD_DEMO": os.path.join(programs, "lanyard-demo"),
                "LANYARD_CLI": os.path.join(programs, "lanyard-cli"),
            })
        seconds = time.monotonic() - began
        if ran.returncode == 0:
            say(f"{language.folder}: its own tests passed in {seconds:.0f} s")
        else:
            passed = False
            said = ran.stdout.decode(errors="replace")[-6000:]
            say(f"{language.folder}: its own tests FAILED after {seconds:.0f} s:\n{said}")
    return passed
