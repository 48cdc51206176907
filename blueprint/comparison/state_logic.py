"""Compare what determines the content of a query's state: keys, aggregates, joins, filters, settings, functions.

A different key or aggregate would mix two meanings in one state. A different filter applies to new records only: those
in state were selected by the old one. Both may have the same columns, which Spark and `state.py` accept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from blueprint.comparison.descriptor import DescribedLogic, DescribedQuery, OperatorLogic
from blueprint.comparison.meaning import LEGACY
from blueprint.comparison.stateful_operators import stateful_operator

_CODE = re.compile(r"(?P<name>[\w<>.]+)\{(?P<code>[^{}]*)\}")
_RESULT = re.compile(r"result (?P<name>.+?) = (?P<text>.*)$", re.DOTALL)
_UNKNOWN = "?"
_LENGTH = 300


@dataclass(frozen=True, slots=True)
class LogicDifferences:
    """The differences of the logic of two versions of a query, one sentence each.

    Arguments:
        lost: those that would mix two meanings in one state.
        later: those that apply to new records only.
        unknown: the parts that cannot be compared.
    """

    lost: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def logic_differences(old: DescribedQuery, new: DescribedQuery) -> LogicDifferences:
    """Return the differences of the logic of two versions of a query with the same stateful operators."""
    if new.logic is None or not (old.operators or new.operators):
        return LogicDifferences()
    if old.logic is None:
        return LogicDifferences(unknown=(NOT_RECORDED,))
    return compare_logic(old.logic, new.logic)


def compare_logic(old: DescribedLogic, new: DescribedLogic) -> LogicDifferences:
    """Return the differences of two descriptions of the logic of a query."""
    if old.form != new.form:
        return LogicDifferences(unknown=(ANOTHER_FORM,))
    lost: list[str] = []
    later: list[str] = []
    unknown = list(_unreadable(old, new))
    if [operator.name for operator in old.operators] != [operator.name for operator in new.operators]:
        lost.append(f"its operators were {_order(old)}, and are now {_order(new)}")
    else:
        for before, now in zip(old.operators, new.operators, strict=True):
            lost += _operator(before, now, unknown)
    renamed = _renamed_only(old, new)
    rules = [[rule for rule in logic.rules if not (renamed and _RESULT.match(rule))] for logic in (old, new)]
    later += _rules(rules[0], rules[1], unknown)
    later += _settings(old.settings, new.settings)
    return LogicDifferences(tuple(dict.fromkeys(lost)), tuple(dict.fromkeys(later)), tuple(dict.fromkeys(unknown)))


NOT_RECORDED = "the older description does not have what determines its state: keys, aggregates, filters, settings"
"""Why the logic of a version from before it was recorded cannot be compared."""

ANOTHER_FORM = "another version of Streamlets has described what determines its state, in a form of its own"
"""Why the descriptions of two versions of Streamlets cannot be compared."""


def _operator(old: OperatorLogic, new: OperatorLogic, unknown: list[str]) -> Iterator[str]:
    phrase = _phrase(old.name)
    for role in dict.fromkeys(role for role, _ in (*old.parts, *new.parts)):
        before, now = ([text for own, text in operator.parts if own == role] for operator in (old, new))
        if [*map(_meaning, before)] == [*map(_meaning, now)]:
            continue
        if len(before) != len(now):
            yield f"the {role}s of {phrase} were {_list(before)}, and are now {_list(now)}"
            continue
        for was, text in zip(before, now, strict=True):
            if _meaning(was) != _meaning(text) and not _of_another_python(was, text, unknown):
                yield f"the {role} of {phrase} was `{_short(was)}`, and is now `{_short(text)}`{_functions(was, text)}"


def _rules(old: Sequence[str], new: Sequence[str], unknown: list[str]) -> Iterator[str]:
    gone, added = _without(old, new), _without(new, old)
    if len(gone) == len(added):
        for was, text in zip(gone, added, strict=True):
            if not _of_another_python(was, text, unknown):
                yield f"`{_short(was)}` is now `{_short(text)}`{_functions(was, text)}"
        return
    if gone:
        yield f"it no longer has {_list(gone)}"
    if added:
        yield f"it now has {_list(added)}"


def _without(rules: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the rules that others do not have, or have less often: a sample of a sample is another one."""
    left = Counter(map(_meaning, others))
    kept = []
    for rule in rules:
        left[_meaning(rule)] -= 1
        if left[_meaning(rule)] < 0:
            kept.append(rule)
    return kept


def _meaning(text: str) -> str:
    """Return a text without the names of Python functions whose code is known."""
    return _CODE.sub(lambda match: match[0] if match["code"] == _UNKNOWN else f"{{{match['code']}}}", text)


def _renamed_only(old: DescribedLogic, new: DescribedLogic) -> bool:
    """Return whether the result columns are the same except for names; a name in both must have the same meaning."""
    before, now = ({match["name"]: _meaning(match["text"]) for rule in logic.rules if (match := _RESULT.match(rule))}
                   for logic in (old, new))  # fmt: skip
    same = all(before[name] == now[name] for name in before.keys() & now.keys())
    return same and sorted(before.values()) == sorted(now.values())


def _settings(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(set(old) | set(new)):
        # A version of Spark may not have a setting. Settings in `LEGACY` are recorded only where they are set.
        known = name in old and name in new
        if old.get(name) != new.get(name) and (known or name.startswith(LEGACY)):
            yield f"`{name}` was `{old.get(name, 'not set')}`, and is now `{new.get(name, 'not set')}`"


def _unreadable(*versions: DescribedLogic) -> Iterator[str]:
    """Yield the functions and tables whose content is not known, and which therefore seem to be the same."""
    names = {
        match["name"]
        for logic in versions
        for text in _texts(logic)
        for match in _CODE.finditer(text)
        if match["code"] == _UNKNOWN
    }
    for name in sorted(names):
        what = "rows that the logic creates" if name == "rows" else f"the code of `{name}`"
        yield f"{what} cannot be read, so a change of it is not detected"


def _texts(logic: DescribedLogic) -> Iterator[str]:
    for operator in logic.operators:
        yield from (text for _, text in operator.parts)
    yield from logic.rules


def _of_another_python(old: str, new: str, unknown: list[str]) -> bool:
    """Return whether two texts have the same functions, compiled by different versions of Python, and note it."""
    if _CODE.sub(r"\g<name>", old) != _CODE.sub(r"\g<name>", new):
        return False
    pairs = zip(_CODE.finditer(old), _CODE.finditer(new), strict=True)
    different = [(was, now) for was, now in pairs if was["code"] != now["code"]]
    versions = [{match["code"].partition(":")[0] for match in pair} for pair in different]
    if any(len(version) == 1 for version in versions):
        return False
    for (was, _), version in zip(different, versions, strict=True):
        if _UNKNOWN not in version:
            unknown.append(f"the code of `{was['name']}` is of Python {' and '.join(sorted(version))}")
    return True


def _functions(old: str, new: str) -> str:
    """Return the functions whose code differs, as the end of a sentence; "" unless nothing else differs."""
    if _CODE.sub(r"\g<name>", old) != _CODE.sub(r"\g<name>", new):
        return ""
    pairs = zip(_CODE.finditer(old), _CODE.finditer(new), strict=True)
    names = dict.fromkeys(was["name"] for was, now in pairs if was["code"] != now["code"])
    return f", with different code of the Python function {' and '.join(f'`{name}`' for name in names)}"


def _phrase(name: str) -> str:
    return "the watermark" if name == "watermark" else stateful_operator(name).phrase


def _order(logic: DescribedLogic) -> str:
    return ", then ".join(_phrase(operator.name) for operator in logic.operators) or "none"


def _list(texts: Sequence[str]) -> str:
    return ", ".join(f"`{_short(text)}`" for text in texts) or "nothing"


def _short(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}..."
