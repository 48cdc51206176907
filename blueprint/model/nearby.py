"""What is said when there is no blueprint where one was looked for: others near by, and how one looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from blueprint.diagnostics import Diagnostic
from blueprint.spelling import alternatives

BLUEPRINT_NAMES = ("blueprint.conf", "blueprint.yaml", "blueprint.yml", "blueprint.json")
"""What a folder's blueprint is called, the first that is there counts."""

SKELETON = """blueprint {
  streamlets {
    source = my_module.MyIngress
    sink   = my_module.MyEgress
  }
  topics {
    records { producers = [source.out], consumers = [sink.in] }
  }
}"""

_MOST_LOOKED_AT = 500
_MOST_NAMED = 3


def with_whereabouts(diagnostic: Diagnostic, path: Path, shown: str) -> Diagnostic:
    """The finding that there is no file, for a blueprint.

    Arguments:
        path: where it was looked for; shown: the same as the user would name it.
    """
    near = [str(Path(shown).parent / name) for name in islice(_candidates(path), _MOST_NAMED)]
    help = diagnostic.help or ((f"did you mean {alternatives(near)}?",) if near else ())
    if path.name in BLUEPRINT_NAMES:
        help += (f"the blueprint of a folder is its {alternatives(BLUEPRINT_NAMES)}",)
    skeleton = () if diagnostic.help or near else (f"a blueprint looks like this:\n{SKELETON}",)
    return replace(diagnostic, help=(*help, *skeleton))


def _candidates(path: Path) -> Iterator[str]:
    """Files that may be blueprints in the folder, then folders below it that have one."""
    try:
        entries = sorted(islice(path.parent.iterdir(), _MOST_LOOKED_AT))
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
