"""Print a file for Prometheus or Grafana: `python -m streamlets.metrics alerts.yml`, or `dashboard.json`."""

from __future__ import annotations

import sys
from pathlib import Path

FILES = ("alerts.yml", "dashboard.json")


def main(arguments: list[str]) -> int:
    """Print the file that is named; return the exit code."""
    if len(arguments) != 1 or arguments[0] not in FILES:
        sys.stderr.write(f"usage: python -m streamlets.metrics {'|'.join(FILES)}\n")
        return 2
    sys.stdout.write((Path(__file__).parent / arguments[0]).read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
