"""Resolve layers into values that carry every place that set them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.diagnostics import Diagnostic
from blueprint.hocon.lookup import LINKS_PER_STEP, ExhaustedError, Lookup
from blueprint.hocon.source import MAX_DEPTH
from blueprint.hocon.tree import Concatenation, Layer, ListNode, Node, ObjectNode, ScalarNode, Substitution
from blueprint.hocon.values import ListValue, ObjectValue, Origin, Scalar, Value
from blueprint.hocon.views import Failed, Items, Stack, View, children

_STEPS_PER_CYCLE = 20  # a cycle among values is met in every order of its members


def resolve(layers: Sequence[Layer], environment: Mapping[str, str]) -> tuple[ObjectValue, tuple[Diagnostic, ...]]:
    """Merge layers and resolve their substitutions.

    Arguments:
        layers: merged as if they were one file, so later ones win.
        environment: variables, looked up when a substitution has no other value. Their values are strings.

    Returns:
        The merged object and the findings about substitutions; the layers' are not repeated. A key whose value
        cannot be determined is omitted.
    """
    lookup = Lookup(layers, environment)
    roots = [View(layer.root) for layer in layers]
    try:
        value = _Builder(lookup).object(roots)
    except ExhaustedError:
        value = ObjectValue({}, tuple(origin for root in roots for origin in _origins(root)))
    return value, tuple(lookup.findings.diagnostics)


class _Builder:
    """Builds values from stacks.

    Only values inside an object or a list can contain themselves. Such a value is detected when a substitution is met
    again while its own value is being built.
    """

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup
        self.building: list[Substitution] = []
        self.depth = 0

    def object(self, stack: Stack) -> ObjectValue:
        """Return the merged object of a stack of objects."""
        return self._object(list(reversed(stack)), [origin for view in stack for origin in _origins(view)])

    def _value(self, stack: Stack) -> Value | None:
        """Return the value of a stack; None when it has none (undefined or failed)."""
        view = stack[-1]
        node = view.node
        if view.via is not None:
            self.lookup.spend(1 + (len(self.building) + len(stack)) // LINKS_PER_STEP, view.via)
        if len(stack) == 1 and type(node) is ScalarNode:
            key = view.definition.key if view.definition is not None else None
            return Scalar(node.value, node.text, node.quoted, (Origin(node.span, key, view.via),))
        known = node if len(stack) == 1 and isinstance(node, ObjectNode) and node.shared and view.via is None else None
        if known is not None and known.resolved is not None:
            return known.resolved
        if self.depth > MAX_DEPTH + 16:
            self._too_deep(stack)
            return None
        entered = self._enter(stack)
        if entered is None:
            return None
        self.depth += 1
        value = self._build(stack)
        if known is not None and isinstance(value, ObjectValue):
            known.resolved = value
        self.depth -= 1
        del self.building[len(self.building) - entered :]
        return value

    def _enter(self, stack: Stack) -> int | None:
        """Record the substitutions whose value is being built.

        Returns:
            Their number, None when one of them is being built already (reported).
        """
        entered: dict[int, Substitution] = {}
        for view in reversed(stack):
            for substitution in _substitutions(view.node):
                for index, other in enumerate(self.building):
                    if other is substitution:
                        self.lookup.spend(_STEPS_PER_CYCLE, substitution.span)
                        if not substitution.optional:
                            self.lookup.findings.self_containing(self.building[index:])
                        return None
                entered[id(substitution)] = substitution
            if isinstance(view.node, ScalarNode | ListNode):
                break
        self.building += entered.values()
        return len(entered)

    def _build(self, stack: Stack) -> Value | None:
        """Return the value of a stack, with the places of all its entries, including the overridden ones."""
        effective: list[View] = []
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
                    if effective:
                        break
                effective.append(view)
                places += reversed(_origins(view, entry))
                if hidden:
                    break
            if not hidden and self.lookup.repeats_older(entry):
                break
        places.reverse()
        if not effective:
            return None
        return self._from_views(effective, places)

    def _from_views(self, views: list[View], places: list[Origin]) -> Value:
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
        self.lookup.findings.report(node, "too-deep", f"substitutions nest values more than {MAX_DEPTH} levels deep")


def _substitutions(node: Node | Items | Failed) -> Iterator[Substitution]:
    if isinstance(node, Substitution):
        yield node
    elif isinstance(node, Concatenation):
        for part in node.parts:
            if isinstance(part, Substitution):
                yield part


def _origins(view: View, entry: View | None = None) -> list[Origin]:
    """Return the places of an effective or overridden view, oldest first.

    Arguments:
        view: the view.
        entry: the entry of the stack from which the view was opened; its key is the one that was set.
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
