"""Files that have a blueprint: their names, suggestions where there is none, and an example."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from blueprint.diagnostics import Diagnostic
from blueprint.spelling import alternatives

BLUEPRINT_NAMES = ("blueprint.conf", "blueprint.yaml", "blueprint.yml", "blueprint.json")
"""The names of a directory's blueprint; the first that exists is used."""

SKELETON = """blueprint {
  streamlets {
    source = my_module.MyIngress
    sink   = my_module.MyEgress
  }
  topics {
    records { producers = [source.out], consumers = [sink.in] }
  }
}"""

_MOST_SEARCHED = 500
_MOST_SUGGESTED = 3


def with_suggestions(diagnostic: Diagnostic, path: Path, shown: str) -> Diagnostic:
    """Return the finding that a blueprint's file does not exist, with similar files as help.

    Arguments:
        diagnostic: the finding.
        path: the file that does not exist.
        shown: the path as the user would write it.
    """
    near = [str(Path(shown).parent / name) for name in islice(_candidates(path), _MOST_SUGGESTED)]
    help = diagnostic.help or ((f"did you mean {alternatives(near)}?",) if near else ())
    if path.name in BLUEPRINT_NAMES:
        help += (f"a directory's blueprint is named {alternatives(BLUEPRINT_NAMES)}",)
    skeleton = () if diagnostic.help or near else (f"a blueprint looks like this:\n{SKELETON}",)
    return replace(diagnostic, help=(*help, *skeleton))


def _candidates(path: Path) -> Iterator[str]:
    """Yield files of the directory that may be blueprints, then its subdirectories with a blueprint."""
    try:
        entries = sorted(islice(path.parent.iterdir(), _MOST_SEARCHED))
    except OSError:
        return
    suffixes = {Path(name).suffix for name in BLUEPRINT_NAMES}
    yield from (entry.name for entry in entries if entry.suffix in suffixes and _is_blueprint(entry))
    yield from (entry.name for entry in entries if any((entry / name).is_file() for name in BLUEPRINT_NAMES))


def _is_blueprint(file: Path) -> bool:
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            return "blueprint" in text.read(100_000)
    except OSError:
        return False
