"""The secret by which the driver, the executors and the master of a cluster know each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from blueprint.core_settings import ClusterSettings
from streamlets.spark.session import SessionError

_AUTHENTICATE, _SECRET = "spark.authenticate", "spark.authenticate.secret"


def secret_settings(cluster: ClusterSettings) -> dict[str, str]:
    """Return Spark's setting of the secret, read where the settings of the application say; {} if they do not.

    Raises:
        SessionError: the variable is not set, or the file cannot be read or is empty.
    """
    place = cluster.secret
    if not place.is_set:
        return {}
    help = "set the variable to the secret of the cluster" if place.env else "write the secret of the cluster into it"
    try:
        secret = os.environ[place.env] if place.env else Path(place.file or "").read_text(encoding="utf-8")
    except KeyError:
        raise SessionError(
            f"the environment variable `{place.env}` of `flow.cluster.secret.env` is not set", help
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SessionError(f"cannot read {place.file} of `flow.cluster.secret.file`: {reason}", help) from None
    if not secret.strip():
        raise SessionError(f"the secret in `{place.env or place.file}` of `flow.cluster.secret` is empty", help)
    return {_SECRET: secret.rstrip("\n")}


def require_secret(settings: Mapping[str, str]) -> None:
    """Require a secret where Spark does not make one itself, which is for standalone masters.

    Raises:
        SessionError: there is none.
    """
    standalone = settings["spark.master"].startswith("spark://")
    if standalone and settings.get(_AUTHENTICATE) == "true" and not settings.get(_SECRET):
        raise SessionError(
            "`flow.cluster.authenticate` is set, but the secret of the cluster is not",
            "set `flow.cluster.secret.env = NAME` or `flow.cluster.secret.file = PATH`",
        )
