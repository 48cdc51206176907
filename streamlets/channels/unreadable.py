"""The error of a reader whose schema cannot read records of a topic."""

from __future__ import annotations

UNREADABLE_RECORDS = "UNREADABLE_RECORDS"
"""The condition in the text of an error that Spark raises for such a record in Java, where it has no class."""


class UnreadableRecordsError(Exception):
    """Records in a topic that a reader's schema cannot read.

    Arguments:
        fingerprint: the fingerprint of the schema that they were written with.
        reason: why they cannot be read.
        message: the message of the error; "" for a message without topic and inlet.
    """

    def __init__(self, fingerprint: str, reason: str, message: str = "") -> None:
        super().__init__(message or f"records written with the schema {fingerprint} cannot be read: {reason}")
        self.fingerprint = fingerprint
        self.reason = reason

    def of(self, topic: str, inlet: str, declared: str) -> UnreadableRecordsError:
        """Return the error with a message that has the topic, the inlet and what to do.

        Arguments:
            topic: the name of the topic.
            inlet: the inlet of the reader, as `streamlet.inlet`.
            declared: where the schema of the inlet is, as `file:line`; "" if that is not known.
        """
        place = f" (schema at {declared})" if declared else ""
        return UnreadableRecordsError(
            self.fingerprint,
            self.reason,
            f"the topic `{topic}` has records written with the schema {self.fingerprint}, which `{inlet}`{place} "
            f"cannot read: {self.reason}; change the schema of `{inlet}` so that it can read them, or drop them with "
            f"`flow topics purge {topic} --schema {self.fingerprint} --force`",
        )
