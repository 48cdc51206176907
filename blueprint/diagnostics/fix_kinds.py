"""The register of fixes: what `flow verify --fix` can write, and whether it may do so unasked."""

from __future__ import annotations

import enum


class Applicability(enum.Enum):
    """Whether a fix can change what an application means."""

    SAFE = "safe"
    UNSAFE = "unsafe"


class FixKind(enum.Enum):
    """Every kind of fix.

    A fix is safe when the application means the same with and without it, as far as it means anything without it. A fix
    that chooses a name (of a streamlet, port, topic, class, schema, parameter or code) is a guess, and unsafe.

    Arguments:
        codes: of the findings that carry it.
        applicability: whether it is safe.
        meaning: what it does, without a full stop.
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
        "bind the port that a misspelt port path is most like",
    )  # fmt: skip
    RENAME_CYCLE_STOP = (
        ("unknown-streamlet",), Applicability.UNSAFE,
        "name the streamlet that a misspelt entry of `allow-cycles` is most like",
    )  # fmt: skip
    RENAME_PARAMETER = (
        ("unknown-parameter",), Applicability.UNSAFE,
        "give a value to the config parameter that a misspelt key is most like",
    )  # fmt: skip
    RENAME_TOPIC_SETTING = (
        ("unknown-setting",), Applicability.UNSAFE,
        "set `name`, `partitions` or `replicas` of a topic where a key of its `topic` block is most like it",
    )  # fmt: skip
    RENAME_CODE = (
        ("unknown-code",), Applicability.UNSAFE, "silence the code that a misspelt code in a comment is most like",
    )  # fmt: skip

    def __init__(self, codes: tuple[str, ...], applicability: Applicability, meaning: str) -> None:
        self.codes = codes
        self.applicability = applicability
        self.meaning = meaning
