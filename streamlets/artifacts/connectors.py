"""The jars of a Spark that uses channels: jars of their connectors, and jars that the settings name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from blueprint.catalog import Connector, SparkArtifacts
from blueprint.hocon import shown_name
from streamlets.artifacts.maven import (
    ArtifactError,
    Coordinate,
    UnknownArtifactError,
    cached,
    fetch,
    name_and_version,
    spark_jars,
)

_SPARK_CORE = "spark-core_2.13"


def jars_of(connectors: Iterable[Connector], artifacts: SparkArtifacts) -> tuple[Path, ...]:
    """Return the jars for Spark, one of each artifact; missing ones are fetched into the cache.

    Raises:
        ArtifactError: they cannot be had.
    """
    return _jars(connectors, artifacts, may_fetch=True) or ()


def available_jars_of(connectors: Iterable[Connector], artifacts: SparkArtifacts) -> tuple[Path, ...] | None:
    """Return the jars for Spark, one of each artifact; None if some must be fetched first.

    Raises:
        ArtifactError: the settings name jars that do not exist, or only some jars of a connector.
    """
    return _jars(connectors, artifacts, may_fetch=False)


def _jars(connectors: Iterable[Connector], artifacts: SparkArtifacts, *, may_fetch: bool) -> tuple[Path, ...] | None:
    own = {name_and_version(jar)[0]: jar for jar in _files(artifacts.jars)}
    wanted = [connector for connector in connectors if not _provides(own, connector)]
    packages = {(package.group, package.artifact): package for package in map(_coordinate, artifacts.packages)}
    alternatives = [[_replaced(names, packages) for names in connector.packages] for connector in wanted]
    alternatives += [[tuple(packages.values())]] if packages else []
    jars: dict[str, Path] = {}
    for sets in alternatives:
        obtained = _first_cached(sets) or (_first_fetched(sets, artifacts.ivy_settings) if may_fetch else None)
        if obtained is None:
            return None
        jars = {name_and_version(jar)[0]: jar for jar in obtained} | jars
    return tuple((jars | own).values())


def _files(paths: Iterable[str]) -> Iterator[Path]:
    """Yield jars, and those in directories.

    Raises:
        ArtifactError: a path does not exist, or a directory has no jars.
    """
    for path in map(Path, paths):
        jars = sorted(path.glob("*.jar")) if path.is_dir() else [path] if path.is_file() else []
        if not jars:
            found = "the directory has no jars" if path.is_dir() else "the file does not exist"
            raise ArtifactError(
                f"`flow.spark.jars` names {shown_name(path)}, but {found}",
                "correct the path, or copy the jars there",
                setting="jars",
            )
        yield from jars


def _provides(own: Mapping[str, Path], connector: Connector) -> bool:
    """Return whether the user's jars belong to a connector.

    Raises:
        ArtifactError: only some of its jars are among them.
    """
    missing = [name for name in connector.jars if name not in own]
    if missing and len(missing) < len(connector.jars):
        raise ArtifactError(
            f"`flow.spark.jars` has only some of the jars of a connector; {', '.join(missing)} are missing",
            "add them to the directory, or remove the others: then all of them are fetched from Maven",
            setting="jars",
        )
    return not missing


def _coordinate(text: str) -> Coordinate:
    try:
        return Coordinate.parse(text)
    except ValueError as error:
        raise ArtifactError(str(error), "correct the coordinate", setting="packages") from None


def _replaced(names: Sequence[str], packages: Mapping[tuple[str, str], Coordinate]) -> tuple[Coordinate, ...]:
    """Return the packages of a connector, with the user's versions."""
    version = spark_jars()[_SPARK_CORE]
    coordinates = (Coordinate.parse(name.format(spark=version)) for name in names)
    return tuple(packages.get((coordinate.group, coordinate.artifact), coordinate) for coordinate in coordinates)


def _first_cached(sets: Iterable[Sequence[Coordinate]]) -> tuple[Path, ...] | None:
    provided = spark_jars()
    return next((jars for packages in sets if (jars := cached(packages, provided=provided)) is not None), None)


def _first_fetched(sets: Sequence[Sequence[Coordinate]], ivy_settings: str) -> tuple[Path, ...]:
    """Fetch the first of some sets of packages that the repository has.

    Raises:
        ArtifactError: it has none of them, or it cannot be reached.
    """
    unknown: list[UnknownArtifactError] = []
    for packages in sets:
        try:
            return fetch(packages, provided=spark_jars(), ivy_settings=Path(ivy_settings) if ivy_settings else None)
        except UnknownArtifactError as error:
            unknown.append(error)
    raise unknown[0]
