"""Python functions for Spark that outlive its Java process: PySpark keeps a Java object in each, for ever."""

from __future__ import annotations

from typing import Any


class _JavaObject:
    """An attribute of PySpark's that has a Java object once it was used: None again when its Java process is gone.

    Arguments:
        name: of the attribute.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, function: Any, owner: type) -> Any:
        from pyspark import SparkContext

        if function is None:
            return self
        found = vars(function).get(self._name)
        gateway: Any = SparkContext._gateway  # noqa: SLF001 - there is no public way
        running = gateway is not None and getattr(found, "_gateway_client", None) is gateway._gateway_client  # noqa: SLF001
        return found if running else None

    def __set__(self, function: Any, value: Any) -> None:
        vars(function)[self._name] = value


def renew_functions() -> None:
    """Have PySpark make the Java object of a function again when the Java process that had it is gone.

    A function is often made where a module is imported, of the project or of a library, and every Spark of the process
    uses it, one after another.
    """
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.sql.udtf import UserDefinedTableFunction

    for kind, name in ((UserDefinedFunction, "_judf_placeholder"), (UserDefinedTableFunction, "_judtf_placeholder")):
        if not isinstance(vars(kind).get(name), _JavaObject):
            setattr(kind, name, _JavaObject(name))
