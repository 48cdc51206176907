"""Methods of Spark's classes that write, and temporary replacements of methods while an author's code runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

WRITING = ("csv", "insertInto", "jdbc", "json", "orc", "parquet", "save", "saveAsTable", "text", "xml")
WRITING_TABLES = ("append", "create", "createOrReplace", "overwrite", "overwritePartitions", "replace")
COMMAND = re.compile(
    r"(?:--[^\n]*\n|/\*.*?\*/|\s)*(?:WITH\b.*?\)\s*)?"
    r"(INSERT|UPDATE|DELETE|MERGE|TRUNCATE|DROP|ALTER|LOAD|MSCK|OPTIMIZE|"
    r"CREATE(?!\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+)?TEMP))\b",
    re.IGNORECASE | re.DOTALL,
)


def patched(patches: ExitStack, owner: type, name: str, make: Callable[[Any, str], Any]) -> None:
    """Replace a method of a class until `patches` is closed; a class that does not define it is not changed.

    Arguments:
        make: returns the replacement, given the method and its name.
    """
    if name in vars(owner):
        patches.callback(setattr, owner, name, vars(owner)[name])
        setattr(owner, name, make(vars(owner)[name], name))
