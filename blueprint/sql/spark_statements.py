"""Which statements of Spark SQL a job may have: those whose effect ends with the session.

A job runs them at each start and restart of its queries, and `flow verify --plans` runs them, too. An `INSERT` would
insert its rows each time.
"""

from __future__ import annotations

from collections.abc import Sequence

STATEMENTS = (
    "ADD", "ALTER", "ANALYZE", "BEGIN", "CACHE", "CALL", "CLEAR", "COMMENT", "CREATE", "DECLARE", "DELETE", "DESC",
    "DESCRIBE", "DFS", "DROP", "EXECUTE", "EXPLAIN", "EXPORT", "FROM", "GRANT", "IMPORT", "INSERT", "LIST", "LOAD",
    "LOCK", "MAP", "MERGE", "MSCK", "REDUCE", "REFRESH", "REPAIR", "REPLACE", "RESET", "REVOKE", "SELECT", "SET",
    "SHOW", "TABLE", "TRUNCATE", "UNCACHE", "UNLOCK", "UPDATE", "USE", "VALUES", "WITH",
)  # fmt: skip
"""The first words of Spark's statements."""

SESSION = ("ADD", "DECLARE", "RESET", "SET", "USE")
"""The first words of the statements that change the session."""

CREATED = ("FUNCTION", "VIEW")
"""The objects that `CREATE TEMPORARY` may define."""

_RESULT = ("DESC", "DESCRIBE", "EXPLAIN", "FROM", "LIST", "MAP", "REDUCE", "SELECT", "SHOW", "TABLE", "VALUES", "WITH")
_MODIFIERS = ("OR", "REPLACE", "GLOBAL", "LOCAL", "TEMP", "TEMPORARY", "EXTERNAL", "UNSET", "MATERIALIZED")


def refusal(words: Sequence[str]) -> tuple[str, str] | None:
    """Return why a job must not have a statement, and what to write instead; None if it may have it.

    Arguments:
        words: the first words of the statement in upper case.
    """
    first = words[0] if words else ""
    if first == "CREATE":
        return _creation(words[1:])
    if first in SESSION:
        return None
    if first == "BEGIN":
        return "a job cannot have SQL scripts", "write the statements of the script without `BEGIN` and `END`"
    if first in _RESULT:
        name = first if first else "a query"
        return f"nothing reads the result of `{name}`", (
            "define a view with `CREATE TEMPORARY VIEW ... AS`, and save it with `SAVE STREAM`"
        )
    return (
        f"`{first}` has an effect outside of the job, and would run again at each start of a query",
        "run it before the job, in another tool",
    )


def _creation(words: Sequence[str]) -> tuple[str, str] | None:
    modifiers = []
    for word in words:
        if word not in _MODIFIERS:
            break
        modifiers.append(word)
    noun = words[len(modifiers)] if len(modifiers) < len(words) else ""
    temporary = "TEMP" in modifiers or "TEMPORARY" in modifiers
    if noun in CREATED:
        kind = noun.lower()
        if "GLOBAL" in modifiers:
            return f"a global temporary {kind} is visible to other applications", f"write `CREATE TEMPORARY {noun}`"
        if not temporary:
            return (
                f"this {kind} would be stored in the catalog, and remain after the job",
                f"write `CREATE TEMPORARY {noun}`",
            )
        return None
    shown = " ".join(("CREATE", *modifiers, noun)).strip()
    return (
        f"`{shown}` has an effect outside of the job, and would run again at each start of a query",
        "run it before the job, in another tool",
    )
