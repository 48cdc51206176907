"""Problems with the settings of clients, topics and the schema registry, by the tables of their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from blueprint.catalog import TopicProblem, TopicSettings
from blueprint.spelling import did_you_mean
from streamlets.channels.kafka.client_settings import DEFAULT_TRANSACTION_TIMEOUT, TRANSACTION_TIMEOUT
from streamlets.channels.kafka.known_settings import REGISTRY, TOPIC
from streamlets.channels.kafka.settings import FORMAT, SUBJECT
from streamlets.contract.wire.text_formats import require_json, single_field

_ERROR, _DOUBT = "client-setting", "client-setting-doubt"
_SHORTEST_TRANSACTION, _LONGEST_TRANSACTION = 4_000, 900_000
"""Milliseconds. A transaction adds messages for a second, or a quarter of its timeout; brokers accept 15 minutes."""

_LAYOUT = ("name", "partitions", "replicas")
_FILES = re.compile(r"ssl\.[a-z.]*location|sasl\.kerberos\.keytab")
_NUMBERS = {"int": r"[+-]?[0-9]+", "float": r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", "bool": "(?i:true|false)"}
_EXPECTED = {"int": "an integer", "float": "a number", "bool": "`true` or `false`"}


def topic_problems(topic: TopicSettings) -> Iterator[TopicProblem]:
    """Yield problems with the settings of a topic in its cluster, and with its format."""
    config = {key: str(value) for key, value in _group(topic, "topic").items() if key not in _LAYOUT}
    paths = {key: ("topic", *key.split(".")) for key in config}
    yield from known_problems(config, paths, TOPIC, "Kafka's topics")
    registry = {key: str(value) for key, value in _group(topic, "schema-registry").items()}
    paths = {key: ("schema-registry", *key.split(".")) for key in registry}
    yield from known_problems(registry, paths, REGISTRY, "the client of the schema registry")
    yield from _format_problems(topic, registry)


def known_problems(
    settings: Mapping[str, str], paths: Mapping[str, tuple[str, ...]], known: Mapping[str, str], of: str
) -> Iterator[TopicProblem]:
    """Yield settings that are not in a table, or whose values are not of the kind there.

    Arguments:
        settings: the settings by name.
        paths: their paths by name; see `TopicProblem.path`.
        known: the kinds of the values, by name.
        of: what has these settings, for messages.
    """
    for key, value in settings.items():
        if key not in known:
            help = did_you_mean(key, known) or ("remove it, unless a newer version has it",)
            message = f"{of} do not have the setting `{key}`" if of.endswith("s") else f"{of} has no setting `{key}`"
            yield TopicProblem(_DOUBT, paths[key], message, help=help, about="key")
        elif wrong := _wrong_value(value, known[key]):
            expected, help = wrong
            yield TopicProblem(_ERROR, paths[key], f"`{key}` is `{value}`, expected {expected}", help=help)
        elif _FILES.fullmatch(key) and not Path(value).exists():
            message = f"there is no file `{value}` for `{key}` on this machine"
            yield TopicProblem(_DOUBT, paths[key], message, help=("correct the path, or create the file",))


def servers_problems(servers: str, path: tuple[str, ...]) -> Iterator[TopicProblem]:
    """Yield servers that have no port.

    Arguments:
        servers: the servers, separated by commas.
        path: the path of the setting.
    """
    for server in (part.strip() for part in servers.split(",")):
        if not re.fullmatch(r"(?:[A-Z_]+://)?(?:\[[0-9a-fA-F:]+\]|[^:\s/\[\]]+):[0-9]{1,5}", server):
            help = (f"write `{server}:9092`, with the port of the server",) if server and ":" not in server else ()
            message = f"`{server}` is not the address of a server, expected `host:port`"
            yield TopicProblem(_ERROR, path, message, help=help)


def transaction_problems(settings: Mapping[str, str], paths: Mapping[str, tuple[str, ...]]) -> Iterator[TopicProblem]:
    """Yield a timeout of transactions that they exceed, or that most brokers refuse.

    Arguments:
        settings: the settings of producers by name.
        paths: their paths by name; see `TopicProblem.path`.
    """
    value = settings.get(TRANSACTION_TIMEOUT, "").strip()
    if not value.isdecimal():
        return  # missing, or reported with its kind
    milliseconds, path = int(value), paths[TRANSACTION_TIMEOUT]
    if milliseconds < _SHORTEST_TRANSACTION:
        yield TopicProblem(
            _ERROR, path, f"`{TRANSACTION_TIMEOUT}` is {value}, expected {_SHORTEST_TRANSACTION} or more",
            causes=("a transaction adds messages for up to a second, and takes time to end",
                    "the cluster aborts a transaction after that time, and the batch fails"),
            help=(f"set `{TRANSACTION_TIMEOUT} = {DEFAULT_TRANSACTION_TIMEOUT}`, or remove it",),
        )  # fmt: skip
    elif milliseconds > _LONGEST_TRANSACTION:
        yield TopicProblem(
            _DOUBT, path, f"`{TRANSACTION_TIMEOUT}` is {value}, and most brokers accept up to {_LONGEST_TRANSACTION}",
            causes=("brokers refuse a longer one than their `transaction.max.timeout.ms`",),
            help=("set a shorter one, or compare the setting of the brokers with `flow doctor`",),
        )  # fmt: skip


def _wrong_value(value: str, kind: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the expected values instead of a wrong one, and help; None if the value is of the kind."""
    if kind in _NUMBERS:
        return None if re.fullmatch(_NUMBERS[kind], value.strip()) else (_EXPECTED[kind], ())
    allowed = kind.split()
    if not allowed or value.replace(" ", "") in allowed or (allowed[0].isupper() and value.upper() in allowed):
        return None
    return f"one of {', '.join(f'`{choice}`' for choice in allowed)}", did_you_mean(value, allowed)


def _format_problems(topic: TopicSettings, registry: Mapping[str, str]) -> Iterator[TopicProblem]:
    format, path = FORMAT.of(topic.options), ("format",)
    misspelt = any(did_you_mean(key, ["url"]) for key in registry if key not in REGISTRY)
    if format == "confluent" and "url" not in registry and not misspelt:
        yield TopicProblem(
            _ERROR, path, f"the format `confluent` of the topic `{topic.id}` needs a schema registry",
            help=('set `schema-registry.url = "https://..."` of the topic',),
        )  # fmt: skip
    if format == "confluent" and topic.is_read and SUBJECT.of(topic.options) == "record":
        yield TopicProblem(
            _ERROR, ("subject",), f"`subject = record` of the topic `{topic.id}`, which streamlets read",
            causes=("such subjects do not name the topic, so a reader does not find the schemas of its messages",),
            help=("use `topic` or `topic-record`",),
        )  # fmt: skip
    for contract in topic.contracts if format in ("bytes", "json") else ():
        try:
            single_field(contract) if format == "bytes" else require_json(contract)
        except ValueError as error:
            yield TopicProblem(_ERROR, path, f"the format `{format}` of the topic `{topic.id}`: {error}")
            return


def _group(topic: TopicSettings, name: str) -> Mapping[str, object]:
    options = topic.options.get(name)
    return {str(key): value for key, value in options.items()} if isinstance(options, Mapping) else {}
