"""Read configuration files into layers: choose the format by the suffix, follow includes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.blocks import Blocks, EditedTexts
from blueprint.hocon.parser import Parser
from blueprint.hocon.source import MAX_DEPTH, Source, too_deep
from blueprint.hocon.tree import Layer, ObjectNode
from blueprint.hocon.values import Origin

_MAX_BYTES = 16 * 1024 * 1024
_MAX_FILES = 1000
_YAML = frozenset((".yaml", ".yml"))
_KNOWN = frozenset((".conf", ".json", *_YAML))
_SIMILAR_SUFFIXES = _KNOWN | {".cfg", ".hocon"}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")

Path_ = tuple[str, ...]


def parse_file(path: Path | str, texts: Mapping[Path, str] = MappingProxyType({})) -> Layer:
    """Read a configuration file: YAML if its name ends in `.yaml` or `.yml`, otherwise HOCON (a superset of JSON).

    Arguments:
        path: the file. Spans show it relative to the working directory when it is below that.
        texts: strings to read instead of files, by resolved path.

    Returns:
        The layer, with its includes (HOCON specification, "Includes"). A file that is missing, empty, a directory, not
        UTF-8, larger than 16 MiB or not readable gives an empty layer with one finding.
    """
    path = Path(path)
    name = shown_name(path)
    read = _Read(texts)
    text = read.text(path, name)
    if isinstance(text, Diagnostic):
        return Layer(name, _empty(name), (text,))
    return _layer(Source(name, text), path, read) if text.strip() else empty_layer(name)


def parse_text(
    text: str, file: str, directory: Path | str = ".", texts: Mapping[Path, str] = MappingProxyType({})
) -> Layer:
    """Read configuration text: YAML when its name ends in `.yaml` or `.yml`, otherwise HOCON.

    Arguments:
        text: the text, with or without a byte order mark.
        file: the name that spans carry, such as `<arguments>`. Register the text with `Sources` under this name.
        directory: the directory that relative includes start from.
        texts: strings to read instead of included files, by resolved path.
    """
    return _layer(Source(file, text.removeprefix("\ufeff")), Path(directory) / Path(file).name, _Read(texts))


def empty_layer(name: str) -> Layer:
    """Return the layer of a text that should not be empty, with the finding that it is."""
    empty = finding("file-empty", f"`{name}` is empty", Span(name, 1, 1, 1, 1))
    return Layer(name, _empty(name), (empty,))


def _layer(source: Source, path: Path, read: _Read) -> Layer:
    """Parse a text as the content of a file, which need not exist."""
    name = source.file
    if path.suffix in _YAML:
        return _yaml(source)
    parser = Parser(source, _Files(path.parent, (path.resolve(),), read=read), blocks=read.blocks(path))
    root = parser.parse()
    if parser.findings and path.suffix and path.suffix not in _KNOWN:
        return Layer(name, _empty(name), (_not_configuration(name, path.suffix),))
    return Layer(name, root, tuple(parser.findings))


def _not_configuration(name: str, suffix: str) -> Diagnostic:
    """Return the finding for a file that is not HOCON and does not claim to be."""
    return finding(
        "file-unreadable", f"`{name}` is not a blueprint or a settings file",
        causes=(f"it is not HOCON, and `{suffix}` is not the suffix of a configuration file",),
        help=("name a `.conf`, `.yaml`, `.yml` or `.json` file, or the directory of a blueprint",),
    )  # fmt: skip


def shown_name(path: Path) -> str:
    """Return a path as spans show it: relative to the working directory when it is below that."""
    try:
        return str(Path(path).absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def read_text(path: Path, name: str, at: Span | None = None) -> str | Diagnostic:
    """Return the text of a file without its byte order mark, or a finding when it cannot be read.

    Arguments:
        path: the file.
        name: its name in findings.
        at: the `include` that names it, None for a file that the user named.
    """
    try:
        if path.is_dir():
            return finding("file-unreadable", f"`{name}` is a directory, not a file", at)
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return finding("file-not-found", f"the file `{name}` does not exist", at, help=_neighbours(path))
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
    """Return help that suggests the configuration files in the same directory with a similar name."""
    from blueprint.spelling import did_you_mean

    try:
        entries = [entry for entry in path.parent.iterdir() if entry.suffix in _SIMILAR_SUFFIXES]
        return did_you_mean(path.name, [entry.name for entry in entries if entry.is_file()])
    except (OSError, ValueError):
        return ()


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # the name is too long, or contains a null byte
        return False


def _empty(name: str) -> ObjectNode:
    return ObjectNode(origins=[Origin(Span(name, 1, 1, 1, 1))])


def _yaml(source: Source) -> Layer:
    from blueprint.hocon.yaml import parse_yaml  # HOCON files need not pay for the import

    return parse_yaml(source)


@dataclass(slots=True)
class _Read:
    """The files read so far for one layer.

    Arguments:
        texts: strings to read instead of files, by resolved path.
        files: the number of files included.
        reported: keys of the findings about whole files, which are reported at the first include only.
        reused: the files whose objects of an earlier version are in use.
    """

    texts: Mapping[Path, str] = field(default_factory=dict)
    files: int = 0
    reported: set[object] = field(default_factory=set)
    reused: set[Path] = field(default_factory=set)

    def text(self, path: Path, name: str, at: Span | None = None) -> str | Diagnostic:
        """Return the text of a file as `read_text` does."""
        known = self.texts.get(path.resolve()) if self.texts else None
        return known.removeprefix("\ufeff") if known is not None else read_text(path, name, at)

    def blocks(self, path: Path) -> Blocks | None:
        """Return the objects of an earlier version of a file that an editor changes, or None.

        It returns None for other files, and when a file is included again: a tree has each object once.
        """
        real = path.resolve()
        if not isinstance(self.texts, EditedTexts) or real not in self.texts or real in self.reused:
            return None
        self.reused.add(real)
        return self.texts.blocks.setdefault(real, Blocks())

    def once(self, key: object, diagnostic: Diagnostic) -> list[Diagnostic]:
        """Return the finding the first time it is reported under `key`, nothing afterwards."""
        if key in self.reported:
            return []
        self.reported.add(key)
        return [diagnostic]


class _Files:
    """Follows the includes of one file (`Includer`).

    Arguments:
        directory: the directory of the including file.
        chain: the files that are being read, outermost first.
        places: the places at which they are included.
        read: the files read so far for the layer.
    """

    def __init__(
        self, directory: Path, chain: tuple[Path, ...], places: tuple[Span, ...] = (), read: _Read | None = None
    ) -> None:
        self.directory = directory
        self.chain = chain
        self.places = places
        self.read = read if read is not None else _Read()

    def include(
        self, name: str, kind: str, required: bool, source: Source, place: tuple[int, int], roots: tuple[Path_, ...],
        depth: int,
    ) -> tuple[ObjectNode | None, list[Diagnostic]]:  # fmt: skip
        """Implement `Includer.include`."""
        at = source.span(*place)
        if kind in ("url", "classpath") or _URL.match(name) or name.endswith(".properties"):
            resource = (
                "URL" if kind == "url" or _URL.match(name) else "classpath resource" if kind else "properties file"
            )
            return None, [
                finding("include-unsupported", f"including a {resource} is not supported", at,
                        help=["include a file by its path, relative to the including file"])
            ]  # fmt: skip
        if depth > MAX_DEPTH:
            return None, [too_deep(source, place[0])]
        paths = self._candidates(name)
        if not paths:
            properties = Path(f"{self.directory / name}.properties")
            if _exists(properties):
                return None, [
                    finding("include-unsupported", "including a properties file is not supported", at,
                            label=f"this is `{shown_name(properties)}`",
                            help=["convert it to a `.conf` file, and include that"])
                ]  # fmt: skip
            wanted = self.directory / name
            ignored: tuple[str, ...] = ("HOCON ignores it; remove it if it is not needed",)
            code, what = "include-empty", ""
            if required:
                code, what, ignored = "include-not-found", "required ", ()
            return None, [
                finding(code, f"the {what}include `{name}` does not exist", at,
                        label=f"looked for `{shown_name(wanted)}`", help=_neighbours(wanted) or ignored)
            ]  # fmt: skip
        merged, findings = ObjectNode(), list[Diagnostic]()
        for path in paths:
            root, file_findings = self._file(path, at, roots, depth)
            findings += file_findings
            if root is not None:
                merged.merge(root)
        return merged, findings

    def _candidates(self, name: str) -> list[Path]:
        """Return the files that a name refers to: itself, or with each known suffix added, HOCON last."""
        try:
            path = self.directory / name
            if path.suffix in _KNOWN:
                return [path] if path.exists() else []
            candidates = [Path(f"{path}{suffix}") for suffix in (".yml", ".yaml", ".json", ".conf")]
            return [file for file in candidates if file.exists()] or ([path] if path.exists() else [])
        except (OSError, ValueError):
            return []

    def _file(
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
        parser = Parser(
            source,
            _Files(path.parent, (*self.chain, real), (*self.places, at), self.read),
            roots,
            depth,
            self.read.blocks(path),
        )
        root = parser.parse()
        return root, parser.findings
