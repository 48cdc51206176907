"""The page about applications without code: its commands are run as they are typed, and have the outputs on the page.

Only the addresses of the server and the database are those of the test.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.streamlets.egress.postgresql import postgresql_server as postgresql_server
from tests.streamlets.egress.postgresql import programs
from tests.streamlets.ingress.sources.api import serving

PAGE = Path(__file__).resolve().parents[2] / "docs" / "without-code.md"
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n((?:> .*\n)*)((?:(?!\$ ).*\n)*)", re.MULTILINE)
PRODUCTS = [
    {"id": 1, "name": "tea", "price": 4.5},
    {"id": 2, "name": "coffee", "price": 12.25},
    {"id": 3, "name": "cup", "price": 7},
    {"id": 4, "name": "cake", "price": 3},
]
ORDERS = {
    "a.csv": "id,product,quantity,day\n1,1,2,2026-01-30\n2,2,1,2026-01-30\n",
    "b.csv": "id,product,quantity,day\n3,1,4,2026-01-31\n4,4,1,2026-01-31\n",
}


@pytest.mark.spark
@pytest.mark.slow
def test_six_commands(tmp_path: Path, postgresql_server: str) -> None:
    """Each command succeeds, and shows what the page shows."""
    (tmp_path / "orders").mkdir()
    for name, text in ORDERS.items():
        (tmp_path / "orders" / name).write_text(text)
    directory, commands = tmp_path, 0
    bin = programs()
    assert bin is not None
    path = os.pathsep.join((str(Path(sys.executable).parent), str(bin), os.environ["PATH"]))
    environment = os.environ | {"PATH": path, "COLUMNS": "200", "PYTHONPATH": str(PAGE.parents[1])}
    with serving() as api:
        api.records = PRODUCTS
        addresses = {
            "https://shop.example.com/products": f"{api.url}/products",
            "postgresql://db.example.com/shop": postgresql_server,
        }
        for block in CONSOLE.findall(PAGE.read_text(encoding="utf-8")):
            for command, more, output in COMMAND.findall(block):
                commands += 1
                text = "\n".join([command, *(line[2:] for line in more.splitlines())])
                for shown, real in addresses.items():
                    text = text.replace(shown, real)
                if text.startswith("cd "):
                    directory /= text[3:]
                    continue
                done = subprocess.run(
                    ["bash", "-c", text], cwd=directory, env=environment, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
                if output:
                    assert done.stdout.splitlines() == output.splitlines()
    assert commands == 6
    saved = ds.dataset(directory / "out" / "sales", format="parquet", partitioning="hive").to_table().to_pylist()
    assert sorted((row["id"], row["total"]) for row in saved) == [(1, 9.0), (2, 12.25), (3, 18.0), (4, 3.0)]
    assert not list(directory.rglob("*.py"))
