"""Findings about substitutions: each is reported once, however often it is followed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.tree import Append, Concatenation, ListNode, Node, ObjectNode, Substitution, path_text
from blueprint.hocon.views import Failed, Items, View
from blueprint.spelling import did_you_mean


class SubstitutionFindings:
    """Collects findings; `diagnostics` has them in the order in which they were met."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._reported: set[int] = set()

    def report(
        self, node: Node, code: str, headline: str, also: Sequence[Label] = (), help: Sequence[str] = ()
    ) -> None:
        """Report a finding about a node unless the node already has one."""
        if id(node) not in self._reported and not isinstance(node, ObjectNode):
            self._reported.add(id(node))
            self.diagnostics.append(finding(code, headline, node.span, also=also, help=help))

    def unresolved(self, node: Substitution, missing: tuple[str, ...], known: Iterable[str]) -> None:
        """Report a substitution without a value.

        Arguments:
            node: the substitution.
            missing: its path up to the first undefined key.
            known: the defined keys of the parent of that key.
        """
        near = did_you_mean(path_text(missing), [path_text((*missing[:-1], other)) for other in known])
        helps = [*near, "write `${?...}` when it may be missing"]
        if len(node.path) == 1 and not near:
            helps.insert(0, f"set `{path_text(node.path)}`, or the environment variable with that name")
        self.report(node, "unresolved-substitution", f"`{node.text}` refers to a value that is not set", help=helps)

    def cycle(self, chain: Sequence[Substitution]) -> None:
        """Report substitutions of which each refers to the next, and the last to the first."""
        if not self._mark_reported(chain):
            return
        if len(chain) == 1:
            headline = f"`{chain[0].text}` refers to itself, and there is no earlier value"
            helps = ["set a value before it, or refer to another key"]
            self.diagnostics.append(finding("substitution-cycle", headline, chain[0].span, help=helps))
            return
        names = " -> ".join(f"`{path_text(link.path)}`" for link in (*chain, chain[0]))
        also = [Label(link.span, f"`{path_text(previous.path)}` refers to `{path_text(link.path)}`")
                for previous, link in pairwise(chain)]  # fmt: skip
        headline = f"substitutions form a cycle: {names}"
        helps = ["set one of the keys to a value without a substitution"]
        self.diagnostics.append(finding("substitution-cycle", headline, chain[0].span, also=also, help=helps))

    def self_containing(self, chain: Sequence[Substitution]) -> None:
        """Report values that contain themselves; `chain` has the substitutions in the order in which they were met."""
        if not self._mark_reported(chain):
            return
        also = [Label(link.span, "which refers to this") for link in chain[1:]]
        headline = f"`{chain[0].text}` is inside the value that it refers to"
        helps = ["refer to a part of that value, or move what is shared to a separate key"]
        self.diagnostics.append(finding("substitution-cycle", headline, chain[0].span, also=also, help=helps))

    def too_many_steps(self, limit: int, at: Span) -> None:
        """Report that resolving takes more than `limit` steps, unless another finding explains it.

        Arguments:
            limit: the number of steps.
            at: the place of the substitution that exceeded it.
        """
        if self.diagnostics:
            return
        headline = f"resolving the substitutions takes more than {limit:,} steps"
        helps = ["shorten the chain of substitutions, or repeat a value less often: repetitions multiply"]
        self.diagnostics.append(finding("too-large", headline, at, help=helps))

    def mixed(self, node: Concatenation, parts: Sequence[Sequence[View]]) -> None:
        """Report a concatenation of different types; `parts` has the effective views of each part."""
        also = [Label(_part_span(part), f"this is {_type_name(views[0])}")
                for part, views in zip(node.parts, parts, strict=True) if views]  # fmt: skip
        self.report(
            node, "concatenation", "cannot concatenate values of different types", also,
            ["put a comma or a line break between them, or quotes around a string"],
        )  # fmt: skip

    def not_a_list(self, node: Append, earlier: View) -> None:
        """Report that `+=` appends to `earlier`, which is not a list."""
        also = [Label(_span(earlier), f"the earlier value is {_type_name(earlier)}")]
        helps = ["write `=` to set another value, or change the earlier value to a list"]
        self.report(node, "concatenation", "`+=` appends to a value that is not a list", also, helps)

    def _mark_reported(self, chain: Sequence[Substitution]) -> bool:
        """Mark substitutions as reported. Return False when one of them already is."""
        if any(id(substitution) in self._reported for substitution in chain):
            return False
        self._reported.update(id(substitution) for substitution in chain)
        return True


def _type_name(view: View) -> str:
    match view.node:
        case ObjectNode():
            return "an object"
        case ListNode() | Items():
            return "a list"
        case _:
            return "a string"


def _span(view: View) -> Span:
    node = view.node
    assert not isinstance(node, Failed)
    return node.origins[-1].span if isinstance(node, ObjectNode) else node.span


def _part_span(node: Node) -> Span:
    return node.origins[-1].span if isinstance(node, ObjectNode) else node.span
