"""Settings that nothing reads, because they are neither below `flow` or `blueprint` nor in a substitution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from blueprint.diagnostics import Diagnostic, finding
from blueprint.hocon import Layer, ObjectValue, Value, key_span_of, path_text
from blueprint.hocon.tree import Append, Concatenation, ListNode, Node, ObjectNode, Substitution
from blueprint.model.draft import Draft
from blueprint.settings.layers import ARGUMENTS
from blueprint.spelling import alternatives, near

_OWN_SECTIONS = ("flow", "blueprint")
_MOST_SUGGESTED = 3

_Path = tuple[str, ...]


def unread_findings(
    root: ObjectValue, layers: Iterable[Layer], draft: Draft, findings: Iterable[Diagnostic]
) -> Iterator[Diagnostic]:
    """Yield findings for `key=value` arguments without effect, and for settings of files that belong below `flow`.

    Other sections of files belong to the user, even if nothing reads them, because applications share files.

    Arguments:
        root: the whole tree.
        layers: the texts it was read from.
        draft: the application.
        findings: the findings of other rules; the same place is not reported again.
    """
    reported = {finding.primary.span for finding in findings if finding.primary is not None}
    read = {path for layer in layers for path in _substituted(layer.root)}
    for path, value in _leaves(root, ()):
        if path[0] in _OWN_SECTIONS or any(path[: len(other)] == other[: len(path)] for other in read):
            continue
        argument = value.origins[-1].span.file == ARGUMENTS
        if not (argument or draft.blueprint.streamlets):
            continue  # the section `blueprint` is missing, and this section may be a part of it
        suggestions = _suggestions(path, draft, guess=argument)
        if (suggestions or argument) and reported.isdisjoint({key_span_of(value), key_span_of(root.fields[path[0]])}):
            yield finding(
                "unknown-setting",
                f"nothing reads the setting `{path_text(path)}`",
                key_span_of(value),
                help=(
                    f"did you mean {alternatives(suggestions[:_MOST_SUGGESTED])}?"
                    if suggestions
                    else "settings begin with `flow.`",
                ),
            )


def _leaves(value: Value, path: _Path) -> Iterator[tuple[_Path, Value]]:
    """Yield every value that is not an object, and every empty object, with its path."""
    if isinstance(value, ObjectValue) and (value.fields or not path):
        for key, inner in value.fields.items():
            yield from _leaves(inner, (*path, key))
    else:
        yield path, value


def _substituted(root: Node) -> Iterator[_Path]:
    """Yield the paths that substitutions look up."""
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
    """Return the settings whose paths may end with a path; with `guess`, also those with similar names."""
    top, *_ = path
    known = draft.known
    streamlets = [("streamlets", ref) for ref in draft.blueprint.streamlets]
    topics = [("topics", id) for id in draft.blueprint.topics]
    owners = [owner for owner in (*streamlets, *topics) if (node := known.inner(*owner)) and top in node.children]
    paths: list[_Path] = []
    if top == "parameters" and len(path) > 1:
        paths += [(*owner, *path) for owner in _with_parameter(draft, path[1])]
    elif top in known.children:
        paths.append(path)
    elif owners:
        paths += [(*owner, *path) for owner in owners]
    elif guess and top in draft.blueprint.streamlets and len(path) > 1:
        owner = ("streamlets", top)
        parameter = ("parameters",) if owner in _with_parameter(draft, path[1]) else ()
        paths.append((*owner, *parameter, *path[1:]))
    elif guess and top in draft.blueprint.topics and len(path) > 1:
        paths.append(("topics", *path))
    elif guess and len(path) == 1:
        paths += [(*owner, "parameters", top) for owner in _with_parameter(draft, top)]
    if guess and not paths and len(path) > 1:
        paths += [(name, *path[1:]) for name in near(top, _OWN_SECTIONS)]
        return [path_text(suggestion) for suggestion in paths]
    return [path_text(("flow", *suggestion)) for suggestion in paths]


def _with_parameter(draft: Draft, key: str) -> Sequence[_Path]:
    """Return the paths of the streamlets that have a config parameter."""
    return [
        ("streamlets", ref)
        for ref in draft.blueprint.streamlets
        if (descriptor := draft.descriptor(ref)) is not None
        and any(parameter.key == key for parameter in descriptor.parameters)
    ]
