"""Substitutions followed through merged layers: what is in force at a path, seen from where it is asked for.

The rules are those of the HOCON specification, "Substitutions" and "Self-Referential Substitutions", in one idea: a key
has a stack of definitions, oldest first. A plain value hides what lies below it; objects merge with it. A substitution
looks its path up lazily in the merged stacks of all layers ("look forward"). While the definition it belongs to is
being followed, that definition and all that override it are left out of the look-up ("look back"); so a chain of
substitutions ends at an older value or nowhere, never in a circle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

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


class Lookup:
    """What layers hold, as far as it is asked for. `findings` takes down what is wrong with substitutions."""

    def __init__(self, layers: Sequence[Layer], environment: Mapping[str, str]) -> None:
        self.roots = [layer.root for layer in layers]
        self.environment = environment
        self.findings = SubstitutionFindings()
        self._kept: dict[int, list[View]] = {}
        self._texts: dict[tuple[int, ...], ScalarNode | Failed] = {}

    def in_force(self, stack: Stack) -> list[View]:
        """What is in force of a stack, newest first: nothing, one plain value or list, or the objects that merge."""
        found: list[View] = []
        for index in range(len(stack) - 1, -1, -1):
            for view in self.opened(stack, index):
                if not isinstance(view.node, ObjectNode):
                    return found or [view]
                found.append(view)
        return found

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
                yield self._appended(view, node, stack[:index])
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
        steps = (*view.steps, (view.definition, node)) if view.definition is not None else view.steps
        via = view.via or node.span
        cut: Definition | None = None
        for root in (*node.roots, ()):
            stack, was_cut = self._at((*root, *node.path), steps)
            cut = cut or was_cut
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
            for index in range(len(stack) - 1, -1, -1):
                yield from self.opened(stack, index)
            return
        if id(node) not in self._kept:
            self._kept[id(node)] = self.in_force(stack)
        yield from self._kept[id(node)]

    def _at(self, path: tuple[str, ...], steps: tuple[Step, ...]) -> tuple[Stack, Definition | None]:
        """The stack at a path as seen through `steps`, and the definition with which they cut it off."""
        stack: Stack = [View(root, None, steps) for root in self.roots]
        cut: Definition | None = None
        for key in path:
            stack, was_cut = self._child(stack, key)
            cut = cut or was_cut
        return stack, cut

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
        for index in range(len(stack) - 1, -1, -1):
            for view in self.opened(stack, index):
                if isinstance(view.node, ObjectNode | Failed):
                    yield view
                if not isinstance(view.node, ObjectNode):
                    return

    # Values side by side

    def _joined(self, view: View, node: Concatenation) -> Iterator[View]:
        """A concatenation: texts, lists or objects, never mixed."""
        known = (id(node), *(id(definition) for definition, _ in view.steps))
        if known in self._texts:  # or a text of texts of texts would cost its number of parts each time it is asked
            yield View(self._texts[known], view.definition, view.steps, view.via)
            return
        parts: list[list[View]] = []
        for part in node.parts:
            found = self.in_force([View(part, view.definition, view.steps, view.via)])
            if found and isinstance(found[0].node, Failed):
                yield found[0]
                return
            parts.append(found)
        kinds = {type(found[0].node) for found in parts if found}
        if kinds == {ObjectNode}:
            for found in reversed(parts):
                yield from found
        elif kinds & {ListNode, Items} and (lists := [self._as_list(found) for found in parts]) and None not in lists:
            stacks = [stack for one in lists if one for stack in one]
            yield View(Items(stacks, node.span), view.definition, view.steps, view.via)
        elif kinds == {ScalarNode}:
            made = self._texts[known] = self._text(node, parts)
            yield View(made, view.definition, view.steps, view.via)
        elif kinds:
            self.findings.mixed(node, parts)
            yield View(Failed())

    def _text(self, node: Concatenation, parts: list[list[View]]) -> ScalarNode | Failed:
        pieces = []
        for gap, found in zip(node.gaps, parts, strict=True):
            pieces.append(gap)
            if found and isinstance(found[0].node, ScalarNode):
                pieces.append(found[0].node.text)
        text = "".join(pieces)
        if len(text) > _MAX_TEXT:
            headline = "the text that substitutions make up here is larger than any real one"
            self.findings.report(node, "too-large", headline)
            return Failed()
        return ScalarNode(text, text, True, node.span)

    def _appended(self, view: View, node: Append, below: Stack) -> View:
        """`+=`: the list that was there before, and one item more."""
        before = self.in_force(below)
        if before and isinstance(before[0].node, Failed):
            return before[0]
        items = self._as_list(before)
        if items is None:
            self.findings.not_a_list(node, before[0])
            return View(Failed())
        stacks: list[Stack] = [*items, [View(node.item)]]
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
