"""Explanations of exceptions of other libraries whose messages do not name the cause."""

from __future__ import annotations

import re

# A source's process did not connect to Java within the ten seconds that Spark waits.
_NOT_CONNECTED = re.compile(r".*(?:Python worker failed to connect back|waiting for the Python worker to connect back)")

_EXPLANATIONS = (
    (
        _NOT_CONNECTED,
        "the machine is overloaded: a Python process of Spark did not start within 10 seconds; reduce the load",
    ),
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


# A topic has new records that Spark cannot read by itself; the next start of the query reads them in Python.
_OTHER_READER = re.compile(r".*which are converted in Python from the next start on")

_DISTURBANCES = (_NOT_CONNECTED, _OTHER_READER)


def is_disturbance(cause: str) -> bool:
    """Return whether a cause is a state of the machine or of the framework, and no fault of the streamlet."""
    first = cause.partition("\n")[0]
    return any(pattern.match(first) for pattern in _DISTURBANCES)


def explained(cause: str) -> str:
    """Return a cause, after an explanation if there is one."""
    first = cause.partition("\n")[0]
    explanation = next((text for pattern, text in _EXPLANATIONS if pattern.match(first)), "")
    return f"{explanation}: {cause}" if explanation else cause
