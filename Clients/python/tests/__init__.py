"""`python3 -m unittest discover` in Clients/python runs these against the sources, installed or not."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src"))

# A test run that a shell started in the background has SIGINT ignored, and so would all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)
