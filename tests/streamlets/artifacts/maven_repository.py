"""A Maven repository in a directory."""

from __future__ import annotations

import hashlib
from pathlib import Path

from streamlets.artifacts.maven import Coordinate, fetch


class Repository:
    """A Maven repository in a directory, and a cache beside it."""

    def __init__(self, directory: Path) -> None:
        self.files = directory / "repository"
        self.cache = directory / "cache"
        self.settings = directory / "ivysettings.xml"
        self.use(self.files.as_uri())

    def use(self, root: str) -> None:
        """Have Ivy look for artifacts below an address."""
        self.settings.write_text(
            '<ivysettings><settings defaultResolver="main"/><resolvers>'
            f'<ibiblio name="main" m2compatible="true" root="{root}/"/></resolvers></ivysettings>'
        )

    def add(self, coordinate: str, *dependencies: str, content: bytes = b"classes") -> Path:
        """Add an artifact that depends on others; return its jar."""
        name = Coordinate.parse(coordinate)
        directory = self.files / name.group.replace(".", "/") / name.artifact / name.version
        directory.mkdir(parents=True)
        stem = f"{name.artifact}-{name.version}"
        needs = "".join(f"<dependency>{_tags(Coordinate.parse(each))}</dependency>" for each in dependencies)
        pom = f"<project><modelVersion>4.0.0</modelVersion>{_tags(name)}<dependencies>{needs}</dependencies></project>"
        for suffix, data in (("pom", pom.encode()), ("jar", content)):
            (directory / f"{stem}.{suffix}").write_bytes(data)
            (directory / f"{stem}.{suffix}.sha1").write_text(hashlib.sha1(data).hexdigest())
        return directory / f"{stem}.jar"

    def fetch(self, *packages: str, provided: tuple[str, ...] = ()) -> list[str]:
        """Return the names of the jars of packages."""
        coordinates = [Coordinate.parse(package) for package in packages]
        return [jar.name for jar in fetch(coordinates, provided=provided, cache=self.cache, ivy_settings=self.settings)]


def _tags(name: Coordinate) -> str:
    return f"<groupId>{name.group}</groupId><artifactId>{name.artifact}</artifactId><version>{name.version}</version>"
