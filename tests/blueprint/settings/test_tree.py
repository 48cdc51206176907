"""Blueprint and settings as one tree: ports have one form, however they are written."""

from __future__ import annotations

import pytest

from blueprint.hocon import ObjectValue, parse_text, plain, resolve, span_of
from blueprint.model.loading import load
from blueprint.settings.tree import configured

_BLUEPRINT = "blueprint.streamlets.archive { class = streamlets.Sink, inlets.in = a.avsc }"


def tree(*layers: str) -> ObjectValue:
    """Return the `flow` tree of texts."""
    root, findings = resolve([parse_text(text, f"{i}.conf") for i, text in enumerate(layers)], {})
    assert findings == ()
    blueprint, findings_too = load(root, "0.conf", ".")
    assert findings_too == []
    return configured(blueprint, blueprint.settings)


@pytest.mark.parametrize(
    ("setting", "port"),
    [
        ("inlets.in.max-records = 5", {"schema": "a.avsc", "max-records": 5}),
        ("inlets.in = b.avsc", {"schema": "b.avsc"}),
        ("inlets.in { schema = b.avsc, starting = latest }", {"schema": "b.avsc", "starting": "latest"}),
        ("inlets.in = null", None),
    ],
)
def test_a_schema_in_its_short_form_is_merged_with_other_settings(setting: str, port: object) -> None:
    """`inlets.in = schema` and `inlets.in.max-records` are two settings; `null` unsets both."""
    value = tree(_BLUEPRINT, f"flow.streamlets.archive.{setting}").get("streamlets", "archive", "inlets", "in")
    assert value is not None
    assert plain(value) == port


def test_a_short_form_keeps_the_other_settings_of_the_blueprint() -> None:
    """The reverse: the blueprint has the long form, a settings file the short one."""
    long = "blueprint.streamlets.archive { class = streamlets.Sink, outlets.x { schema = a.avsc, note = 1 } }"
    value = tree(long, "flow.streamlets.archive.outlets.x = b.avsc").get("streamlets", "archive", "outlets", "x")
    assert value is not None
    assert plain(value) == {"schema": "b.avsc", "note": 1}


def test_a_normalised_schema_keeps_its_places() -> None:
    """The value has its own place and those of the values it overrides."""
    value = tree(_BLUEPRINT, "flow.streamlets.archive.inlets.in = b.avsc").get(
        "streamlets", "archive", "inlets", "in", "schema"
    )
    assert value is not None
    assert (span_of(value).file, span_of(value).column) == ("1.conf", 37)
    assert [origin.span.file for origin in value.origins] == ["0.conf", "1.conf"]
