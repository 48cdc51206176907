"""The register of fixes: what `flow verify --fix` can change, and which fixes need `--unsafe-fixes`."""

from __future__ import annotations

import enum


class Applicability(enum.Enum):
    """Whether a fix can change the meaning of an application."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class FixKind(enum.Enum):
    """Every kind of fix.

    A fix is safe if the application has only one possible meaning, with or without the fix. A fix that chooses a name
    (of a streamlet, port, topic, class, schema, parameter or code) is a guess, and therefore unsafe.

    Arguments:
        codes: the codes of the findings that have the fix.
        applicability: whether it is safe.
        meaning: the change it makes, in the imperative, without a full stop.
    """

    REWRITE_CONNECTIONS = (
        ("connections-section",), Applicability.SAFE, "rewrite `connections` of 1.x as `topics` with the same wiring",
    )  # fmt: skip
    RENAME_KEY = ("unknown-key",), Applicability.SAFE, "correct a misspelt key of the blueprint, such as `producer`"
    RENAME_SETTING = ("unknown-setting",), Applicability.SAFE, "correct a misspelt setting, such as `retry.enable`"
    QUOTE_VALUE = ("syntax",), Applicability.SAFE, "put a value with a reserved character in quotes"
    QUOTE_TOPIC_ID = ("topic-id",), Applicability.SAFE, "put the id of a topic with a dot in quotes"
    SEPARATE_PATHS = ("port-path",), Applicability.SAFE, "put a missing comma between port paths"
    LIST_PATH = ("wrong-type",), Applicability.SAFE, "put a single port path in a list"
    RENAME_PORT = (
        ("port-path", "unknown-port", "unknown-streamlet"), Applicability.UNSAFE,
        "bind the port whose path is most similar to a misspelt one",
    )  # fmt: skip
    RENAME_CYCLE_STOP = (
        ("unknown-streamlet",), Applicability.UNSAFE,
        "name the streamlet that is most similar to a misspelt entry of `allow-cycles`",
    )  # fmt: skip
    RENAME_PARAMETER = (
        ("unknown-parameter",), Applicability.UNSAFE,
        "set the config parameter that is most similar to a misspelt key",
    )  # fmt: skip
    RENAME_TOPIC_SETTING = (
        ("unknown-setting",), Applicability.UNSAFE,
        "set `name`, `partitions` or `replicas` of a topic instead of a similar key of its `topic` block",
    )  # fmt: skip
    RENAME_CODE = (
        ("unknown-code",), Applicability.UNSAFE, "silence the code that is most similar to a misspelt one in a comment",
    )  # fmt: skip

    def __init__(self, codes: tuple[str, ...], applicability: Applicability, meaning: str) -> None:
        self.codes = codes
        self.applicability = applicability
        self.meaning = meaning
