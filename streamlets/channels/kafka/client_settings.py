"""The settings of Kafka clients in the notations of Java (Spark) and librdkafka (confluent-kafka).

A setting may be written in either notation. Where the clients differ, it is translated; where it cannot be, one client
would connect with less protection, or not at all, so that is a mismatch. Settings that only tune a client are given to
the client that knows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from blueprint.spelling import did_you_mean

SECURITY = ("security.", "sasl.", "ssl.", "enable.ssl.")
"""The prefixes of settings that both clients must have alike."""

_BOTH = {
    "acks", "bootstrap.servers", "client.dns.lookup", "client.id", "client.rack", "compression.type",
    "connections.max.idle.ms", "delivery.timeout.ms", "fetch.max.bytes", "fetch.min.bytes", "heartbeat.interval.ms",
    "linger.ms", "max.in.flight.requests.per.connection", "max.partition.fetch.bytes", "metadata.max.age.ms",
    "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries", "retry.backoff.max.ms",
    "retry.backoff.ms", "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.service.name", "sasl.mechanism", "security.protocol", "session.timeout.ms",
    "socket.connection.setup.timeout.ms", "ssl.endpoint.identification.algorithm", "ssl.key.password",
    "transaction.timeout.ms",
}  # fmt: skip
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
}
_JAVA_NAMES = {librdkafka: java for java, librdkafka in _RENAMED.items()} | {"sasl.mechanisms": "sasl.mechanism"}

_JAAS = "sasl.jaas.config"
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_LOGIN = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*);\s*", re.DOTALL
)
_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")
_STORES = ("ssl.truststore.", "ssl.keystore.")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A setting that one of the clients does not have.

    Arguments:
        key: the setting.
        message: what is wrong, one sentence without a full stop.
        help: what to do, in the imperative.
    """

    key: str
    message: str
    help: str


def java_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings of either notation in the notation of Java clients."""
    java = {_JAVA_NAMES.get(key, key): value for key, value in settings.items()}
    user, password = java.pop("sasl.username", None), java.pop("sasl.password", None)
    module = _MODULES.get(java.get("sasl.mechanism", ""))
    if user is not None and password is not None and module is not None:
        java.setdefault(_JAAS, f"{module} required username={_quoted(user)} password={_quoted(password)};")
    if (authorities := java.pop("ssl.ca.location", None)) is not None:
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authorities}
    for store in _STORES:
        if any(key in java for key in (f"{store}certificates", f"{store}key")):
            java.setdefault(f"{store}type", "PEM")
    if java.get("ssl.endpoint.identification.algorithm") == "none":
        java["ssl.endpoint.identification.algorithm"] = ""
    return java


def librdkafka_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings of either notation in librdkafka's notation, without settings that librdkafka would refuse."""
    java = java_settings(settings)
    known = {_RENAMED.get(key, key): value for key, value in java.items() if key in _BOTH or key in _RENAMED}
    known |= _login(java.get(_JAAS, ""))
    if _is_pem(java, "ssl.truststore.") and (file := java.get("ssl.truststore.location")):
        known["ssl.ca.location"] = file
    if file := java.get("ssl.keystore.location"):
        if _is_pem(java, "ssl.keystore."):
            known |= {"ssl.certificate.location": file, "ssl.key.location": file}
        else:
            known |= {"ssl.keystore.location": file, "ssl.keystore.password": java.get("ssl.keystore.password", "")}
    if java.get("ssl.endpoint.identification.algorithm") == "":
        known["ssl.endpoint.identification.algorithm"] = "none"
    return known


TRANSACTION_TIMEOUT = "transaction.timeout.ms"
DEFAULT_TRANSACTION_TIMEOUT = 60_000
"""Milliseconds until the cluster aborts the transaction of a producer that has died, unless the settings say else."""

_DELIVERY_TIMEOUT = "delivery.timeout.ms"
_WITHOUT_CHOICE = ("acks", "retries", "max.in.flight.requests.per.connection")


def idempotent(librdkafka: Mapping[str, str]) -> dict[str, str]:
    """Return settings of librdkafka for a producer that stores each message once, without those that it refuses."""
    return {key: value for key, value in librdkafka.items() if key not in _WITHOUT_CHOICE}


def transactional(librdkafka: Mapping[str, str]) -> dict[str, str]:
    """Return settings of librdkafka for a producer with transactions.

    Transactions do not allow a choice of `acks`, `retries` and requests in flight, so these have the values that they
    require. A message is not delivered after its transaction has timed out, so `delivery.timeout.ms` is at most that.
    """
    settings = idempotent(librdkafka)
    timeout = settings.setdefault(TRANSACTION_TIMEOUT, str(DEFAULT_TRANSACTION_TIMEOUT))
    if _DELIVERY_TIMEOUT in settings and int(settings[_DELIVERY_TIMEOUT]) > int(timeout):
        del settings[_DELIVERY_TIMEOUT]
    return settings


def mismatches(settings: Mapping[str, str]) -> list[Mismatch]:
    """Return the settings of either notation that one of the clients would not have."""
    found = [_unknown(key) for key in settings if key.startswith(SECURITY) and key not in _TRANSLATED]
    java = java_settings(settings)
    if (jaas := settings.get(_JAAS)) is not None and not _login(jaas):
        expected = "`PlainLoginModule`, `ScramLoginModule` or `Krb5LoginModule` with its options"
        found.append(Mismatch(_JAAS, "the login cannot be translated for confluent-kafka", f"write {expected}"))
    elif _JAAS not in java and (missing := _missing_login(settings)):
        found.append(missing)
    for key in ("ssl.truststore.location", "ssl.keystore.location"):
        type = java.get(key.replace("location", "type"), "JKS").upper()
        if key in settings and type not in (("PEM",) if "trust" in key else ("PEM", "PKCS12")):
            found.append(
                Mismatch(
                    key,
                    f"confluent-kafka cannot read a {'trust' if 'trust' in key else 'key'} store of the type {type}",
                    f"use a PEM file, and set `{key.replace('location', 'type')} = PEM`",
                )
            )
    return found


def _missing_login(settings: Mapping[str, str]) -> Mismatch | None:
    """Return why a user and a password are not a login for Java."""
    key = next((key for key in ("sasl.username", "sasl.password") if key in settings), None)
    if key is None:
        return None
    mechanism = java_settings(settings).get("sasl.mechanism")
    if mechanism not in _MODULES:
        value = f"found `{mechanism}`" if mechanism else "it is not set"
        return Mismatch(
            key,
            f"a user and a password need a `sasl.mechanism` that has them, and {value}",
            f"set `sasl.mechanism` to {', '.join(f'`{name}`' for name in _MODULES)}",
        )
    other = "sasl.password" if key == "sasl.username" else "sasl.username"
    return Mismatch(key, f"`{key}` is set without `{other}`", f"set `{other}`, too")


def _unknown(key: str) -> Mismatch:
    return Mismatch(
        key,
        f"`{key}` cannot be translated for both Kafka clients, Spark's and confluent-kafka",
        next(iter(did_you_mean(key, sorted(_TRANSLATED))), "replace it with a setting that both have, or remove it"),
    )


def _is_pem(java: Mapping[str, str], store: str) -> bool:
    return java.get(f"{store}type", "").upper() == "PEM"


def _login(jaas: str) -> dict[str, str]:
    """Return the login of a JAAS configuration in the notation of librdkafka; empty if it cannot be translated."""
    match = _LOGIN.fullmatch(jaas)
    if match is None:
        return {}
    options = {
        name: re.sub(r"\\(.)", r"\1", double or single) or plain
        for name, double, single, plain in _OPTION.findall(match["options"])
    }
    names = {
        "PlainLoginModule": {"username": "sasl.username", "password": "sasl.password"},
        "ScramLoginModule": {"username": "sasl.username", "password": "sasl.password"},
        "Krb5LoginModule": {"keyTab": "sasl.kerberos.keytab", "principal": "sasl.kerberos.principal"},
    }.get(match["module"].rpartition(".")[2], {})
    if not names.keys() <= options.keys():
        return {}
    login = {librdkafka: options[name] for name, librdkafka in names.items()}
    if service := options.get("serviceName") if "keyTab" in names else None:
        login["sasl.kerberos.service.name"] = service
    return login


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


_TRANSLATED = (
    _BOTH
    | _RENAMED.keys()
    | _JAVA_NAMES.keys()
    | {_JAAS, "sasl.username", "sasl.password", "ssl.ca.location"}
    | {f"{store}{key}" for store in _STORES for key in ("type", "location", "password")}
)
