"""Ports and parameters do not hide attributes that the framework uses."""

from __future__ import annotations

from pathlib import Path

import pytest

import streamlets
from blueprint.catalog import LoadFailure, LoadFailureKind, StreamletRequest
from streamlets.api.declaration import Declaration
from streamlets.project.catalog import ProjectCatalog

BASES = ["SparkStreamlet", "BatchSource", "BatchPushSource", "Spout", "GeneratorSpout", "Sink", "Sql"]


@pytest.mark.parametrize("base", BASES)
def test_no_declaration_hides_an_attribute_of_the_framework(base: str, tmp_path: Path) -> None:
    """A parameter with the name of any attribute of a base class that is not a declaration itself is refused."""
    cls = getattr(streamlets, base)
    names = [
        name for name in {*dir(cls), "kind"}
        if not name.startswith("__") and name != "_abc_impl" and not isinstance(getattr(cls, name, None), Declaration)
    ]  # fmt: skip
    assert {"kind", "labels", "shape"} <= set(names)
    lines = [f"from streamlets import {base}, StringParameter\n"]
    lines += [f"class Own{i}({base}):\n    {name} = StringParameter('x')\n" for i, name in enumerate(names)]
    (tmp_path / "reserved.py").write_text("\n".join(lines), encoding="utf-8")
    catalog = ProjectCatalog()
    for i, name in enumerate(names):
        failure = catalog.describe(StreamletRequest(ref="x", class_name=f"reserved.Own{i}", directory=str(tmp_path)))
        assert isinstance(failure, LoadFailure), name
        assert failure.kind is LoadFailureKind.RESERVED_NAME, (name, failure)
        assert failure.message.startswith(f"`{name}` is an attribute of `")
