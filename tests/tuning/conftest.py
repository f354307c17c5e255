"""Put this folder on the path: its tests import from one another."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
