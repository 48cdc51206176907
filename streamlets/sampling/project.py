"""A project that is made of sources: a blueprint, a schema for each source, and SQL that saves each stream."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from blueprint.catalog import SourceTraits
from blueprint.settings.options import option_problems, typed_options
from blueprint.sql.job import table_name
from blueprint.sql.literals import name_text
from streamlets.ingress.sources.registry import SOURCES
from streamlets.ingress.sources.sample import SampleError
from streamlets.sampling.inference import Doubt
from streamlets.sampling.proposal import Proposal
from streamlets.sampling.requests import source_of

_RESULTS = "results"
_FILES = ("sqlite:", "duckdb:")

_BLUEPRINT = """\
# Made by `flow new --from`: each source is read into a topic, and `{results}` saves it.

blueprint {{
  streamlets {{
{sources}
    {results} {{
      class = streamlets.Sql
      include "{results}.conf"
    }}
  }}
  topics {{
{topics}
  }}
}}
"""

_STATEMENTS = """\
# SQL between the sources: `CREATE TEMPORARY VIEW ... AS SELECT ...`, then `SAVE STREAM` the view.

parameters.statements = \"\"\"
{statements}
\"\"\"
"""

_SOURCE = """\
    {name} {{
      class = streamlets.Source
{doubts}      outlets.out = schemas/{name}.avsc
      parameters {{
        from = {type}
        options {{
{options}
        }}
      }}
    }}
"""


@dataclass(frozen=True, slots=True)
class ProjectSource:
    """A source of a project.

    Arguments:
        name: the name of its streamlet.
        type: the name of its type.
        options: its options, with paths that begin at the directory of the project.
        proposal: its schema.
    """

    name: str
    type: str
    options: dict[str, Any]
    proposal: Proposal


def project_sources(
    texts: Sequence[str], table: str | None, options: Sequence[str], directory: Path | None, rows: int
) -> tuple[Path, list[ProjectSource]]:
    """Return the directory of a project, and its sources with schemas for samples of them.

    Arguments:
        texts: the paths and URLs of the sources.
        table: the table of a database.
        options: further options as `key=value`, each for the sources that know it.
        directory: the directory; None for the name of the first source.
        rows: the number of records of a sample.

    Raises:
        SampleError: a source cannot be read, or needs an option.
    """
    plain = [source_of(text, table=table if _is_database(text) else None) for text in texts]
    for option in options:
        if not any(_knows(SOURCES[source.type].traits, option) for source in plain):
            raise SampleError(f"no source has the option `{option.partition('=')[0]}`")
    directory = directory or Path(plain[0].name)
    sources: list[ProjectSource] = []
    for text, found in zip(texts, plain, strict=True):
        if urlsplit(text.removeprefix("jdbc:")).password:
            help = "leave it out, and add `--option password.env=NAME`, with the variable that has it"
            raise SampleError(f"{text}: the URL has a password, which would be in the blueprint: {help}")
        traits = SOURCES[found.type].traits
        own = [option for option in options if _knows(traits, option)]
        source = source_of(text, found.type, table if _is_database(text) else None, own)
        try:
            proposal = source.proposal(rows)
            given = {**proposal.sample.options, **source.options}
            for problem in option_problems(f"the source `{source.type}`", traits, given, selector="from"):
                raise SampleError(f"{problem.message}: add `--option {problem.path[-1]}=...`")
            for problem in SOURCES[source.type].option_problems(typed_options(traits, given, Path.cwd())):
                raise SampleError(problem.message)
        except SampleError as error:
            raise SampleError(f"{text}: {error}") from None
        name = _unique(source.name, {_RESULTS, *(other.name for other in sources)})
        sources.append(ProjectSource(name, source.type, _rebased(given, directory), proposal))
    return directory, sources


def project_files(sources: Sequence[ProjectSource]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file of a project.

    Arguments:
        sources: its sources.
    """
    tables = {source.name: name_text(table_name(source.name)) for source in sources}
    statements = [
        f"  SAVE STREAM {table} TO parquet OPTIONS ('path' = 'out/{name}');" for name, table in tables.items()
    ]
    topics = [f"    {name} {{ producers = [{name}.out], consumers = [{_RESULTS}.{name}] }}" for name in tables]
    yield (
        "blueprint.conf",
        _BLUEPRINT.format(
            results=_RESULTS,
            sources="".join(_source_text(source) for source in sources).rstrip("\n"),
            topics="\n".join(topics),
        ),
    )
    yield f"{_RESULTS}.conf", _STATEMENTS.format(statements="\n".join(statements))
    for source in sources:
        yield f"schemas/{source.name}.avsc", source.proposal.text
    yield ".gitignore", ".flow/\nout/\n"


def _source_text(source: ProjectSource) -> str:
    doubts = [f"      # not sure: {_line(doubt)}\n" for doubt in source.proposal.doubts]
    options = [f"          {key} = {_value(value)}" for key, value in source.options.items()]
    return _SOURCE.format(name=source.name, type=source.type, doubts="".join(doubts), options="\n".join(options))


def _line(doubt: Doubt) -> str:
    return " ".join(f"{doubt.column}: {doubt.reason}".removeprefix(": ").split())


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {json.dumps(inner)}' for key, inner in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)


def _knows(traits: SourceTraits, option: str) -> bool:
    """Return whether a source has an option, which may be a part of a secret, such as `password.env`."""
    key = option.partition("=")[0].strip()
    known = {option.name for option in traits.options}
    return key in known or key.rpartition(".")[0] in known or any(key.startswith(prefix) for prefix in traits.passes_on)


def _is_database(text: str) -> bool:
    return text.lower().startswith(("sqlite:", "duckdb:", "postgresql:", "jdbc:"))


def _unique(name: str, taken: set[str]) -> str:
    """Return a name that is not taken."""
    numbered = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(other for other in numbered if other not in taken)


def _rebased(options: dict[str, Any], directory: Path) -> dict[str, Any]:
    """Return options whose paths begin at the directory of the project, where they began at the working directory."""
    rebased = dict(options)
    if "path" in options:
        rebased["path"] = _moved(str(options["path"]), directory)
    scheme, colon, location = str(options.get("url", "")).removeprefix("jdbc:").partition(":")
    if f"{scheme}{colon}" in _FILES:
        rebased["url"] = f"{scheme}:{_moved(location, directory)}"
    return rebased


def _moved(path: str, directory: Path) -> str:
    """Return a path as the project has it: relative if it is beside the project, otherwise absolute."""
    absolute, beside = Path(path).expanduser().absolute(), directory.absolute().parent
    near = absolute.is_relative_to(beside)
    return os.path.relpath(absolute, directory.absolute()) if near else str(absolute)
