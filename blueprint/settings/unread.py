"""Settings that nothing reads: outside of `flow` and `blueprint`, and in no substitution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon import Layer, ObjectValue, Value, key_span_of, path_text
from blueprint.hocon.tree import Append, Concatenation, ListNode, Node, ObjectNode, Substitution
from blueprint.model.draft import Draft
from blueprint.settings.layers import ARGUMENTS
from blueprint.settings.table import setting_tree
from blueprint.spelling import alternatives, near

_OWN_SECTIONS = ("flow", "blueprint")
_MOST_SUGGESTED = 3

_Path = tuple[str, ...]


def unread_findings(
    root: ObjectValue, layers: Iterable[Layer], draft: Draft, found: Iterable[Diagnostic]
) -> Iterator[Diagnostic]:
    """A `key=value` argument has an effect, and a file does not have a setting beside `flow` that belongs below it.

    Other sections of files are the user's own, also when nothing reads them: files are shared by applications.

    Arguments:
        root: the whole tree; layers: what it is made of.
        found: the findings so far, whose places are not reported again.
    """
    reported = {each.primary.span for each in found if each.primary is not None}
    read = {path for layer in layers for path in _substituted(layer.root)}
    for path, value in _leaves(root, ()):
        if path[0] in _OWN_SECTIONS or any(path[: len(each)] == each[: len(path)] for each in read):
            continue
        argument = value.origins[-1].span.file == ARGUMENTS
        if not (argument or draft.blueprint.streamlets):
            continue  # the section `blueprint` is missing: what is beside it may be meant to be in it
        suggested = _suggestions(path, draft, guess=argument)
        if (suggested or argument) and reported.isdisjoint({key_span_of(value), key_span_of(root.fields[path[0]])}):
            yield finding(
                "unknown-setting",
                f"nothing reads the setting `{path_text(path)}`",
                key_span_of(value),
                help=(
                    f"did you mean {alternatives(suggested[:_MOST_SUGGESTED])}?"
                    if suggested
                    else "settings begin with `flow.`",
                ),
            )


def _leaves(value: Value, path: _Path) -> Iterator[tuple[_Path, Value]]:
    """Every value that is not an object, or is an empty one, with its path."""
    if isinstance(value, ObjectValue) and (value.fields or not path):
        for key, inner in value.fields.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def _substituted(root: Node) -> Iterator[_Path]:
    """The paths that substitutions look up."""
    nodes: list[Node] = [root]
    while nodes:
        match nodes.pop():
            case ObjectNode(fields=fields):
                nodes += [definition.node for definitions in fields.values() for definition in definitions]
            case ListNode(items=items) | Concatenation(parts=items):
                nodes += items
            case Append(item=item):
                nodes.append(item)
            case Substitution(path=path, roots=roots):
                yield path
                yield from ((*prefix, *path) for prefix in roots)


def _suggestions(path: _Path, draft: Draft, *, guess: bool) -> list[str]:
    """The settings that a path may be the end of; with `guess`, also by near names."""
    top, *_ = path
    tree = setting_tree()
    streamlets, topics = tree.children["streamlets"].named, tree.children["topics"].named
    assert streamlets is not None
    assert topics is not None
    found: list[_Path] = []
    if top == "parameters" and len(path) > 1:
        found += [(*owner, *path) for owner in _with_parameter(draft, path[1])]
    elif top in tree.children:
        found.append(path)
    elif top in streamlets.children:
        found += [("streamlets", ref, *path) for ref in draft.blueprint.streamlets]
    elif top in topics.children:
        found += [("topics", id, *path) for id in draft.blueprint.topics]
    elif guess and top in draft.blueprint.streamlets and len(path) > 1:
        found.append(("streamlets", *path))
    elif guess and top in draft.blueprint.topics and len(path) > 1:
        found.append(("topics", *path))
    elif guess and len(path) == 1:
        found += [(*owner, "parameters", top) for owner in _with_parameter(draft, top)]
    if guess and not found and len(path) > 1:
        found += [(name, *path[1:]) for name in near(top, _OWN_SECTIONS)]
        return [path_text(each) for each in found]
    return [path_text(("flow", *each)) for each in found]


def _with_parameter(draft: Draft, key: str) -> Sequence[_Path]:
    """The streamlets that have a config parameter."""
    return [
        ("streamlets", ref)
        for ref in draft.blueprint.streamlets
        if (descriptor := draft.descriptor(ref)) is not None
        and any(parameter.key == key for parameter in descriptor.parameters)
    ]
