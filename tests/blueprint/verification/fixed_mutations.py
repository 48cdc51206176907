"""Blueprints with random mistakes, fixed as `--fix` and `--unsafe-fixes` do, and the effects of the fixes."""

from __future__ import annotations

import difflib
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from blueprint.diagnostics import FixKind
from blueprint.model.graph import ApplicationGraph
from blueprint.verification.verify import Verification, verify
from cli.verification.fixes import fixes
from tests.blueprint.paper import PaperCatalog, record, streamlet
from tests.blueprint.verification import test_mutations

ORDER = record("Order", id="long")
SHOP = """\
blueprint {
  streamlets {
    orders-eu { class = shop.Orders, retry.enabled = true }
    orders-us { class = shop.Orders, parameters { rate = 5 } }
    total = shop.Total
    archive-eu = shop.Archive
    archive-us = shop.Archive
    # archive-uk = shop.Archive
    loop = shop.Total
  }
  topics {
    orders-eu { producers = [orders-eu.out], consumers = [archive-eu.in, total.left] }
    orders-us { producers = [orders-us.out], consumers = [archive-us.in, total.right], topic.partitions = 3 }
    totals { producers = [total.out, loop.out], consumers = [loop.left, loop.right] }   # flow: allow cycle (a test)
  }
  allow-cycles { loop = "gives up after three" }
}
flow { application = shop, verify.rules.contract-risk = warning, trigger { processing-time = 5 seconds } }
"""
OLD = """\
blueprint {
  streamlets {
    orders-eu = shop.Orders, orders-us = shop.Orders
    total = shop.Total, archive-eu = shop.Archive
  }
  connections {
    orders-eu.out = [total.left]
    orders-us = [total.right]
    total.out = [archive-eu]
  }
}
"""
CATALOG = PaperCatalog(
    *(known for known in test_mutations.CATALOG.known.values() if not isinstance(known, tuple)),  # type: ignore[arg-type]
    streamlet("shop.Orders", outlets={"out": ORDER}, parameters=(test_mutations.RATE,)),
    streamlet("shop.Total", inlets={"left": ORDER, "right": ORDER}, outlets={"out": ORDER}),
    streamlet("shop.Archive", inlets={"in": ORDER}),
)
TEXTS = (test_mutations.TEXT, SHOP, OLD)


@dataclass
class Outcome:
    """The effects of fixes.

    Arguments:
        blueprints: the number of blueprints with a fix.
        fixes: the number of fixes by kind.
        introduced: findings of another kind on lines that `--fix` wrote.
        came_to_light: the number of other findings of another kind.
        changed: blueprints whose graph `--fix` has changed.
        bound_twice: blueprints in which `--unsafe-fixes` has connected a port to a second topic.
    """

    blueprints: int = 0
    fixes: Counter[FixKind] = field(default_factory=Counter)
    introduced: list[str] = field(default_factory=list)
    came_to_light: int = 0
    changed: list[str] = field(default_factory=list)
    bound_twice: list[str] = field(default_factory=list)


def misspelt(text: str, chance: random.Random) -> str:
    """Return the text with a letter removed, doubled, swapped or replaced, or with a line commented out."""
    at = chance.choice([index for index, letter in enumerate(text[:-1]) if letter.isalpha() or letter == "."])
    match chance.randrange(5):
        case 0:
            return text[:at] + text[at + 1 :]
        case 1:
            return text[:at] + text[at] + text[at:]
        case 2:
            return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        case 3:
            return text[:at] + chance.choice("aeiost@-_.") + text[at + 1 :]
        case _:
            start = text.rfind("\n", 0, at) + 1
            return f"{text[:start]}#{text[start:]}"


def fix_mutations(count: int, seed: int, directory: Path) -> Outcome:
    """Fix `count` mutated blueprints in a directory, which is the working directory."""
    chance, outcome = random.Random(seed), Outcome()
    for _ in range(count):
        text = chance.choice(TEXTS)
        for _ in range(chance.randint(1, 4)):
            text = misspelt(text, chance)
        if not chance.randrange(4):
            text = test_mutations.mutated(text, chance)
        _fix(text, directory, outcome)
    return outcome


def _fix(text: str, directory: Path, outcome: Outcome) -> None:
    file = directory / "blueprint.conf"
    file.write_text(text, encoding="utf-8", newline="")

    def verified(texts: dict[Path, str]) -> Verification:
        return verify("blueprint.conf", catalog=CATALOG, environment={}, working_directory=directory, texts=texts)

    before = verified({})
    if not any(finding.fix for finding in before.diagnostics):
        return
    safe, unsafe = fixes(directory, verified, unsafe=True)  # type: ignore[arg-type]
    outcome.fixes.update(finding.fix.kind for step in (safe, unsafe) for finding in step.findings if finding.fix)
    outcome.blueprints += bool(safe.findings or unsafe.findings)
    for _, written in safe.texts.values():
        _compare(text, written, before, verified({file.resolve(): written}), outcome)
    for _, written in unsafe.texts.values():
        if _bound_twice(verified({file.resolve(): written}).graph) - _bound_twice(before.graph):
            outcome.bound_twice.append(f"{text}\n-->\n{written}")


def _compare(text: str, written: str, before: Verification, after: Verification, outcome: Outcome) -> None:
    shown = f"{text}\n-->\n{written}"
    if "connections-section" in {finding.code for finding in before.diagnostics} or not before.graph.streamlets:
        same = _parts(before.graph) <= _parts(after.graph)  # no wiring was known before
    else:
        same = _parts(before.graph) == _parts(after.graph)
    if not same:
        outcome.changed.append(shown)
    lines = _written_lines(text, written)
    known = {finding.code for finding in before.diagnostics}
    for finding in after.diagnostics:
        if finding.code not in known:
            if finding.primary is not None and finding.primary.span.line in lines:
                outcome.introduced.append(f"{finding.code}: {finding.headline}\n{shown}")
            else:
                outcome.came_to_light += 1


def _written_lines(old: str, new: str) -> set[int]:
    """Return the numbers of the lines of the new text, from 1, that are not in the old one."""
    matcher = difflib.SequenceMatcher(None, old.split("\n"), new.split("\n"), autojunk=False)
    return {line + 1 for tag, _, _, start, end in matcher.get_opcodes() if tag != "equal" for line in range(start, end)}


def _parts(graph: ApplicationGraph) -> set[object]:
    edges = {(str(edge.source), str(edge.target), edge.port) for edge in graph.edges}
    return {*(("streamlet", ref) for ref in graph.streamlets), *(("topic", id) for id in graph.topics), *edges}


def _bound_twice(graph: ApplicationGraph) -> set[tuple[str, str, str]]:
    """Return the ports on more than one topic: streamlet, direction, port."""
    ports = Counter(
        (str(edge.source), "out", edge.port) if edge.source.kind == "streamlet" else (str(edge.target), "in", edge.port)
        for edge in graph.edges
    )
    return {port for port, count in ports.items() if count > 1}
