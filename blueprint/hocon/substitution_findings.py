"""What is wrong with substitutions: each is told once, however often it is followed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from blueprint.diagnostics import Diagnostic, Label, Span
from blueprint.diagnostics.codes import finding
from blueprint.hocon.tree import Append, Concatenation, ListNode, Node, ObjectNode, Substitution, path_text
from blueprint.hocon.views import Failed, Items, View
from blueprint.spelling import did_you_mean


class SubstitutionFindings:
    """Takes findings down; `found` holds them in the order in which they were met."""

    def __init__(self) -> None:
        self.found: list[Diagnostic] = []
        self._reported: set[int] = set()

    def report(
        self, node: Node, code: str, headline: str, also: Sequence[Label] = (), help: Sequence[str] = ()
    ) -> None:
        """Report what is wrong with a node, once."""
        if id(node) not in self._reported and not isinstance(node, ObjectNode):
            self._reported.add(id(node))
            self.found.append(finding(code, headline, node.span, also=also, help=help))

    def unresolved(self, node: Substitution, missing: tuple[str, ...], known: Iterable[str]) -> None:
        """Report that there is no value.

        Arguments:
            missing: the path up to its first key that is not there; known: the keys that are there in its place.
        """
        near = did_you_mean(path_text(missing), [path_text((*missing[:-1], other)) for other in known])
        helps = [*near, "write `${?...}` when it may be missing"]
        if len(node.path) == 1 and not near:
            helps.insert(0, f"set `{path_text(node.path)}`, or the environment variable of that name")
        self.report(node, "unresolved-substitution", f"`{node.text}` names a value that is not set", help=helps)

    def circle(self, chain: Sequence[Substitution]) -> None:
        """Report substitutions that lead back to the first of them."""
        if not self._take(chain):
            return
        if len(chain) == 1:
            headline = f"`{chain[0].text}` refers to itself, and there is no earlier value"
            helps = ["set a value before it, or name another key"]
            self.found.append(finding("substitution-cycle", headline, chain[0].span, help=helps))
            return
        names = " -> ".join(f"`{path_text(one.path)}`" for one in (*chain, chain[0]))
        also = [Label(one.span, f"`{path_text(before.path)}` asks for `{path_text(one.path)}`")
                for before, one in pairwise(chain)]  # fmt: skip
        headline = f"substitutions lead back to themselves: {names}"
        helps = ["give one of the keys a value of its own"]
        self.found.append(finding("substitution-cycle", headline, chain[0].span, also=also, help=helps))

    def inside_itself(self, chain: Sequence[Substitution]) -> None:
        """Report values that contain themselves; `chain` holds the substitutions in the order they were met."""
        if not self._take(chain):
            return
        also = [Label(one.span, "which asks for this") for one in chain[1:]]
        headline = f"`{chain[0].text}` stands inside the value it asks for"
        helps = ["ask for the part that is meant, or keep what is shared under a key of its own"]
        self.found.append(finding("substitution-cycle", headline, chain[0].span, also=also, help=helps))

    def too_many_steps(self, most: int, at: Span) -> None:
        """Report that resolving takes more than `most` steps, unless a finding already says why.

        Arguments:
            at: the substitution that exceeded them.
        """
        if self.found:
            return
        headline = f"resolving the substitutions takes more than {most:,} steps"
        helps = ["they multiply each other: shorten the chain, or repeat a value less often"]
        self.found.append(finding("too-large", headline, at, help=helps))

    def mixed(self, node: Concatenation, parts: Sequence[Sequence[View]]) -> None:
        """Report values of different kinds side by side; `parts` is what is in force of each."""
        also = [Label(_part_span(part), f"this is {_kind(found[0])}")
                for part, found in zip(node.parts, parts, strict=True) if found]  # fmt: skip
        self.report(
            node, "concatenation", "values of different kinds stand side by side", also,
            ["put a comma or a line end between them, or quotes around text"],
        )  # fmt: skip

    def not_a_list(self, node: Append, before: View) -> None:
        """Report that `+=` adds to `before`, which is no list."""
        also = [Label(_span(before), "this was set before")]
        helps = ["write `=` to set another value, or make the value before it a list"]
        self.report(node, "concatenation", "`+=` adds to a list, and the value before it is none", also, helps)

    def _take(self, chain: Sequence[Substitution]) -> bool:
        """Whether none of them was reported before; all are now."""
        if any(id(one) in self._reported for one in chain):
            return False
        self._reported.update(id(one) for one in chain)
        return True


def _kind(view: View) -> str:
    match view.node:
        case ObjectNode():
            return "an object"
        case ListNode() | Items():
            return "a list"
        case _:
            return "text"


def _span(view: View) -> Span:
    node = view.node
    assert not isinstance(node, Failed)
    return node.origins[-1].span if isinstance(node, ObjectNode) else node.span


def _part_span(node: Node) -> Span:
    return node.origins[-1].span if isinstance(node, ObjectNode) else node.span
