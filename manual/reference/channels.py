"""The page of the channels, from their traits."""

from __future__ import annotations

from manual.reference.tables import code, table
from streamlets.channels.registry import CHANNEL_TYPES, DEFAULT

_INTRODUCTION = """\
# Channels

A channel stores the records of topics. `flow.channel` sets the channel of all topics, `channel` in the block of a topic
that of one. The guides are [topics](../docs/topics.md) and [Kafka](../docs/kafka.md); the settings of each are among
[all settings](settings.md).
"""


def channels_page() -> str:
    """Return the page."""
    rows = []
    for name, kind in CHANNEL_TYPES.items():
        traits = kind.traits
        rows.append((
            code(name) + (" (default)" if name == DEFAULT else ""),
            "exactly-once" if traits.exactly_once else "at-least-once",
            "yes" if traits.real_time else "no",
            ", ".join(map(code, traits.reserved)),
            ", ".join(code(jar) for jars in (traits.connector.packages if traits.connector else ()) for jar in jars),
        ))  # fmt: skip
    header = ("channel", "guarantee", "real-time triggers", "reserved beginnings of names", "what Spark needs")
    parts = [_INTRODUCTION, table(header, rows)]
    for name, kind in CHANNEL_TYPES.items():
        settings = sorted(kind.traits.settings, key=lambda setting: setting.path)
        lines = [f"* `flow.{name}.{s.key}`" if not s.scope.value else f"* `flow.{s.path}`" for s in settings]
        parts.append(f"## Settings of `{name}`\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)
