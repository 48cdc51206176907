"""Substitutions followed through merged layers: what is in force at a path, seen from where it is asked for.

The rules are those of the HOCON specification, "Substitutions" and "Self-Referential Substitutions", in one idea: a key
has a stack of definitions, oldest first. A plain value hides what lies below it; objects merge with it. A substitution
looks its path up lazily in the merged stacks of all layers ("look forward"). While the definition it belongs to is
being followed, that definition and all that override it are left out of the look-up ("look back"); so a chain of
substitutions ends at an older value or nowhere, never in a circle.

Substitutions multiply: thirty lines of `a = ${a} ${a}` follow 2^30 of them. So what a concatenation comes to is kept
for each way to it, and all that is followed and copied is counted against a limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.diagnostics import Span
from blueprint.hocon.substitution_findings import SubstitutionFindings
from blueprint.hocon.tree import (
    Append,
    Concatenation,
    Definition,
    Layer,
    ListNode,
    ObjectNode,
    ScalarNode,
    Substitution,
)  # fmt: skip
from blueprint.hocon.views import Failed, Items, Stack, Step, View, children

_MAX_HOPS = 48
_MAX_TEXT = 1_000_000
_MAX_STEPS = 100_000
# What costs as much as following a substitution:
_CHARACTERS_PER_STEP, _ITEMS_PER_STEP, LINKS_PER_STEP = 100, 10, 8


class ExhaustedError(Exception):
    """Resolving takes more steps than any real configuration; reported."""


class Lookup:
    """What layers hold, as far as it is asked for. `findings` takes down what is wrong with substitutions."""

    def __init__(self, layers: Sequence[Layer], environment: Mapping[str, str]) -> None:
        self.roots = [layer.root for layer in layers]
        self.environment = environment
        self.findings = SubstitutionFindings()
        self._kept: dict[int, list[View]] = {}
        self._looks_back: set[int] = set()
        self._joined_views: dict[object, list[View]] = {}
        self._steps_left = _MAX_STEPS

    def spend(self, steps: int, at: Span) -> None:
        """Count steps of resolving, each worth some 10 µs.

        Raises:
            ExhaustedError: the limit is exceeded; `at` was reported.
        """
        self._steps_left -= steps
        if self._steps_left < 0:
            self.findings.too_many_steps(_MAX_STEPS, at)
            raise ExhaustedError

    def in_force(self, stack: Stack) -> list[View]:
        """What is in force of a stack, newest first: nothing, one plain value or list, or the objects that merge."""
        found: list[View] = []
        for view in self._downwards(stack):
            if not isinstance(view.node, ObjectNode):
                return found or [view]
            found.append(view)
        return found

    def repeats_older(self, view: View) -> bool:
        """Whether an opened entry of a stack asked for all that is older than itself, as `a = ${a} { ... }` does.

        What is older need not be merged once more, which would double the work with each such entry.
        """
        return id(view.definition) in self._looks_back

    def _downwards(self, stack: Stack) -> Iterator[View]:
        """What a stack comes down to, newest first, as far as it is asked for."""
        for index in range(len(stack) - 1, -1, -1):
            yield from self.opened(stack, index)
            if self.repeats_older(stack[index]):
                return

    def opened(self, stack: Stack, index: int) -> Iterator[View]:
        """What one entry of a stack comes down to, newest first, as far as it is asked for.

        Whoever asks stops at the first that is no object: it hides the rest.
        """
        view = stack[index]
        match view.node:
            case Substitution() as node:
                yield from self._followed(view, node)
            case Concatenation() as node:
                yield from self._joined(view, node)
            case Append() as node:
                yield self._appended(stack, index)
            case _:
                yield view

    def items(self, view: View) -> list[Stack]:
        """The items of a list in force."""
        if isinstance(view.node, Items):
            return view.node.stacks
        assert isinstance(view.node, ListNode)
        return [[View(item, None, (), view.via)] for item in view.node.items]

    # Following substitutions

    def _followed(self, view: View, node: Substitution) -> Iterator[View]:
        if len(view.steps) >= _MAX_HOPS:
            headline = f"`{node.text}` is the end of more than {_MAX_HOPS} substitutions in a row"
            self.findings.report(node, "too-deep", headline)
            yield View(Failed())
            return
        self.spend(1 + len(view.steps) // LINKS_PER_STEP, node.span)
        steps = (*view.steps, (view.definition, node)) if view.definition is not None else view.steps
        via = view.via or node.span
        cut: Definition | None = None
        for root in (*node.roots, ()):
            stack, was_cut, at_end = self._at((*root, *node.path), steps)
            cut = cut or was_cut
            self.spend(len(stack) // LINKS_PER_STEP, node.span)
            if was_cut is not None and was_cut is view.definition and at_end:
                self._looks_back.add(id(was_cut))
            any_found = False
            for found in self._through(stack, node, was_cut is not None and was_cut is not view.definition):
                any_found = True
                yield View(found.node, found.definition, found.steps, via)
            if any_found:
                return
        text = self.environment.get(".".join(node.path))
        if text is not None:
            yield View(ScalarNode(text, text, True, node.span), None, steps, via)
        elif not node.optional:
            if cut is not None:
                self.findings.circle([one for definition, one in steps[[step[0] for step in steps].index(cut) :]])
            else:
                self._unresolved(node)
            yield View(Failed())

    def _through(self, stack: Stack, node: Substitution, indirect: bool) -> Iterator[View]:
        """What a stack comes down to, newest first.

        With `indirect`, several substitutions lead back to where the first stands, and an older value breaks the
        circle: the substitution keeps that value wherever else it is asked, or the order of asking would show.
        """
        if not indirect and id(node) not in self._kept:
            yield from self._downwards(stack)
            return
        if id(node) not in self._kept:
            self._kept[id(node)] = self.in_force(stack)
        yield from self._kept[id(node)]

    def _at(self, path: tuple[str, ...], steps: tuple[Step, ...]) -> tuple[Stack, Definition | None, bool]:
        """The stack at a path as seen through `steps`, the first definition with which they cut it off, and whether
        that is one of the path's last key."""
        stack: Stack = [View(root, None, steps) for root in self.roots]
        cut = was_cut = None
        for key in path:
            stack, was_cut = self._child(stack, key)
            cut = cut or was_cut
        return stack, cut, cut is was_cut

    def _child(self, stack: Stack, key: str) -> tuple[Stack, Definition | None]:
        """The stack of a key below a stack. It stops as soon as the key's value hides what would be older."""
        result: list[View] = []
        for view in self._objects(stack):
            if not isinstance(view.node, ObjectNode):
                result.insert(0, view)
                break
            found = [View(one.node, one, view.steps, view.via) for one in view.node.fields.get(key, ())]
            result[:0] = found
            if any(isinstance(one.node, ScalarNode | ListNode) for one in found):
                break
        for index, view in enumerate(result):
            if view.definition is not None and any(view.definition is step[0] for step in view.steps):
                return result[:index], view.definition
        return result, None

    def _objects(self, stack: Stack) -> Iterator[View]:
        """The objects in force of a stack, newest first, and a failure as the last, as far as they are asked for."""
        for view in self._downwards(stack):
            if isinstance(view.node, ObjectNode | Failed):
                yield view
            if not isinstance(view.node, ObjectNode):
                return

    # Values side by side

    def _joined(self, view: View, node: Concatenation) -> Iterator[View]:
        """A concatenation: texts, lists or objects, never mixed."""
        key = (_identity(view), id(view.via))
        if key not in self._joined_views:  # else a concatenation of concatenations costs its number of parts each time
            self._joined_views[key] = list(self._join(view, node))
        yield from self._joined_views[key]

    def _join(self, view: View, node: Concatenation) -> Iterator[View]:
        parts: list[list[View]] = []
        for part in node.parts:
            found = self.in_force([View(part, view.definition, view.steps, view.via)])
            if found and isinstance(found[0].node, Failed):
                yield found[0]
                return
            parts.append(found)
        kinds = {type(found[0].node) for found in parts if found}
        if kinds == {ObjectNode}:
            yield from {_identity(found): found for part in reversed(parts) for found in part}.values()
        elif kinds & {ListNode, Items} and (lists := [self._as_list(found) for found in parts]) and None not in lists:
            self.spend(sum(len(one) for one in lists if one) // _ITEMS_PER_STEP, node.span)
            stacks = [stack for one in lists if one for stack in one]
            yield View(Items(stacks, node.span), view.definition, view.steps, view.via)
        elif kinds == {ScalarNode}:
            yield View(self._text(node, parts), view.definition, view.steps, view.via)
        elif kinds:
            self.findings.mixed(node, parts)
            yield View(Failed())

    def _text(self, node: Concatenation, parts: list[list[View]]) -> ScalarNode | Failed:
        pieces = []
        for gap, found in zip(node.gaps, parts, strict=True):
            pieces.append(gap)
            if found and isinstance(found[0].node, ScalarNode):
                pieces.append(found[0].node.text)
        length = sum(map(len, pieces))
        if length > _MAX_TEXT:
            headline = "the text that substitutions make up here is larger than any real one"
            self.findings.report(node, "too-large", headline)
            return Failed()
        self.spend(length // _CHARACTERS_PER_STEP, node.span)
        text = "".join(pieces)
        return ScalarNode(text, text, True, node.span)

    def _appended(self, stack: Stack, index: int) -> View:
        """`+=`: the list that was there before, and an item more for it and for each `+=` right before it."""
        added: list[tuple[View, Append]] = []
        for view in reversed(stack[: index + 1]):
            if not isinstance(view.node, Append):
                break
            added.append((view, view.node))
        added.reverse()
        before = self.in_force(stack[: index + 1 - len(added)])
        if before and isinstance(before[0].node, Failed):
            return before[0]
        items = self._as_list(before)
        if items is None:
            self.findings.not_a_list(added[0][1], before[0])
            return View(Failed())
        view, node = added[-1]
        if view.via is not None:
            self.spend((len(items) + len(added)) // _ITEMS_PER_STEP, view.via)
        stacks: list[Stack] = [*items, *([View(append.item, None, (), asked.via)] for asked, append in added)]
        return View(Items(stacks, node.span), view.definition, view.steps, view.via)

    def _as_list(self, found: list[View]) -> list[Stack] | None:
        """The items of what is in force: of a list, or of an object whose keys are numbers, in their order."""
        if not found:
            return []
        if isinstance(found[0].node, ListNode | Items):
            return self.items(found[0])
        if not isinstance(found[0].node, ObjectNode):
            return None
        keys = {key for view in found if isinstance(view.node, ObjectNode) for key in view.node.fields}
        numbers = sorted((key for key in keys if key.isascii() and key.isdigit()), key=int)
        return [children(found, key) for key in numbers] or None

    def _unresolved(self, node: Substitution) -> None:
        """Report that there is no value; the first key that is not there is compared with those that are."""
        stack: Stack = [View(root) for root in self.roots]
        for index, key in enumerate(node.path, start=1):
            found = [view for view in self._objects(stack) if isinstance(view.node, ObjectNode)]
            stack = children(found, key)
            if not stack:
                known = [other for view in found if isinstance(view.node, ObjectNode) for other in view.node.fields]
                self.findings.unresolved(node, node.path[:index], known)
                return
        self.findings.unresolved(node, node.path, ())


def _identity(view: View) -> object:
    """What a view shows: merging an object with itself changes nothing."""
    return id(view.node), *(id(definition) for definition, _ in view.steps)
