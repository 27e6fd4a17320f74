"""`python3 -m unittest discover` in Clients/python runs these against the sources, installed or not."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "src"))
