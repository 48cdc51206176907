"""How rules report a mistake that several streamlets or topics share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from blueprint.diagnostics import Diagnostic, united
from blueprint.model.draft import Draft


def reported_once(
    *same: str,
) -> Callable[[Callable[[Draft], Iterable[Diagnostic]]], Callable[[Draft], list[Diagnostic]]]:
    """Let a rule, which reports every streamlet or topic with a mistake, report each mistake once.

    Arguments:
        same: the attributes that findings about one mistake have in common; default: all but streamlets and topics.
    """

    def decorator(rule: Callable[[Draft], Iterable[Diagnostic]]) -> Callable[[Draft], list[Diagnostic]]:
        @functools.wraps(rule)
        def united_rule(draft: Draft) -> list[Diagnostic]:
            return united(rule(draft), *same)

        return united_rule

    return decorator
