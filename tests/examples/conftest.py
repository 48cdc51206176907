"""The examples' modules are imported as their applications do it: from the blueprint's folder."""

from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"

for _example in ("flights", "sensors"):
    if str(EXAMPLES / _example) not in sys.path:
        sys.path.insert(0, str(EXAMPLES / _example))
