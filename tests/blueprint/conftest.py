"""Makes `paper` (streamlets on paper) importable for the tests of the language."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
