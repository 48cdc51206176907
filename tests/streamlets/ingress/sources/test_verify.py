"""What `flow verify` says about `streamlets.Source`, with the places of the settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Flow, flow  # noqa: F401 - the fixture

BLUEPRINT = """blueprint {{
  streamlets.orders {{
    class = streamlets.Source
    outlets.out = "{schema}"
    parameters {{ {parameters} }}
  }}
  topics.orders.producers = [orders.out]
}}
"""
ORDER = "id long, product string, price double, tags array<string>"
FLAT = "id long, product string, price double"


def findings(flow: Flow, directory: Path, parameters: str, schema: str = FLAT) -> list[tuple[str, str, list[str]]]:  # noqa: F811
    """Return the code, the headline and the help of each finding."""
    (directory / "data").mkdir(exist_ok=True)
    (directory / "blueprint.conf").write_text(BLUEPRINT.format(parameters=parameters, schema=schema))
    found = json.loads(flow("verify", str(directory), "--format", "json").out)["diagnostics"]
    findings = [(finding["code"], finding["headline"], finding["help"]) for finding in found]
    return [finding for finding in findings if finding[0] != "topic-without-consumers"]


@pytest.mark.parametrize(
    ("parameters", "headline", "help"),
    [
        ("from = cvs", "there is no source `cvs`", "did you mean `csv`?"),
        ("from = csv, options { path = data, seperator = x }", "the source `csv` has no option `seperator`",
         "did you mean `separator`?"),
        ("from = csv", "the source `csv` requires the option `path`: a directory, or a pattern",
         "add `options { path = ... }` next to `from`"),
        ("from = csv, options { path = data, header = 3 }",
         "invalid value of the option `header` of the source `csv`: `3` is not a boolean", "write `true`"),
        ("from = csv, options { path = data, separator = ab }", "`separator` must be one character, found `ab`", ""),
        ("from = csv, options { path = data, encoding = ut9 }", "there is no encoding `ut9`", "such as `utf-8`"),
        ("from = json, options { path = data, compression = zip }",
         "invalid value of the option `compression` of the source `json`: `zip` is not one of", ""),
        ("from = csv, options { path = data, file-column = prodct }",
         "`file-column` is `prodct`, which is not a column of the schema", "did you mean `product`?"),
        ("from = csv, options { path = data, line-column = product }",
         "the column `product` of `line-column` must have the type `int` or `bigint`, found string", ""),
        ("from = text, options.path = data", "the source `text` fills one column of type string",
         "name it with the option `column`"),
        ('from = http, options.url = "ftp://host/x"', "`url` must begin with `http://` or `https://`", ""),
        ('from = http, options.url = "http://a:b@host"', "`url` has a password, which is not a secret there",
         "set `user`"),
        ('from = http, options { url = "http://host", token = abc }', "it must refer to a secret, `{ env = NAME }`",
         "put the value into"),
        ('from = http, options { url = "http://host", paging = cursor }', "`paging = cursor` requires `cursor`",
         "set `cursor`"),
        ('from = http, options { url = "http://host", page-parameter = p }', "`page-parameter` has no meaning with",
         "remove"),
        ('from = http, options { url = "http://host", since-field = at }', "requires the option `since-parameter`", ""),
        ('from = http, options { url = "http://host", token.env = A, user = b, password.env = C }',
         "`token` and `user` cannot be combined", "remove"),
        ('from = jdbc, options { url = "oracle:x", table = t, column = id }', "the URL has the scheme `oracle`", ""),
        ('from = jdbc, options { url = "sqlite:x", column = id }', "the source `jdbc` requires `table` or `query`", ""),
        ('from = jdbc, options { url = "sqlite:x", table = t, column = product }', "must have the type `int`, ", ""),
        ("from = csv, options { path = data, encoding = base64 }", "there is no encoding `base64`", "such as `utf-8`"),
        ('from = http, options { url = "http://host", timeout = 0 s }', "`timeout` must be more than 0", ""),
        ('from = http, options { url = "http://host", max-size = 0 }', "`max-size` must be more than 0", ""),
        ('from = http, options { url = "http://host", headers { "X A" = 1 } }',
         "`X A` is not the name of a header", ""),
        ('from = http, options { url = "http://host", headers { X-A = "1\\r\\nX-B: 2" } }',
         "the value of the header `X-A` has a character that a header cannot have", ""),
        ('from = http, options { url = "http://host", token.env = T, header = "X:A" }',
         "`X:A` is not the name of a header", ""),
        ('from = jdbc, options { url = "postgresql://u:hush@host/d", table = t, column = id }',
         "`url` has a password, which is not a secret there", "set `user`"),
        ('from = jdbc, options { url = "jdbc:postgresql://host/d?user=u&password=hush", table = t, column = id }',
         "`url` has a password, which is not a secret there", "set `user`"),
        ("from = csv, options.path = data, max-tasks-per-batch = 0", "`max-tasks-per-batch` must be at least 1", ""),
        ("from = csv, options.path = data, discovery.trigerer = cron", "`discovery` has no key `trigerer`", ""),
    ],
)  # fmt: skip
def test_mistakes(flow: Flow, tmp_path: Path, parameters: str, headline: str, help: str) -> None:  # noqa: F811
    """One finding each, which names what was meant."""
    ((code, found, hints),) = findings(flow, tmp_path, parameters)
    assert code == "parameter-value" and headline in found and help in " ".join(hints)


def test_a_directory_that_does_not_exist(flow: Flow, tmp_path: Path) -> None:  # noqa: F811
    """The place is that of the option, although the triggerer reports it."""
    result = flow("verify", str(tmp_path)) if findings(flow, tmp_path, "from = csv, options.path = dta") else None
    assert result is not None and "there is no directory `dta`" in result.out
    assert "options.path = dta" in result.out


def test_a_path_of_a_store(flow: Flow, tmp_path: Path) -> None:  # noqa: F811
    """Only paths of this machine are read."""
    ((_, headline, help),) = findings(flow, tmp_path, 'from = csv, options.path = "s3://shop/data"')
    assert "`s3://shop/data` is not a path of this machine" in headline and "mount the storage" in help[0]


def test_columns_that_a_format_cannot_carry(flow: Flow, tmp_path: Path) -> None:  # noqa: F811
    """CSV has no arrays; JSON has them."""
    ((_, headline, _),) = findings(flow, tmp_path, "from = csv, options.path = data", ORDER)
    assert headline == "`orders`: the source `csv` cannot fill the nested or binary column `tags`"
    assert findings(flow, tmp_path, "from = json, options.path = data", ORDER) == []


@pytest.mark.parametrize(
    "parameters",
    [
        "from = csv, options.path = data",
        'from = csv, options.path = "data/**/*.csv", discovery.config.interval = 1 minute',
        "from = parquet, options.path = data, discovery.triggerer = immediate",
        "from = text, options { path = data, column = product }",
        'from = http, options { url = "https://host/x", token.env = T, headers { X-A = 1 }, since-field = id, since-parameter = s }',  # noqa: E501
        'from = http, options.url = "https://host/x", discovery.config.interval = 10 s',
        'from = jdbc, options { url = "sqlite:shop.db", table = orders, column = id, password.env = T }',
    ],
)
def test_valid_settings(flow: Flow, tmp_path: Path, parameters: str) -> None:  # noqa: F811
    """The default of `discovery` is completed."""
    assert findings(flow, tmp_path, parameters) == []


def test_a_triggerer_with_its_own_settings(flow: Flow, tmp_path: Path) -> None:  # noqa: F811
    """It gets none of the default."""
    parameters = 'from = csv, options.path = data, discovery { triggerer = cron, config.expression = "@daily" }'
    ((code, _, _),) = findings(flow, tmp_path, parameters)
    assert code == "discovery-next"


def test_a_sink_that_writes_what_a_source_reads(flow: Flow, tmp_path: Path) -> None:  # noqa: F811
    """It is a cycle through files."""
    findings(flow, tmp_path, "from = csv, options.path = data")
    with (tmp_path / "blueprint.conf").open("a") as file:
        file.write(
            "blueprint { streamlets.archive { class = streamlets.Sink, "
            "parameters { to = csv, options.path = data } }, topics.orders.consumers = [archive.in] }\n"
        )
    assert "data" in flow("verify", str(tmp_path)).out and flow("verify", str(tmp_path)).code == 1


@pytest.mark.parametrize(
    ("parameters", "change"),
    [
        ("from = json, options.path = data", "the source of `orders` is `json`, was `csv`"),
        ("from = csv, options.path = data, discovery.triggerer = immediate",
         "the triggerer of `orders` is `immediate`, was the default"),
        ("from = csv, options.path = data, discovery.config.interval = 1 s",
         "the configuration of the triggerer of `orders` changed"),
        ("from = csv, options { path = data, header = false }", "the parameter `options` of `orders` is"),
    ],
)  # fmt: skip
def test_changes(flow: Flow, tmp_path: Path, parameters: str, change: str) -> None:  # noqa: F811
    """What a change means for tasks that wait."""
    findings(flow, tmp_path, "from = csv, options.path = data")
    flow("describe", str(tmp_path), "-o", str(tmp_path / "old.json"))
    findings(flow, tmp_path, parameters)
    result = flow("verify", str(tmp_path), "--against", str(tmp_path / "old.json"))
    assert change in " ".join(result.out.split()) and (result.code == 0) == ("from = csv" in parameters)
