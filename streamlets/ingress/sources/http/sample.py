"""Samples of servers: the records of the first page, and what its answer says about the next one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from blueprint.spelling import listing
from streamlets.ingress.sources.http.client import Answer
from streamlets.ingress.sources.http.pages import Pages, at_path
from streamlets.ingress.sources.sample import Sample, SampledRow, SampleError

_NEXT = re.compile(r"(has_?)?next(_?(page|url|link|cursor|token))?|cursor", re.IGNORECASE)
_DEEPEST = 3


def sample_of_page(url: str, answer: Answer, options: Mapping[str, Any], count: int) -> Sample:
    """Return records of a page.

    Arguments:
        url: its URL.
        answer: the answer of the server.
        options: the options of the source. An array that `records` does not name is found if it is the only one.
        count: the number of records.

    Raises:
        PageError: the answer is not JSON, or `records` names no array.
        SampleError: there are no records, or several arrays of records.
    """
    found: dict[str, str] = {}
    path = options.get("records", "")
    if not path:
        parsed = Pages.json(answer.body, url)
        if isinstance(parsed, Mapping):
            path = _only_array(parsed, url)
            found["records"] = path
    parsed, records = Pages("none", records=path).parsed(answer.body, url)
    objects = [(number, record) for number, record in enumerate(records, 1) if isinstance(record, Mapping)]
    doubts = []
    if len(objects) < len(records):
        doubts.append(("", f"{len(records) - len(objects)} of {len(records)} records are not objects: dead letters"))
    if options["paging"] == "none":
        paging, doubt = _paging(answer, parsed, path)
        found |= paging
        doubts += [("", doubt)] if doubt else []
    rows = [SampledRow(record, f"record {number}") for number, record in objects[:count]]
    return Sample(rows, "the first page", doubts=doubts, options=found)


def _only_array(parsed: Mapping[str, Any], url: str) -> str:
    """Return the path of the only array of objects in an answer."""
    paths = [
        path
        for path, value in _values(parsed)
        if isinstance(value, list) and all(isinstance(i, Mapping) for i in value)
    ]
    filled = [path for path in paths if at_path(parsed, path)]
    if len(filled or paths) == 1:
        return (filled or paths)[0]
    if paths:
        raise SampleError(f"the answer to GET {url} has several arrays of records, {listing(paths)}: set `records`")
    raise SampleError(f"the answer to GET {url} has no array of records; its keys are {listing(parsed)}")


def _values(value: Mapping[str, Any], above: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        path = f"{above}.{key}" if above else key
        yield path, inner
        if isinstance(inner, Mapping) and depth < _DEEPEST:
            yield from _values(inner, path, depth + 1)


def _paging(answer: Answer, parsed: Any, records: str) -> tuple[dict[str, str], str]:
    """Return the options of paging that an answer calls for, and a doubt about them."""
    if Pages("link").following("http://server/", answer, parsed, 1) is not None:
        return {"paging": "link"}, ""
    if not isinstance(parsed, Mapping):
        return {}, ""
    keys = {
        path: value for path, value in _values(parsed) if path != records and _NEXT.fullmatch(path.rpartition(".")[2])
    }
    for path, value in keys.items():
        if isinstance(value, str) and ("/" in value):
            return {"paging": "cursor", "cursor": path}, ""
    if keys:
        path = next(iter(keys))
        doubt = f"`{path}` in the answer may lead to the next page: set `paging` and the options with it"
        return {}, doubt
    return {}, ""
