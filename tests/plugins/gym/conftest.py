"""Make `own_worlds` importable by name, as a user's module in the working directory is."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
