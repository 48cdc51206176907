"""The program of a spout: it prints its environment, replaces a secret file, fails in several ways, and delivers."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from streamlets import spout

own = {name: value for name, value in os.environ.items() if "hunter" in value or name.endswith("_FILE")}
file = Path(own["KEY_FILE"])
run = len(list(Path("marks").glob("feed-*")))
Path(f"marks/feed-{run}").touch()
print(own)
print(own, file=sys.stderr)
time.sleep(0.5)  # so that others can look at its environment
if run == 0:
    replaced = file.with_name("replaced")
    replaced.write_text(file.with_name("key.next").read_text())
    replaced.rename(file)
    print("wrong:", file.read_text(), *own.values(), file=sys.stderr)
    sys.exit(3)
if run == 1:
    raise ValueError(" ".join([file.read_text(), *own.values()]))
with spout.transaction("out") as transaction:
    transaction.put("records", '{"n": 1}')
