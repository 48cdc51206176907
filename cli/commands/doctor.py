"""`flow doctor`: check what a run needs on this machine, and say what to do about what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from blueprint.wording import counted
from cli.application import application, application_arguments, overriding
from cli.groups import imports_modules
from cli.options import DirectoryType, format_option, master_option

if TYPE_CHECKING:
    from cli.application import Application
    from streamlets.checks import Check

VERSION = 1
_COLOURS = {"ok": "green", "warning": "yellow", "error": "red"}


@imports_modules()
@click.command()
@application_arguments
@click.option(
    "--state-dir", type=DirectoryType(path_type=Path), metavar="DIRECTORY",
    help="The parent directory of the application's topics and checkpoints (default: .flow next to the blueprint).",
)  # fmt: skip
@click.option("--fetch", is_flag=True, help="Fetch the jars that channels need into the cache, if they are missing.")
@click.option(
    "--prepare", is_flag=True,
    help="Archive Java's classes in the cache, with which Spark starts in less time. It takes a minute or two, once "
    "per environment.",
)  # fmt: skip
@master_option
@format_option()
def doctor(
    arguments: Sequence[str], conf: Sequence[str], state_dir: Path | None, fetch: bool, prepare: bool,
    master: str | None, form: str,
) -> None:  # fmt: skip
    """Check what a run needs: Java, Python, packages, jars, servers, disk and clock.

    PATH is a blueprint or its directory (default: the working directory). Without a blueprint there, only the machine
    is checked. Otherwise the streamlets' modules are imported, and the servers of the topics are asked for an answer.
    Nothing is started or changed, except with a master of a cluster, of --master or the settings: then Spark is
    started, and one task for each executor reports whether it has what the application needs.

    The exit code is 0 if a run can start (warnings do not prevent it), 1 if an error would prevent it, and 2 if the
    arguments are wrong.
    """
    app = replace(application(arguments, conf), options=overriding(master))
    if not app.exists and (arguments or conf):
        raise click.UsageError(f"there is no blueprint or settings file to check: {app.blueprint}")
    if master is not None and not app.exists:
        raise click.UsageError(f"--master needs an application: there is no {app.blueprint}")
    checks = []
    for check in _checks(app, state_dir, fetch=fetch, prepare=prepare):
        checks.append(check)
        if form == "text":
            _show(check)
    if form == "json":
        data = [
            {"subject": check.subject, "state": check.state.value, "detail": check.detail, "help": check.help}
            for check in checks
        ]
        click.echo(json.dumps({"version": VERSION, "checks": data}, ensure_ascii=False, indent=2))
    raise SystemExit(1 if any(check.state == "error" for check in checks) else 0)


def _checks(app: Application, state_dir: Path | None, *, fetch: bool, prepare: bool) -> Iterator[Check]:
    from blueprint.diagnostics.model import Severity
    from cli import spark_classes
    from streamlets.checks import Check, State
    from streamlets.doctor import application as of_application
    from streamlets.doctor import machine
    from streamlets.doctor.cluster import executors
    from streamlets.runner.state_directory.directory import STATE_DIRECTORY, StateDirectory

    java = machine.java()
    yield java
    yield from machine.packages()
    verification = app.verify() if app.exists else None
    plan = verification.plan if verification is not None else None
    yield machine.python(plan.settings.spark.get("spark.pyspark.python") if plan is not None else None)
    if java.state is not State.ERROR:
        yield spark_classes.prepare() if prepare else spark_classes.check()
    yield from of_application.state_directory(state_dir or app.directory / STATE_DIRECTORY)
    if verification is not None and plan is None:
        errors = sum(finding.severity is Severity.ERROR for finding in verification.diagnostics)
        yield Check(
            "blueprint",
            State.ERROR,
            f"`flow verify` reports {counted(errors, 'error')}",
            "run `flow verify`, and fix them",
        )
    if plan is not None:
        yield Check(
            "blueprint", State.OK, f"{counted(len(plan.streamlets), 'streamlet')}, {counted(len(plan.topics), 'topic')}"
        )
        yield from of_application.jars(plan, may_fetch=fetch)
        yield from of_application.servers(plan)
        if java.state is not State.ERROR:
            state = StateDirectory(state_dir or app.directory / STATE_DIRECTORY, plan.name)
            yield from executors(plan, state, partial(click.echo, err=True))


def _show(check: Check) -> None:
    state = click.style(f"{check.state.value:<8}", fg=_COLOURS[check.state.value])
    click.echo(f"{state} {check.subject}: {check.detail}")
    if check.help:
        click.echo(f"         help: {check.help}")
