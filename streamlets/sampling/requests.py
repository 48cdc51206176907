"""`SampledSource`: a source as a user names it on the command line, with its type and its options."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from blueprint.settings.options import option_problems, typed_options
from blueprint.spelling import alternatives
from streamlets.ingress.batch_sources.context import SourceContext
from streamlets.ingress.sources.registry import SOURCES
from streamlets.ingress.sources.sample import Sample, SampleError
from streamlets.ingress.triggerers.files import directory_of, matching_files
from streamlets.sampling.proposal import Proposal, propose

_SUFFIXES = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json",
    ".avro": "avro", ".parquet": "parquet", ".txt": "text", ".log": "text",
}  # fmt: skip
_COMPRESSED = (".gz", ".bz2", ".xz")
_DATABASES = ("sqlite:", "duckdb:", "postgresql:", "jdbc:")


@dataclass(frozen=True, slots=True)
class SampledSource:
    """A source to sample.

    Arguments:
        type: the name of its type, as `from` of `streamlets.Source` has it.
        options: its options as they are written.
        name: a name for its records.
        directory: the directory in which relative paths start.
    """

    type: str
    options: Mapping[str, Any]
    name: str
    directory: Path = field(default_factory=Path.cwd)

    def sample(self, count: int) -> Sample:
        """Return a few records.

        Arguments:
            count: the number of records.

        Raises:
            SampleError: an option is wrong, or the source cannot be read.
        """
        try:
            source = SOURCES[self.type]
        except KeyError:
            raise SampleError(f"there is no source `{self.type}`; available: {alternatives(sorted(SOURCES))}") from None
        known = option_problems(f"the source `{self.type}`", source.traits, self.options, selector="from")
        written = [problem for problem in known if problem.path[1] in self.options]
        problems = written or list(source.option_problems(typed_options(source.traits, self.options, self.directory)))
        for problem in problems:
            raise SampleError("; ".join((problem.message, *problem.help)))
        options = typed_options(source.traits, self.options, self.directory)
        try:
            return source.sample(options, SourceContext(streamlet=self.name, directory=self.directory), count)
        except (OSError, ValueError) as error:
            raise SampleError(str(error)) from None

    def proposal(self, count: int) -> Proposal:
        """Return a schema for a sample.

        Arguments:
            count: the number of records.

        Raises:
            SampleError: as for `sample`, or the sample has no columns.
        """
        sample = self.sample(count)
        proposal = propose(sample, self.name, nested=SOURCES[self.type].traits.nested)
        if not proposal.schema["fields"]:
            raise SampleError("the sample has no columns" if not sample.columns else "no column can be a field")
        return proposal


def source_of(
    text: str, form: str | None = None, table: str | None = None, options: Sequence[str] = ()
) -> SampledSource:
    """Return the source that a user names.

    Arguments:
        text: the path of a file, a directory or a pattern, or the URL of a server or a database.
        form: the type of the source; None to find it out.
        table: the table of a database.
        options: further options, as `key=value`.

    Raises:
        SampleError: its type is not clear, or an option is not `key=value`.
    """
    given = _given(options)
    if text.lower().startswith(("http://", "https://")):
        named = PurePosixPath(urlsplit(text).path).name
        return SampledSource(form or "http", {"url": text, **given}, _plain_name(named or str(urlsplit(text).hostname)))
    if text.lower().startswith(_DATABASES):
        of = {"table": table} if table is not None else {}
        return SampledSource(form or "jdbc", {"url": text, **of, **given}, _plain_name(table or "rows"))
    if table is not None:
        raise SampleError(f"`{text}` is not the URL of a database, which has tables")
    if re.match(r"[a-z][a-z0-9+.-]+://", text, re.IGNORECASE):
        raise SampleError(f"`{text}` has another scheme than `http:`, `https:`, `sqlite:`, `duckdb:` or `postgresql:`")
    path = Path(text).expanduser()
    files = (
        [path] if path.is_file() else matching_files(path.absolute()) if path.is_dir() or glob.has_magic(text) else []
    )
    if not files:
        what = (
            "no file matches"
            if glob.has_magic(text)
            else "there is no file in"
            if path.is_dir()
            else "there is no file"
        )
        raise SampleError(f"{what} `{text}`")
    tab = {"separator": "\t"} if _suffix(files[0]) == ".tsv" else {}
    name = directory_of(path.absolute()).name if glob.has_magic(text) else path.absolute().name
    return SampledSource(
        form or _type_of(files, text), {"path": text, **tab, **given}, _plain_name(name or files[0].name)
    )


def _type_of(files: Sequence[Path], text: str) -> str:
    """Return the type of files by the ends of their names."""
    types = {_SUFFIXES.get(_suffix(file)) for file in files}
    if len(types) == 1 and (type := types.pop()) is not None:
        return type
    ends = ", ".join(sorted({f"`{_suffix(file)}`" for file in files if _suffix(file)})) or "no ending"
    known = alternatives(sorted(set(_SUFFIXES.values())))
    raise SampleError(f"the type of `{text}` is not clear from its names, which end with {ends}: use --as with {known}")


def _suffix(path: Path) -> str:
    """Return the end of a name before the one of its compression."""
    name = path.with_suffix("") if path.suffix.lower() in _COMPRESSED else path
    return name.suffix.lower()


def _plain_name(text: str) -> str:
    """Return a name of lower-case letters, digits and `-`, which begins with a letter."""
    stem = text.partition(".")[0] if not text.startswith(".") else text[1:]
    name = re.sub(r"[^a-z0-9]+", "-", re.sub(r"([a-z])([A-Z])", r"\1-\2", stem).lower()).strip("-")
    return name if name[:1].isalpha() else f"source-{name}".strip("-")


def _given(options: Sequence[str]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for option in options:
        key, sign, value = option.partition("=")
        if not sign or not key.strip():
            raise SampleError(f"`{option}` is not an option: write `--option key=value`")
        name, _, reference = key.strip().rpartition(".")
        if name and reference in ("env", "file"):
            given[name] = {reference: value}
        else:
            given[key.strip()] = value
    return given
