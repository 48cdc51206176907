"""Look up substitutions in merged layers: the effective value at a path, as a given substitution sees it.

The rules follow the HOCON specification, "Substitutions" and "Self-Referential Substitutions", and come from one idea.
A key has a stack of definitions, oldest first. A plain value or list hides the older ones, an object merges with them.
A substitution looks its path up lazily in the merged stacks of all layers ("look forward"). While the definition of a
substitution is being followed, look-ups ignore that definition and all that override it ("look back"). A chain of
substitutions therefore ends at an older value or without a value, never in a cycle.

Substitutions multiply: thirty lines of `a = ${a} ${a}` follow 2^30 of them. Therefore the result of a concatenation is
cached for each way to it, and all following and copying counts against a limit.
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
# The amounts that cost as much as following one substitution:
_CHARACTERS_PER_STEP, _ITEMS_PER_STEP, LINKS_PER_STEP = 100, 10, 8


class ExhaustedError(Exception):
    """Resolving took more steps than any real configuration needs, which was reported."""


class Lookup:
    """Looks paths up in layers, lazily. `findings` collects the findings about substitutions."""

    def __init__(self, layers: Sequence[Layer], environment: Mapping[str, str]) -> None:
        self.roots = [layer.root for layer in layers]
        self.environment = environment
        self.findings = SubstitutionFindings()
        self._kept: dict[int, list[View]] = {}
        self._looks_back: set[int] = set()
        self._joined_views: dict[object, list[View]] = {}
        self._steps_left = _MAX_STEPS

    def spend(self, steps: int, at: Span) -> None:
        """Count steps of resolving, each of some 10 µs, for the substitution at `at`.

        Raises:
            ExhaustedError: the limit is exceeded, which was reported at `at`.
        """
        self._steps_left -= steps
        if self._steps_left < 0:
            self.findings.too_many_steps(_MAX_STEPS, at)
            raise ExhaustedError

    def effective(self, stack: Stack) -> list[View]:
        """Return the effective views of a stack: none, one plain value or list, or the merged objects, newest first."""
        objects: list[View] = []
        for view in self._downwards(stack):
            if not isinstance(view.node, ObjectNode):
                return objects or [view]
            objects.append(view)
        return objects

    def repeats_older(self, view: View) -> bool:
        """Return whether an opened entry of a stack includes all older entries, as `a = ${a} { ... }` does.

        The older entries need not be merged again, which would double the work with each such entry.
        """
        return id(view.definition) in self._looks_back

    def _downwards(self, stack: Stack) -> Iterator[View]:
        """Yield the views that a stack opens into, newest first, lazily."""
        for index in range(len(stack) - 1, -1, -1):
            yield from self.opened(stack, index)
            if self.repeats_older(stack[index]):
                return

    def opened(self, stack: Stack, index: int) -> Iterator[View]:
        """Yield the views that one entry of a stack opens into, newest first, lazily.

        The caller stops at the first that is not an object: it hides the rest.
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
        """Return the items of an effective list."""
        if isinstance(view.node, Items):
            return view.node.stacks
        assert isinstance(view.node, ListNode)
        return [[View(item, None, (), view.via)] for item in view.node.items]

    # Following substitutions

    def _followed(self, view: View, node: Substitution) -> Iterator[View]:
        if len(view.steps) >= _MAX_HOPS:
            headline = f"`{node.text}` ends a chain of more than {_MAX_HOPS} substitutions"
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
            has_value = False
            for target in self._through(stack, node, was_cut is not None and was_cut is not view.definition):
                has_value = True
                yield View(target.node, target.definition, target.steps, via)
            if has_value:
                return
        text = self.environment.get(".".join(node.path))
        if text is not None:
            yield View(ScalarNode(text, text, True, node.span), None, steps, via)
        elif not node.optional:
            if cut is not None:
                cycle = steps[[definition for definition, _ in steps].index(cut) :]
                self.findings.cycle([substitution for _, substitution in cycle])
            else:
                self._unresolved(node)
            yield View(Failed())

    def _through(self, stack: Stack, node: Substitution, indirect: bool) -> Iterator[View]:
        """Yield the views that a stack opens into, newest first.

        With `indirect`, a cycle of several substitutions ends at an older value. The substitution then keeps that value
        for all further look-ups, so that the result does not depend on the order of look-ups.
        """
        if not indirect and id(node) not in self._kept:
            yield from self._downwards(stack)
            return
        if id(node) not in self._kept:
            self._kept[id(node)] = self.effective(stack)
        yield from self._kept[id(node)]

    def _at(self, path: tuple[str, ...], steps: tuple[Step, ...]) -> tuple[Stack, Definition | None, bool]:
        """Return the stack at a path without the definitions that `steps` hide.

        Returns:
            The stack, the first definition at which it was cut off (or None), and whether that one defines the last key
            of the path.
        """
        stack: Stack = [View(root, None, steps) for root in self.roots]
        cut = was_cut = None
        for key in path:
            stack, was_cut = self._child(stack, key)
            cut = cut or was_cut
        return stack, cut, cut is was_cut

    def _child(self, stack: Stack, key: str) -> tuple[Stack, Definition | None]:
        """Return the stack of a key below a stack down to the value that hides older ones, and where it was cut off."""
        result: list[View] = []
        for view in self._objects(stack):
            if not isinstance(view.node, ObjectNode):
                result.insert(0, view)
                break
            definitions = view.node.fields.get(key, ())
            result[:0] = [View(definition.node, definition, view.steps, view.via) for definition in definitions]
            if any(isinstance(definition.node, ScalarNode | ListNode) for definition in definitions):
                break
        for index, view in enumerate(result):
            if view.definition is not None and any(view.definition is step[0] for step in view.steps):
                return result[:index], view.definition
        return result, None

    def _objects(self, stack: Stack) -> Iterator[View]:
        """Yield the effective objects of a stack, newest first and lazily, with a failure as the last."""
        for view in self._downwards(stack):
            if isinstance(view.node, ObjectNode | Failed):
                yield view
            if not isinstance(view.node, ObjectNode):
                return

    # Concatenations

    def _joined(self, view: View, node: Concatenation) -> Iterator[View]:
        """Yield the views of a concatenation: of strings, lists or objects, never mixed."""
        key = (_identity(view), id(view.via))
        if key not in self._joined_views:  # without the cache, nested concatenations take exponential time
            self._joined_views[key] = list(self._join(view, node))
        yield from self._joined_views[key]

    def _join(self, view: View, node: Concatenation) -> Iterator[View]:
        parts: list[list[View]] = []
        for part in node.parts:
            views = self.effective([View(part, view.definition, view.steps, view.via)])
            if views and isinstance(views[0].node, Failed):
                yield views[0]
                return
            parts.append(views)
        types = {type(views[0].node) for views in parts if views}
        if types == {ObjectNode}:
            yield from {_identity(view): view for views in reversed(parts) for view in views}.values()
        elif types & {ListNode, Items} and (lists := [self._as_list(views) for views in parts]) and None not in lists:
            stacks = [stack for items in lists if items for stack in items]
            self.spend(len(stacks) // _ITEMS_PER_STEP, node.span)
            yield View(Items(stacks, node.span), view.definition, view.steps, view.via)
        elif types == {ScalarNode}:
            yield View(self._text(node, parts), view.definition, view.steps, view.via)
        elif types:
            self.findings.mixed(node, parts)
            yield View(Failed())

    def _text(self, node: Concatenation, parts: list[list[View]]) -> ScalarNode | Failed:
        pieces = []
        for gap, views in zip(node.gaps, parts, strict=True):
            pieces.append(gap)
            if views and isinstance(views[0].node, ScalarNode):
                pieces.append(views[0].node.text)
        length = sum(map(len, pieces))
        if length > _MAX_TEXT:
            headline = f"substitutions produce a string of more than {_MAX_TEXT:,} characters"
            self.findings.report(node, "too-large", headline)
            return Failed()
        self.spend(length // _CHARACTERS_PER_STEP, node.span)
        text = "".join(pieces)
        return ScalarNode(text, text, True, node.span)

    def _appended(self, stack: Stack, index: int) -> View:
        """Return the list of a `+=`: the earlier list, with the items of it and of each `+=` directly before it."""
        added: list[tuple[View, Append]] = []
        for view in reversed(stack[: index + 1]):
            if not isinstance(view.node, Append):
                break
            added.append((view, view.node))
        added.reverse()
        earlier = self.effective(stack[: index + 1 - len(added)])
        if earlier and isinstance(earlier[0].node, Failed):
            return earlier[0]
        items = self._as_list(earlier)
        if items is None:
            self.findings.not_a_list(added[0][1], earlier[0])
            return View(Failed())
        view, node = added[-1]
        if view.via is not None:
            self.spend((len(items) + len(added)) // _ITEMS_PER_STEP, view.via)
        stacks: list[Stack] = [*items, *([View(append.item, None, (), view.via)] for view, append in added)]
        return View(Items(stacks, node.span), view.definition, view.steps, view.via)

    def _as_list(self, views: list[View]) -> list[Stack] | None:
        """Return the items of effective views: of a list, or of an object whose keys are numbers, in their order."""
        if not views:
            return []
        if isinstance(views[0].node, ListNode | Items):
            return self.items(views[0])
        if not isinstance(views[0].node, ObjectNode):
            return None
        keys = {key for view in views if isinstance(view.node, ObjectNode) for key in view.node.fields}
        numbers = sorted((key for key in keys if key.isascii() and key.isdigit()), key=int)
        return [children(views, key) for key in numbers] or None

    def _unresolved(self, node: Substitution) -> None:
        """Report a substitution without a value, with the keys similar to the first undefined one."""
        stack: Stack = [View(root) for root in self.roots]
        for index, key in enumerate(node.path, start=1):
            objects = [view for view in self._objects(stack) if isinstance(view.node, ObjectNode)]
            stack = children(objects, key)
            if not stack:
                known = [other for view in objects if isinstance(view.node, ObjectNode) for other in view.node.fields]
                self.findings.unresolved(node, node.path[:index], known)
                return
        self.findings.unresolved(node, node.path, ())


def _identity(view: View) -> object:
    """Return a key that is equal for views of the same value: merging an object with itself changes nothing."""
    return id(view.node), *(id(definition) for definition, _ in view.steps)
