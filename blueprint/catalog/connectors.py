"""What Spark needs on its class path, and what an application provides."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Connector:
    """What Spark needs on its class path to use a channel or a sink.

    Arguments:
        packages: sets of Maven coordinates of which any one will do, the best one first; `{spark}` stands for the
            version of PySpark.
        jars: the artifacts, by name, that must be among the jars of a user who provides them without Maven.
    """

    packages: tuple[tuple[str, ...], ...]
    jars: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SparkArtifacts:
    """The artifacts that the settings of an application name.

    Arguments:
        packages: Maven coordinates; one of an artifact that a connector has replaces that.
        jars: absolute paths of jars, and of directories of jars.
        ivy_settings: the settings file of Apache Ivy, for repositories other than Maven Central; "" for none.
    """

    packages: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()
    ivy_settings: str = ""


@dataclass(frozen=True, slots=True)
class UnmetRequirement:
    """Something that a channel needs and this machine does not have.

    Arguments:
        path: the key, below `flow`, of the setting that is wrong; empty if none is.
        message: one sentence without a full stop.
        help: what to do, one sentence.
    """

    path: tuple[str, ...]
    message: str
    help: str
