"""Explanations of exceptions of other libraries whose messages do not name the cause."""

from __future__ import annotations

import re

_EXPLANATIONS = (
    (
        re.compile(r"UnknownTopicOrPartitionException: "),
        "a Kafka topic of the query was deleted, or its broker has just started",
    ),
    (
        re.compile(
            r"TimeoutException: (?:Call\(|Timed out waiting for (?:a node assignment|to send the call)|"
            r"Timeout (?:of \d+ ?ms )?expired|Topic \S+ not present in metadata|Expiring \d+ record|Failed to get)"
        ),
        "the Kafka brokers do not answer",
    ),
    (
        re.compile(r"(?:Disconnect|Network|NotLeaderOrFollower|BrokerNotAvailable)Exception: "),
        "the connection to a Kafka broker was lost",
    ),
    (
        re.compile(r"(?:Sasl|Ssl)AuthenticationException: "),
        "a Kafka broker refuses the connection",
    ),
    (
        re.compile(r"(?:Topic|Group|Cluster|TransactionalId)AuthorizationException: "),
        "the Kafka user is not allowed to do this",
    ),
)


def explained(cause: str) -> str:
    """Return a cause, after an explanation if there is one."""
    first = cause.partition("\n")[0]
    explanation = next((text for pattern, text in _EXPLANATIONS if pattern.match(first)), "")
    return f"{explanation}: {cause}" if explanation else cause
