"""Layers in, values out: every value remembers every place that set it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.diagnostics import Diagnostic
from blueprint.hocon.lookup import LINKS_PER_STEP, ExhaustedError, Lookup
from blueprint.hocon.source import MAX_DEPTH
from blueprint.hocon.tree import Concatenation, Layer, ListNode, Node, ObjectNode, ScalarNode, Substitution
from blueprint.hocon.values import ListValue, ObjectValue, Origin, Scalar, Value
from blueprint.hocon.views import Failed, Items, Stack, View, children

_STEPS_PER_CYCLE = 20  # values that contain themselves do so in as many ways as there are orders of them


def resolve(layers: Sequence[Layer], environment: Mapping[str, str]) -> tuple[ObjectValue, tuple[Diagnostic, ...]]:
    """Merge layers, then follow substitutions.

    Arguments:
        layers: later ones win, as if all were one file.
        environment: where substitutions are looked up last; what is found there is text.

    Returns:
        The merged object, and what is wrong with the substitutions (the layers' own findings are not repeated). A key
        whose value cannot be had is left out.
    """
    lookup = Lookup(layers, environment)
    roots = [View(layer.root) for layer in layers]
    try:
        value = _Builder(lookup).object(roots)
    except ExhaustedError:
        value = ObjectValue({}, tuple(origin for root in roots for origin in _origins(root)))
    return value, tuple(lookup.findings.found)


class _Builder:
    """Builds values from stacks.

    Only values inside an object or a list can contain themselves; that shows when a substitution is met again while its
    own value is being built.
    """

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.building: list[Substitution] = []
        self.depth = 0

    def object(self, stack: Stack) -> ObjectValue:
        """The object that a stack of objects merges into."""
        return self._object(list(reversed(stack)), [origin for view in stack for origin in _origins(view)])

    def _value(self, stack: Stack) -> Value | None:
        """The value of a stack; None when it has none (undefined or failed)."""
        view = stack[-1]
        node = view.node
        if view.via is not None:
            self.lookup.spend(1 + (len(self.building) + len(stack)) // LINKS_PER_STEP, view.via)
        if len(stack) == 1 and type(node) is ScalarNode:
            key = view.definition.key if view.definition is not None else None
            return Scalar(node.value, node.text, node.quoted, (Origin(node.span, key, view.via),))
        if self.depth > MAX_DEPTH + 16:
            self._too_deep(stack)
            return None
        entered = self._enter(stack)
        if entered is None:
            return None
        self.depth += 1
        value = self._built(stack)
        self.depth -= 1
        del self.building[len(self.building) - entered :]
        return value

    def _enter(self, stack: Stack) -> int | None:
        """Note the substitutions whose value is being built; None when one of them is being built already."""
        entered: dict[int, Substitution] = {}
        for view in reversed(stack):
            for substitution in _substitutions(view.node):
                for index, other in enumerate(self.building):
                    if other is substitution:
                        self.lookup.spend(_STEPS_PER_CYCLE, substitution.span)
                        if not substitution.optional:
                            self.lookup.findings.inside_itself(self.building[index:])
                        return None
                entered[id(substitution)] = substitution
            if isinstance(view.node, ScalarNode | ListNode):
                break
        self.building += entered.values()
        return len(entered)

    def _built(self, stack: Stack) -> Value | None:
        """The value of a stack, with the places of all its entries, also of those that others hide."""
        in_force: list[View] = []
        places: list[Origin] = []
        merged: set[int] = set()
        hidden = False
        for index in range(len(stack) - 1, -1, -1):
            entry = stack[index]
            if hidden:
                places += reversed(_origins(entry))
                continue
            for view in self.lookup.opened(stack, index):
                if isinstance(view.node, Failed):
                    return None
                if id(view.node) in merged:
                    continue
                merged.add(id(view.node))
                if not isinstance(view.node, ObjectNode):
                    hidden = True
                    if in_force:
                        break
                in_force.append(view)
                places += reversed(_origins(view, entry))
                if hidden:
                    break
            if not hidden and self.lookup.repeats_older(entry):
                break
        places.reverse()
        if not in_force:
            return None
        return self._in_force(in_force, places)

    def _in_force(self, views: list[View], places: list[Origin]) -> Value:
        node = views[0].node
        if isinstance(node, ObjectNode):
            return self._object(views, places)
        if isinstance(node, ScalarNode):
            return Scalar(node.value, node.text, node.quoted, tuple(places))
        stacks = self.lookup.items(views[0])
        if views[0].via is not None:
            self.lookup.spend(len(stacks), views[0].via)
        items = [self._value(stack) for stack in stacks]
        return ListValue(tuple(item for item in items if item is not None), tuple(places))

    def _object(self, views: list[View], places: list[Origin]) -> ObjectValue:
        fields: dict[str, Value] = {}
        keys = {key: None for view in reversed(views) if isinstance(view.node, ObjectNode) for key in view.node.fields}
        for key in keys:
            value = self._value(children(views, key))
            if value is not None:
                fields[key] = value
        return ObjectValue(fields, tuple(places))

    def _too_deep(self, stack: Stack) -> None:
        node = stack[-1].node
        if isinstance(node, ObjectNode) or not isinstance(node, ListNode | Substitution | Concatenation | ScalarNode):
            node = ScalarNode(None, "", False, _origins(stack[-1])[-1].span)
        self.lookup.findings.report(node, "too-deep", f"values nest more than {MAX_DEPTH} deep through substitutions")


def _substitutions(node: Node | Items | Failed) -> Iterator[Substitution]:
    if isinstance(node, Substitution):
        yield node
    elif isinstance(node, Concatenation):
        for part in node.parts:
            if isinstance(part, Substitution):
                yield part


def _origins(view: View, entry: View | None = None) -> list[Origin]:
    """The places of what is in force, oldest first.

    Arguments:
        view: what is in force, or an entry that is hidden.
        entry: the entry of the stack it came from: its key is the one that was set.
    """
    node = view.node
    definition = (entry or view).definition
    key = definition.key if definition is not None else None
    if isinstance(node, Failed) or (isinstance(node, Substitution) and node.optional):
        return []
    if isinstance(node, ObjectNode):
        foreign = entry is not None and entry.node is not node
        return [Origin(origin.span, key if foreign else origin.key, view.via) for origin in node.origins]
    return [Origin(node.span, key, view.via)]
