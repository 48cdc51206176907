"""Plug-ins: classes that other packages register by an entry point, found by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamlets.egress.base import SinkType
from streamlets.egress.registry import SINKS
from streamlets.plugins import PluginError, Plugins, Traits

MODULE = """
class Traits:
    traits = "good traits"

class Bare:
    pass

class Raises:
    def __init__(self):
        raise OSError("the disk is full")

function = 1
"""


def package(root: Path, name: str, entries: str) -> None:
    """Write a package whose metadata is found on `sys.path`, as after an installation."""
    module = name.replace("-", "_")
    (root / f"{module}.py").write_text(MODULE)
    metadata = root / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[test.plugins]\n{entries}\n")


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plugins[object]:
    """Return plug-ins of which one is built in; two packages register others."""
    package(
        tmp_path,
        "first-plugins",
        "good = first_plugins:Traits\nshared = first_plugins:Traits\nbare = first_plugins:Bare\n"
        "raises = first_plugins:Raises\nfunction = first_plugins:function\nmissing = first_plugins:Missing\n"
        "absent = absent_plugins:Traits\nparquet = first_plugins:Raises",
    )
    package(tmp_path, "second-plugins", "shared = second_plugins:Traits")
    monkeypatch.syspath_prepend(str(tmp_path))
    built_in = {"parquet": "streamlets.egress.files.type:ParquetSink"}
    return Plugins("test.plugins", "sink", built_in, requires=("traits",))


def test_plugins_are_found_by_name(plugins: Plugins[object]) -> None:
    """Built-in plug-ins cannot be replaced, and an instance is created once."""
    assert isinstance(plugins["parquet"], SinkType)
    assert plugins["good"] is plugins["good"]
    assert "good" in plugins and "parquet" in plugins and "other" not in plugins
    assert list(plugins) == sorted(["absent", "bare", "function", "good", "missing", "parquet", "raises", "shared"])
    assert len(plugins) == 8
    with pytest.raises(KeyError):
        plugins["other"]


def test_traits_are_those_of_the_plugins(plugins: Plugins[object]) -> None:
    """The mapping of traits has the same names, and imports a plug-in only for its own traits."""
    traits = Traits[object](plugins)  # type: ignore[arg-type]
    assert traits["good"] == "good traits"
    assert list(traits) == list(plugins) and len(traits) == len(plugins)
    assert "raises" in traits


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("absent", "is registered as `absent_plugins:Traits`, which fails: ModuleNotFoundError: No module named"),
        ("missing", "is registered as `first_plugins:Missing`, which fails: AttributeError: "),
        ("raises", "is registered as `first_plugins:Raises`, which fails: OSError: the disk is full"),
        ("function", "is registered as `first_plugins:function`, which fails: TypeError: "),
        ("bare", "is registered as `first_plugins:Bare`, which has no `traits`"),
        ("shared", "register the sink `shared`: `first_plugins:Traits` and `second_plugins:Traits`; uninstall all"),
    ],
)
def test_unusable_plugins_are_reported(plugins: Plugins[object], name: str, reason: str) -> None:
    """One error has the name of the plug-in, the entry point and the reason."""
    with pytest.raises(PluginError) as caught:
        plugins[name]
    assert f"`{name}`" in str(caught.value)
    assert reason in str(caught.value)


def test_names_of_sinks_are_those_of_their_traits() -> None:
    """A sink is registered under its own name, and its options have different names."""
    for name, sink in SINKS.items():
        assert sink.traits.name == name
        assert len({option.name for option in sink.traits.options}) == len(sink.traits.options)
