"""Tests of evalkit.

Byte code is kept even where the environment forbids it: many tests start evalkit, and each would compile it anew.
"""

import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
