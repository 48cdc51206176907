"""Python functions for Spark that survive its Java process, although PySpark stores a Java object in each."""

from __future__ import annotations

from typing import Any


class _JavaObject:
    """An attribute of PySpark that stores a Java object on first use, until its Java process exits.

    Arguments:
        name: the name of the attribute.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, function: Any, owner: type) -> Any:
        from pyspark import SparkContext

        if function is None:
            return self
        value = vars(function).get(self._name)
        gateway: Any = SparkContext._gateway  # noqa: SLF001 - there is no public way
        running = gateway is not None and getattr(value, "_gateway_client", None) is gateway._gateway_client  # noqa: SLF001
        return value if running else None

    def __set__(self, function: Any, value: Any) -> None:
        vars(function)[self._name] = value


def renew_functions() -> None:
    """Have PySpark create the Java object of a function again when the Java process that had it has exited.

    A function is often created at the import of a module, of the project or of a library, and is used by every Spark
    that this process starts.
    """
    from pyspark.sql.udf import UserDefinedFunction
    from pyspark.sql.udtf import UserDefinedTableFunction

    for kind, name in ((UserDefinedFunction, "_judf_placeholder"), (UserDefinedTableFunction, "_judtf_placeholder")):
        if not isinstance(vars(kind).get(name), _JavaObject):
            setattr(kind, name, _JavaObject(name))
