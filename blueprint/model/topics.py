"""Reads topics from the section `topics` of a configuration tree, with a finding for each unreadable part."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from blueprint.diagnostics import Diagnostic, FixKind, Label, Span, finding
from blueprint.diagnostics.fixes import rewrite
from blueprint.hocon.values import ListValue, ObjectValue, Scalar, Value, key_span_of, span_of
from blueprint.model.blueprint import PortPath, TopicEntry, port_path
from blueprint.model.findings import dotted_span, misspelt_key, wrong_type
from blueprint.spelling import listing, near

_LISTS = ("producers", "consumers")


class TopicReader:
    """Reads topics, reports findings, and continues after a mistake with what was probably meant.

    After reading, `broken` is whether some topics could not be read, so that missing connections prove nothing.

    Arguments:
        file: the blueprint's name in findings.
        add: collects a finding.
    """

    def __init__(self, file: str, add: Callable[[Diagnostic], None]) -> None:
        self.file = file
        self.broken = False
        self._add = add
        self._twice: set[str] = set()

    def topics(self, section: Value | None) -> dict[str, TopicEntry]:
        """Return the topics that can be read, by id."""
        if section is None:
            return {}
        if not isinstance(section, ObjectValue):
            self._add(wrong_type(section, "`topics`", "an object of topics"))
            self.broken = True
            return {}
        entries: dict[str, TopicEntry] = {}
        for id, value in section.fields.items():
            if isinstance(value, ObjectValue):
                entries |= {entry.id: entry for entry in self._topic(id, value)}
            else:
                expected = "an object with `producers` and `consumers`"
                self._add(wrong_type(value, f"the topic `{id}`", expected).about(("topics", id)))
                self.broken = True
        return entries

    def _topic(self, id: str, block: ObjectValue) -> Iterable[TopicEntry]:
        """Return the topic, and the topics inside it, which have an unquoted dot in their id."""
        inner = {key: value for key, value in block.fields.items() if _looks_like_topic(value)}
        for key, value in inner.items():
            assert isinstance(value, ObjectValue)
            full = f"{id}.{key}"
            span = dotted_span(block, value) or key_span_of(value)
            self._add(
                finding(
                    "topic-id",
                    f"the topic id `{full}` must be quoted",
                    span,
                    label="an unquoted dot starts a nested object",
                    help=(f'write `"{full}" {{ ... }}`',),
                    fix=rewrite(FixKind.QUOTE_TOPIC_ID, (span, full, f'"{full}"')),
                    topics=(full,),
                )
            )
            yield from self._topic(full, value)
        rest = {key: value for key, value in block.fields.items() if key not in inner}
        if rest or not inner:
            lists = {key: self._port_list(id, key, rest) for key in _LISTS}
            settings = ObjectValue(rest, block.origins)
            yield TopicEntry(id, key_span_of(block), lists["producers"], lists["consumers"], settings)

    def _port_list(self, id: str, key: str, rest: dict[str, Value]) -> tuple[PortPath, ...]:
        """Remove a list of port paths from `rest`, and return the paths."""
        value = rest.pop(key, None)
        if value is None:
            close = [name for name in near(key, rest) if isinstance(rest[name], ListValue)]
            if not close:
                return ()
            value = rest.pop(close[0])
            known = _LISTS if len(close) == 1 else ()
            self._add(misspelt_key(value, close[0], key, f"the topic `{id}`", known).about(("topics", id)))
        if isinstance(value, Scalar) and isinstance(value.value, str):
            span = span_of(value)
            path = port_path(value.text, span)
            self._add(
                finding(
                    "wrong-type",
                    f"`{key}` of the topic `{id}` must be a list of port paths",
                    span,
                    label="this is a string",
                    help=(f"write `{key} = [{value.text}]`",),
                    fix=rewrite(FixKind.LIST_PATH, (span, value.text, f"[{value.text}]")) if path.wellformed else None,
                    streamlets=(path.streamlet,) if path.wellformed else (),
                    topics=(id,),
                )
            )
            return (path,)
        if not isinstance(value, ListValue):
            self._add(wrong_type(value, f"`{key}` of the topic `{id}`", "a list of port paths").about(("topics", id)))
            self.broken = True
            return ()
        self._report_duplicate(id, key, value)
        return tuple(self._port_paths(id, key, value.items))

    def _report_duplicate(self, id: str, key: str, value: ListValue) -> None:
        """Report a list that replaces another one in the same file: probably two topics with the same id."""
        places = [origin.span for origin in value.origins if origin.via is None and origin.span.file == self.file]
        kept = [span_of(item) for item in value.items]
        lost = [place for place in places[:-1] if not _empty(place) and not any(_within(span, place) for span in kept)]
        if not lost or id in self._twice:
            return
        self.broken = True
        self._twice.add(id)
        self._add(
            finding(
                "topic-twice",
                f"the topic `{id}` defines `{key}` twice",
                key_span_of(value),
                label="this list would replace the first one",
                also=(Label(lost[-1], "first defined here"),),
                help=(f"give one of the topics another id, or write one list; `{key} += ...` adds to a list",),
                topics=(id,),
            )
        )

    def _port_paths(self, id: str, key: str, items: Iterable[Value]) -> Iterable[PortPath]:
        for item in items:
            if isinstance(item, Scalar) and item.value is not None:
                words = item.text.split()
                if len(words) > 1 and all(port_path(word, span_of(item)).wellformed for word in words):
                    yield from self._run_together(id, key, item, words)
                else:
                    yield port_path(item.text, span_of(item))
            else:
                subject = f"an entry of `{key}` of the topic `{id}`"
                self._add(wrong_type(item, subject, "a port path").about(("topics", id)))
                self.broken = True

    def _run_together(self, id: str, key: str, item: Scalar, words: list[str]) -> Iterable[PortPath]:
        """Report port paths without a comma between them, which HOCON reads as one string, and return the paths."""
        span = span_of(item)
        paths = [port_path(word, span) for word in words]
        self._add(
            finding(
                "port-path",
                f"a comma is missing between {listing(words)} in `{key}` of the topic `{id}`",
                span,
                help=(f"write `{', '.join(words)}`",),
                fix=rewrite(FixKind.SEPARATE_PATHS, (span, item.text, ", ".join(words))),
                streamlets=(path.streamlet for path in paths),
                topics=(id,),
            )
        )
        return paths


def _looks_like_topic(value: Value) -> bool:
    return isinstance(value, ObjectValue) and any(
        key in _LISTS or (isinstance(inner, ObjectValue) and _looks_like_topic(inner))
        for key, inner in value.fields.items()
    )


def _within(span: Span, place: Span) -> bool:
    """Return whether a span is inside another."""
    begins, ends = (span.line, span.column), (span.end_line, span.end_column)
    inside = (place.line, place.column) <= begins and ends <= (place.end_line, place.end_column)
    return span.file == place.file and inside


def _empty(place: Span) -> bool:
    """Return whether a list is `[]`, which can be replaced without a loss."""
    return place.line == place.end_line and place.end_column - place.column <= 2
