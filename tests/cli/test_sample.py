"""`flow sample`: the schema that it proposes, and its errors."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from blueprint.avro.sources.loading import parse_contract
from tests.cli.conftest import flow as flow

if TYPE_CHECKING:
    from tests.cli.conftest import Flow

BLUEPRINT = """
blueprint {
  streamlets {
    orders {
      class = streamlets.Source
      outlets.out = "id long"
      parameters { from = csv, options { path = "data/*.csv", separator = ";" } }
    }
    copy { class = streamlets.Sink, inlets.in = "id long", parameters { to = json, options.path = out } }
  }
  topics.orders { producers = [orders.out], consumers = [copy.in] }
}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a source and a file, which is the working directory."""
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.csv").write_text("id;name\n1;x\n2;\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text(flow: Flow) -> None:
    """The columns, the options and the schema are printed."""
    done = flow("sample", "data/a.csv")
    assert done.code == 0
    assert done.out.startswith("data/a.csv: 2 records of 1 file\n")
    assert 'option: separator = ";"' in done.out
    schema = done.out[done.out.index("\n{") :]
    assert [field.name for field in parse_contract(schema).record.fields] == ["id", "name"]


def test_a_streamlet(flow: Flow) -> None:
    """A streamlet of the blueprint is sampled with its options."""
    done = flow("sample", "orders", "--format", "json", "--rows", "1")
    assert done.code == 0
    data = json.loads(done.out)
    assert data["records"] == 1
    assert data["columns"] == [{"name": "id", "type": "bigint NOT NULL"}, {"name": "name", "type": "string NOT NULL"}]
    assert flow("sample", "copy").code == 2


def test_a_file_is_kept(flow: Flow, project: Path) -> None:
    """`--output` writes a schema, and does not replace a file."""
    schema = project / "schemas" / "orders.avsc"
    assert flow("sample", "orders", "--output", str(schema)).code == 0
    assert parse_contract(schema.read_text()).record.name == "Orders"
    schema.write_text("mine")
    refused = flow("sample", "orders", "--output", str(schema))
    assert (refused.code, schema.read_text()) == (1, "mine")
    assert "--overwrite" in refused.err
    assert flow("sample", "orders", "--output", str(schema), "--overwrite").code == 0
    assert schema.read_text() != "mine"


def test_a_table(flow: Flow, project: Path) -> None:
    """A table is sampled with the password of an option."""
    with closing(sqlite3.connect(project / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
        connection.execute("INSERT INTO t VALUES (1, 'a')")
    done = flow("sample", "sqlite:shop.db", "--table", "t", "--format", "json")
    assert json.loads(done.out)["columns"] == [
        {"name": "id", "type": "bigint NOT NULL"}, {"name": "name", "type": "string NOT NULL"},
    ]  # fmt: skip
    assert json.loads(done.out)["options"] == {"column": "id"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.csv"], "there is no file `nothing.csv`"),
        (["data/*.json"], "no file matches `data/*.json`"),
        (["ftp://host/x"], "another scheme"),
        (["http://127.0.0.1:1/x"], "refused"),
        (["sqlite:data/a.csv", "--table", "t"], "not a database"),
        (["sqlite:none.db", "--table", "t"], "unable to open"),
        (["postgresql://ann@127.0.0.1:1/x", "--table", "t"], "the database cannot be read"),
        (["postgresql://ann:s3cret@127.0.0.1:1/x", "--table", "t"], "`url` has a password"),
        (["sqlite:x.db"], "requires `table` or `query`"),
        (["data/a.csv", "--table", "t"], "not the URL of a database"),
        (["data/a.csv", "--as", "xml"], "there is no source `xml`"),
        (["data/a.csv", "--option", "seperator=;"], "`separator`"),
        (["data/a.csv", "--option", "header"], "key=value"),
        (["data/a.csv", "--option", "header=perhaps"], "header"),
    ],
)
def test_one_clear_error(flow: Flow, arguments: list[str], message: str) -> None:
    """A source that cannot be read is one error that names it, without a traceback."""
    done = flow("sample", *arguments)
    assert done.code == 1
    assert message in done.err
    assert re.sub("//ann.*@", "//(secret)@", arguments[0]) in done.err
    assert "s3cret" not in done.err
    assert not done.out
    assert "internal" not in done.err


def test_wrong_arguments(flow: Flow) -> None:
    """Options that do not go together are a usage error."""
    assert flow("sample", "data/a.csv", "--overwrite").code == 2
