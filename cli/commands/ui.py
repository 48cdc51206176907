"""`flow ui`: the page of applications in a browser."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.loopback import is_loopback
from blueprint.plan import STATE_DIRECTORY
from cli.application import existing_blueprint
from cli.groups import imports_modules
from cli.options import PAGE_PORT, path_argument
from cli.output.errors import fail
from cli.state import state_options

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence

_EDITORS = {"vscode": "vscode://file{path}:{line}:{column}"}
"""Addresses of editors by name."""


@imports_modules("with servers")
@click.command()
@path_argument
@state_options
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PAGE_PORT, show_default=True, help="The port; 0 for any."
)
@click.option("--read-only", is_flag=True, help="Allow no action, such as a restart.")
@click.option(
    "--records/--no-records", default=None,
    help="Whether to show records of topics and dead letters. Default: only if the page listens on this machine alone.",
)  # fmt: skip
@click.option(
    "--editor", metavar="URL", default="",
    help="Make places in files links to an editor: vscode, or an address with {path}, {line} and {column}.",
)  # fmt: skip
@click.option("--certificate", type=click.Path(path_type=Path), metavar="FILE", help="Serve by TLS with a certificate.")
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="The key of --certificate.")
@click.option(
    "--password-file", type=click.Path(path_type=Path), metavar="FILE",
    help="Ask for the password on the first line of FILE instead of the token in the printed address.",
)  # fmt: skip
@click.option("--user-header", metavar="NAME", help="Let in whom a proxy names in this header; needs --proxy.")
@click.option("--proxy", "proxies", multiple=True, metavar="ADDRESS", help="The address of the proxy; may be repeated.")
@click.option("--name", "names", multiple=True, metavar="HOST", help="Another name of the server; may be repeated.")
@click.option("--insecure", is_flag=True, help="Listen on an address of the network without TLS.")
@click.option("--ends-with-stdin", is_flag=True, hidden=True, help="End when the standard input is closed.")
def ui(
    path: Path,
    state_dir: Path | None,
    application: str | None,
    host: str,
    port: int,
    read_only: bool,
    records: bool | None,
    editor: str,
    certificate: Path | None,
    key: Path | None,
    password_file: Path | None,
    user_header: str | None,
    proxies: tuple[str, ...],
    names: tuple[str, ...],
    insecure: bool,
    ends_with_stdin: bool,
) -> None:
    """Show applications in a browser: what runs, what is slow and why, what happened, and what can be done.

    PATH is a blueprint, its directory, or a directory with several projects (default: the working directory). The
    applications may be running or not. The printed address has a token, without which nobody is let in.

    The page listens on this machine alone. To listen on an address of the network it needs --certificate or --insecure,
    and --password-file or --user-header. The exit code is 1 if the address cannot be used.
    """
    _require_packages()
    from cli.ui.access import Access
    from cli.ui.app import Options
    from cli.ui.served import Applications
    from cli.ui.server import serve, session_secret

    local = is_loopback(host)
    if state_dir is None:
        existing_blueprint(path)
    _check_openness(host, certificate or key, insecure, password_file, user_header)
    _check_pairs(certificate, key, user_header, proxies)
    place = address_of_editor(editor)
    listener = _listening(host, port)
    own = listener.getsockname()[1]
    access = Access(
        secret=session_secret(_secret_file()),
        token="" if password_file or user_header else secrets.token_urlsafe(24),
        hosts=_hosts(host, own, names),
        secure=certificate is not None,
        password=_password(password_file),
        user_header=user_header or "",
        proxies=proxies,
        cookie=f"flow_session_{own}",
    )
    token = f"?token={access.token}" if access.token else ""
    click.echo(f"The page is at {access.scheme}://{_shown(host)}:{own}/{token}")
    if not ends_with_stdin:
        click.echo("Ctrl-C ends it; the applications go on.")
    options = Options(
        applications=Applications(path, state_dir, application),
        access=access,
        read_only=read_only,
        records=local if records is None else records,
        editor=place,
        reopen=_reopening(path, state_dir) if ends_with_stdin else "",
    )
    if ends_with_stdin:
        threading.Thread(target=_end_with_stdin, name="end-with-stdin", daemon=True).start()
    serve(options, listener, certificate=certificate, key=key)


def _reopening(path: Path, state_dir: Path | None) -> str:
    """Return the command that opens the page of a run again after its end."""
    project = path.absolute()
    if project.name == "blueprint.conf":
        project = project.parent
    beside = (project if project.is_dir() else project.parent) / STATE_DIRECTORY
    place = ["--state-dir", str(state_dir.absolute())] if state_dir and state_dir.absolute() != beside else []
    return shlex.join(["flow", "ui", str(project), *place])


def _require_packages() -> None:
    """Require the packages of the page.

    Raises:
        SystemExit: 1, when one is not installed; an error has been printed.
    """
    try:
        import cli.ui.server  # noqa: F401 - imports all of them
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "anyio"):
            raise
        fail(f"the page needs the package `{error.name}`", 'install it with `pip install "streamlets[ui]"`')


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        SystemExit: 1, when it cannot; an error has been printed.
    """
    from cli.ui.server import listening

    try:
        return listening(host, port)
    except OSError as error:
        reason = error.strerror or error
        fail(f"cannot listen on {host}, port {port}: {reason}", "choose another port with `--port`, or 0 for any")


def _end_with_stdin() -> None:
    """End the process when its parent does, also by a kill: the standard input is a pipe from it."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _check_openness(
    host: str, certificate: Path | None, insecure: bool, password_file: Path | None, user_header: str | None
) -> None:
    """Check that a server on an address of the network has TLS, or that its lack is wanted, and asks who somebody is.

    Raises:
        click.UsageError: it does not.
    """
    if is_loopback(host):
        return
    if certificate is None and not insecure:
        raise click.UsageError(
            f"{host} is an address of the network: add --certificate, or --insecure to do without TLS"
        )
    if password_file is None and user_header is None:
        raise click.UsageError(
            f"{host} is an address of the network: add --password-file, or --user-header with --proxy"
        )


def _check_pairs(certificate: Path | None, key: Path | None, user_header: str | None, proxies: tuple[str, ...]) -> None:
    """Check that options are there without which others have no meaning.

    Raises:
        click.UsageError: one is missing.
    """
    if bool(user_header) is not bool(proxies):
        raise click.UsageError("--user-header and --proxy belong together: anybody else could send the header, too")
    if key is not None and certificate is None:
        raise click.UsageError("--key needs --certificate")


def _shown(host: str) -> str:
    """Return a host as addresses have it."""
    return f"[{host}]" if ":" in host else host


def address_of_editor(url: str) -> str:
    """Return the address that opens a place in an editor.

    Raises:
        click.UsageError: it has no place for the path, or would run a script on the page.
    """
    url = _EDITORS.get(url, url)
    scheme = re.match(r"([a-z][a-z0-9+.-]*):", url, re.IGNORECASE)
    if url and ("{path}" not in url or scheme is None or scheme[1].lower() in ("javascript", "data")):
        raise click.UsageError(f"--editor must be {', '.join(_EDITORS)}, or an address with {{path}}, found `{url}`")
    return url


def _hosts(host: str, port: int, names: Sequence[str]) -> frozenset[str]:
    """Return the values of the header `Host` that name the server; a proxy may forward a name without the port."""
    own = ["127.0.0.1", "localhost", "[::1]"] if is_loopback(host) else [_shown(host)]
    return frozenset({f"{name}:{port}" for name in (*own, *names)} | set(names))


def _password(file: Path | None) -> str:
    """Return the password on the first line of a file; "" without a file.

    Raises:
        SystemExit: 1, when the file cannot be read or has no password; an error has been printed.
    """
    if file is None:
        return ""
    try:
        password = file.read_text(encoding="utf-8").partition("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        fail(f"{file} cannot be read: {error}", "write the password on its first line")
    if not password:
        fail(f"{file} has no password", "write it on the first line of the file")
    return password


def _secret_file() -> Path:
    """Return the file of the secret that signs sessions: one for all pages of this user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "streamlets" / "page-secret"
