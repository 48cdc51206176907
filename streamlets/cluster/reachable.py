"""Whether the servers of a master accept connections."""

from __future__ import annotations

import socket

from blueprint.masters import Master

_PATIENCE = 2.0


def unreachable(master: Master) -> str:
    """Return why no server of a master accepts a connection; "" if one does, or if its address is not known."""
    reason = ""
    for host, port in master.addresses:
        try:
            with socket.create_connection((host, port), _PATIENCE):
                return ""
        except OSError as error:
            reason = f"{host}:{port}: {error.strerror or error}"
    return reason
