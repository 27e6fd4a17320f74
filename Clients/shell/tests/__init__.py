"""The functions in bash and in zsh, through the real command, against a scripted agent and the real one."""

import os
import signal
import sys

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
# The scripted agent of the Python client's tests, that client, and the practice provider of the bench.
for part in ("Clients/python/tests", "Clients/python/src", "Tests/Bench"):
    sys.path.insert(0, os.path.join(ROOT, part))

# A test run that a shell started in the background has SIGINT ignored, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
