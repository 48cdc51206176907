"""From file names to parsed layers: reading files, choosing the format, following includes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.parser import Parser
from blueprint.hocon.source import MAX_DEPTH, Source, too_deep
from blueprint.hocon.tree import Layer, ObjectNode
from blueprint.hocon.values import Origin

_MAX_BYTES = 16 * 1024 * 1024
_MAX_FILES = 1000
_YAML = frozenset((".yaml", ".yml"))
_KNOWN = frozenset((".conf", ".json", *_YAML))
_MAY_BE_MEANT = _KNOWN | {".cfg", ".hocon"}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")

Path_ = tuple[str, ...]


def parse_file(path: Path | str, texts: Mapping[Path, str] = MappingProxyType({})) -> Layer:
    """Read a configuration file: YAML when its name ends in `.yaml` or `.yml`, HOCON (of which JSON is part) else.

    Arguments:
        path: as the user gave it; spans show it relative to the working directory when it is below that.
        texts: read in place of files, by their resolved paths.

    Returns:
        The layer. A file that is missing, empty, a folder, no UTF-8 text, larger than 16 MiB or not readable gives an
        empty layer with one finding. Includes are followed (HOCON specification, "Includes").
    """
    path = Path(path)
    name = shown_name(path)
    read = _Read(texts)
    text = read.text(path, name)
    if isinstance(text, Diagnostic):
        return Layer(name, _empty(name), (text,))
    if not text.strip():
        empty = finding("file-empty", f"`{name}` is empty", Span(name, 1, 1, 1, 1))
        return Layer(name, _empty(name), (empty,))
    source = Source(name, text)
    if path.suffix in _YAML:
        return _yaml(source)
    files = _Files(path.parent, (path.resolve(),), read=read)
    parser = Parser(source, files)
    root = parser.parse()
    if parser.findings and path.suffix and path.suffix not in _KNOWN:
        return Layer(name, _empty(name), (_of_another_kind(name, path.suffix),))
    return Layer(name, root, tuple(parser.findings))


def _of_another_kind(name: str, suffix: str) -> Diagnostic:
    """The finding for a file that is not HOCON and does not claim to be."""
    return finding(
        "file-unreadable", f"`{name}` is not a blueprint or a file of settings",
        causes=(f"it is not HOCON, and `{suffix}` is not the suffix of a configuration file",),
        help=("name a `.conf`, `.yaml`, `.yml` or `.json` file, or the directory of a blueprint",),
    )  # fmt: skip


def parse_text(text: str, file: str, folder: Path | str = ".") -> Layer:
    """Read HOCON text.

    Arguments:
        text: with or without a byte order mark.
        file: the name that spans carry, such as `<arguments>`; make the text known to `Sources` under it.
        folder: where relative includes start from.
    """
    parser = Parser(Source(file, text.removeprefix("\ufeff")), _Files(Path(folder), ()))
    return Layer(file, parser.parse(), tuple(parser.findings))


def shown_name(path: Path) -> str:
    """A path as spans show it: relative to the working directory when it is below that."""
    try:
        return str(Path(path).absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def read_text(path: Path, name: str, at: Span | None = None) -> str | Diagnostic:
    """The text of a file without its byte order mark, or why there is none.

    Arguments:
        path: where it lies; name: how findings call it.
        at: the place that asked for it, None when the user did.
    """
    try:
        if path.is_dir():
            return finding("file-unreadable", f"`{name}` is a folder, not a file", at)
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return finding("file-not-found", f"there is no file `{name}`", at, help=_neighbours(path))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return finding("file-unreadable", f"`{name}` cannot be read: {reason}", at)
    if len(data) > _MAX_BYTES:
        return finding("file-unreadable", f"`{name}` is larger than 16 MiB", at)
    if b"\0" in data:
        return finding("file-unreadable", f"`{name}` is a binary file, not text", at)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return finding("file-unreadable", f"`{name}` is not UTF-8 text (byte {error.start + 1}, line {line})", at,
                       help=["save it as UTF-8"])  # fmt: skip


def _neighbours(path: Path) -> tuple[str, ...]:
    """The files of configuration next to a missing one that have a name like its."""
    from blueprint.spelling import did_you_mean

    try:
        entries = [one for one in path.parent.iterdir() if one.suffix in _MAY_BE_MEANT]
        return did_you_mean(path.name, [entry.name for entry in entries if entry.is_file()])
    except (OSError, ValueError):
        return ()


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the name is too long, or none
        return False


def _empty(name: str) -> ObjectNode:
    return ObjectNode(origins=[Origin(Span(name, 1, 1, 1, 1))])


def _yaml(source: Source) -> Layer:
    from blueprint.hocon.yaml import parse_yaml  # costs an import that HOCON files need not pay

    return parse_yaml(source)


@dataclass(slots=True)
class _Read:
    """What was read for a layer so far.

    Arguments:
        texts: read in place of files; files: how many were included.
        told: what is wrong with files as such, told where the first include asks for them.
    """

    texts: Mapping[Path, str] = field(default_factory=dict)
    files: int = 0
    told: set[object] = field(default_factory=set)

    def text(self, path: Path, name: str, at: Span | None = None) -> str | Diagnostic:
        """As `read_text`."""
        known = self.texts.get(path.resolve()) if self.texts else None
        return known.removeprefix("\ufeff") if known is not None else read_text(path, name, at)

    def once(self, key: object, found: Diagnostic) -> list[Diagnostic]:
        """The finding, the first time."""
        if key in self.told:
            return []
        self.told.add(key)
        return [found]


class _Files:
    """Follows the includes of one file (`Includer`).

    Arguments:
        folder: of the including file.
        chain: the files that are being read, outermost first; places: where each is included.
        read: what was read for the layer so far.
    """

    def __init__(
        self, folder: Path, chain: tuple[Path, ...], places: tuple[Span, ...] = (), read: _Read | None = None
    ) -> None:
        self.folder = folder
        self.chain = chain
        self.places = places
        self.read = read if read is not None else _Read()

    def include(
        self, name: str, kind: str, required: bool, source: Source, place: tuple[int, int], roots: tuple[Path_, ...],
        depth: int,
    ) -> tuple[ObjectNode | None, list[Diagnostic]]:  # fmt: skip
        """See `Includer.include`."""
        at = source.span(*place)
        if kind in ("url", "classpath") or _URL.match(name) or name.endswith(".properties"):
            what = "URL" if kind == "url" or _URL.match(name) else "classpath" if kind else "properties file"
            return None, [
                finding("include-unsupported", f"an include of a {what} is not supported", at,
                        help=["include a file by its path, relative to the including file"])
            ]  # fmt: skip
        if depth > MAX_DEPTH:
            return None, [too_deep(source, place[0])]
        paths = self._candidates(name)
        if not paths:
            properties = Path(f"{self.folder / name}.properties")
            if _exists(properties):
                return None, [
                    finding("include-unsupported", f"`{name}` is a properties file, which cannot be included", at,
                            label=f"this is `{shown_name(properties)}`",
                            help=["write its settings in a `.conf` file, and include that"])
                ]  # fmt: skip
            if not required:
                return None, []
            wanted = self.folder / name
            return None, [
                finding("include-not-found", f"the required include `{name}` does not exist", at,
                        label=f"looked for `{shown_name(wanted)}`", help=_neighbours(wanted))
            ]  # fmt: skip
        merged, findings = ObjectNode(), list[Diagnostic]()
        for path in paths:
            found, its_findings = self._one(path, at, roots, depth)
            findings += its_findings
            if found is not None:
                merged.merge(found)
        return merged, findings

    def _candidates(self, name: str) -> list[Path]:
        """The files a name stands for: itself, or, without a known suffix, what exists with one (HOCON last)."""
        try:
            path = self.folder / name
            if path.suffix in _KNOWN:
                return [path] if path.exists() else []
            found = [Path(f"{path}{suffix}") for suffix in (".yml", ".yaml", ".json", ".conf")]
            return [one for one in found if one.exists()] or ([path] if path.exists() else [])
        except (OSError, ValueError):
            return []

    def _one(
        self, path: Path, at: Span, roots: tuple[Path_, ...], depth: int
    ) -> tuple[ObjectNode | None, list[Diagnostic]]:
        real, name = path.resolve(), shown_name(path)
        if real in self.chain:
            begin = self.chain.index(real)
            also = [Label(place, "included here") for place in self.places[begin:]]
            cycle = finding("include-cycle", f"`{name}` includes itself", at, also=also)
            return None, self.read.once(frozenset(self.chain[begin:]), cycle)
        self.read.files += 1
        if self.read.files > _MAX_FILES:
            many = finding("too-large", f"more than {_MAX_FILES} files are included", at)
            return None, self.read.once(_MAX_FILES, many)
        text = self.read.text(path, name, at)
        if isinstance(text, Diagnostic):
            return None, self.read.once(real, text)
        source = Source(name, text)
        if path.suffix in _YAML:
            layer = _yaml(source)
            return layer.root, list(layer.diagnostics)
        parser = Parser(source, _Files(path.parent, (*self.chain, real), (*self.places, at), self.read), roots, depth)
        root = parser.parse()
        return root, parser.findings
