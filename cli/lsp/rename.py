"""The rename of a streamlet or a topic in all files of settings, with its effect on the application's state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from blueprint.diagnostics import Edit, Severity, Span
from blueprint.hocon.values import ObjectValue, Value
from blueprint.model.blueprint import dead_letter_topic
from blueprint.model.draft import Draft
from blueprint.verification.verify import Verification
from cli.lsp.positions import is_file
from cli.lsp.targets import StreamletName, TopicName, parts

Line = Callable[[str, int], str | None]
"""Returns a line of a file by the name of the file in spans and its number."""


class RenameError(Exception):
    """A name cannot be changed; the message explains why."""


@dataclass(frozen=True, slots=True)
class Rename:
    """A rename.

    Arguments:
        edits: the edits of all files.
        effect: what the rename does to the state of the application.
    """

    edits: tuple[Edit, ...]
    effect: str


def rename(draft: Draft, target: StreamletName | TopicName, new: str, line: Line) -> Rename:
    """Return the rename of a streamlet or topic.

    Arguments:
        draft: the application, which must have been read from the current texts.
        target: what to rename.
        new: its new name.
        line: returns the lines of the texts.

    Raises:
        RenameError: the name is already used.
    """
    match target:
        case StreamletName(ref):
            old, known, spans = ref, draft.blueprint.streamlets.keys(), _streamlet_spans(draft, ref)
            effect = (
                f"The checkpoints of `{ref}` belong to its name: `{new}` starts with a new checkpoint, and reads its "
                f"inlets again as a new reader does."
            )
        case TopicName(topic):
            old, known, spans = topic.id, draft.blueprint.topics.keys(), _topic_spans(draft, topic.id)
            effect = (
                f"The records of `{topic.id}` are stored under its name, so `{new}` starts empty. To keep the records, "
                f"set `topic.name = {topic.id}` in the topic."
            )
    if new in known:
        raise RenameError(f"there is already a {'streamlet' if isinstance(target, StreamletName) else 'topic'} `{new}`")
    unique = dict.fromkeys(span for span in spans if is_file(span))
    return Rename(tuple(_edit(span, old, new, line) for span in unique), effect)


def refusal(before: Verification, after: Verification) -> str | None:
    """Return the first error that a rename causes, None without one: for example an invalid name."""
    known = {finding.code for finding in before.diagnostics}
    errors = (finding for finding in after.diagnostics if finding.severity is Severity.ERROR)
    return next((finding.headline for finding in errors if finding.code not in known), None)


def _streamlet_spans(draft: Draft, ref: str) -> Iterator[Span]:
    blueprint = draft.blueprint
    if ref in blueprint.streamlets:
        yield blueprint.streamlets[ref].key
    yield from _keys(draft.settings.get("streamlets", ref))
    for topic in blueprint.topics.values():
        yield from (parts(path)[0] for _, path in topic.paths if path.wellformed and path.streamlet == ref)
    if blueprint.cycle_stops and ref in blueprint.cycle_stops:
        yield blueprint.cycle_stops[ref].key
    yield from _keys(draft.settings.get("topics", dead_letter_topic(ref)))


def _topic_spans(draft: Draft, id: str) -> Iterator[Span]:
    yield draft.blueprint.topics[id].key
    yield from _keys(draft.settings.get("topics", id))


def _keys(value: Value | None) -> Iterator[Span]:
    """Yield every place of the key of a value."""
    if isinstance(value, ObjectValue):
        yield from (origin.key for origin in value.origins if origin.key is not None and origin.via is None)


def _edit(span: Span, old: str, new: str, line: Line) -> Edit:
    """Return the edit of a name, which is quoted if it was, or alone in the span."""
    text = (line(span.file, span.line) or "")[span.column - 1 : span.end_column - 1]
    if old not in text:
        raise RenameError(f"`{old}` is written in another way at {Path(span.file).name}:{span.line}:{span.column}")
    replacement = text.replace(old, new, 1)
    if "." in new and not replacement.startswith('"'):
        replacement = json.dumps(replacement)
    return Edit(span, replacement, text)
