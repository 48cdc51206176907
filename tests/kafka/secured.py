"""A broker with TLS and logins."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamlets.artifacts.java import java_command
from tests.kafka.broker import Broker

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
"""The beginning of a login in Java's form; options with user and password follow."""

_STORE = "changeit"


def quoted(password: str) -> str:
    """Return a password as it is written between the quotes of a login."""
    return password.replace("\\", "\\\\").replace('"', '\\"')


@contextmanager
def secured_broker(directory: Path, password: str) -> Iterator[tuple[str, Path]]:
    """Provide the servers of a broker with TLS and logins, and the file with the certificate to trust.

    Arguments:
        directory: a directory for its files.
        password: of the user `flow`; that of `admin` is `admin`.
    """
    trusted = _certificate(directory)
    accounts = f'username="admin" password="admin" user_admin="admin" user_flow="{quoted(password)}"'
    properties = {
        "listeners": "SASL_SSL://{host}:{port},CONTROLLER://{host}:{controller}",
        "advertised.listeners": "SASL_SSL://{host}:{port}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
        "inter.broker.listener.name": "SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{LOGIN} {accounts};".replace("\\", "\\\\"),
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": str(directory / "server.p12"),
        "ssl.keystore.password": _STORE,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(trusted),
        # A topic with rules is for those whom they name; all others are for everybody.
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin;User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
    }
    with Broker(directory / "broker", properties=properties) as broker:
        yield broker.servers, trusted


def _certificate(directory: Path) -> Path:
    """Create the certificate of a server in `server.p12`; return the file with the certificate to trust."""
    keytool, store = Path(java_command()).with_name("keytool"), directory / "server.p12"
    common = [str(keytool), "-keystore", str(store), "-storepass", _STORE, "-alias", "server"]
    names = ["-dname", "CN=127.0.0.1", "-ext", "SAN=IP:127.0.0.1", "-validity", "2", "-keyalg", "EC"]
    subprocess.run([*common, "-genkeypair", "-storetype", "PKCS12", *names], check=True, capture_output=True)
    trusted = directory / "trusted.pem"
    subprocess.run([*common, "-exportcert", "-rfc", "-file", str(trusted)], check=True, capture_output=True)
    return trusted
