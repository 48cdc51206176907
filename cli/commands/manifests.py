"""`flow manifests`: write what runs an application on Kubernetes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

import click

from cli.application import Application, application, is_setting
from cli.groups import imports_modules
from cli.options import format_option
from cli.output.errors import fail

if TYPE_CHECKING:
    from streamlets.kubernetes.deployment import Form
    from streamlets.kubernetes.files import ManifestDirectory


@imports_modules()
@click.command()
@click.argument("arguments", nargs=-1, required=True, metavar="[PATH] DIRECTORY [KEY=VALUE]...")
@click.option("--conf", multiple=True, metavar="FILE", help="Give the pods the settings in FILE, too; may be repeated.")
@click.option(
    "--for", "target", type=click.Choice(["statefulset", "job", "kubeflow", "apache"]), default="statefulset",
    show_default=True,
    help="What runs the application: a StatefulSet, which runs until it is deleted, or a Job for bounded runs "
    "(--available-now), which is a CronJob with the setting flow.kubernetes.schedule; or a SparkApplication for the "
    "operator of Kubeflow or of Apache Spark.",
)  # fmt: skip
@click.option("--diff", is_flag=True, help="Write nothing, and show how the files in DIRECTORY would change.")
@format_option()
def manifests(arguments: Sequence[str], conf: Sequence[str], target: str, diff: bool, form: str) -> None:
    """Write a Dockerfile and manifests that run an application on Kubernetes.

    PATH is a blueprint or its directory (default: the working directory). `kubectl apply -k DIRECTORY` creates the
    objects. The settings `flow.kubernetes` decide on names, resources, executors, Secrets and volumes. Secrets are only
    written by reference.

    Files that this command did not write, or that were changed since, are never replaced. The exit code is 0 if the
    files are written or, with --diff, as they would be written; 1 if they cannot be written or, with --diff, differ;
    and 2 if the blueprint or the arguments are wrong.
    """
    from cli.deployment import deployment_of
    from streamlets.kubernetes.deployment import ManifestError
    from streamlets.kubernetes.files import ManifestDirectory, manifest_files

    app, directory = _paths(arguments, conf)
    try:
        deployment = deployment_of(app, cast("Form", target))
        files = manifest_files(deployment, _from(directory, app.directory))
        written = ManifestDirectory(directory, deployment.plan.name, files)
        if diff:
            _compare(written, deployment.plan.name, form)
        effects = written.write()
    except ManifestError as error:
        fail(str(error), error.help)
    except OSError as error:
        fail(f"`{error.filename or directory}` cannot be written: {error.strerror or error}")
    _print(deployment.plan.name, directory, effects, form)


def _paths(arguments: Sequence[str], conf: Sequence[str]) -> tuple[Application, Path]:
    """Return the application, and the directory of the manifests.

    Raises:
        click.UsageError: there is not one directory, and at most one other path.
    """
    paths = [argument for argument in arguments if not is_setting(argument)]
    if not 1 <= len(paths) <= 2:
        raise click.UsageError("expected [PATH] DIRECTORY: the application, and the directory for the manifests")
    directory = Path(paths[-1])
    if directory.exists() and not directory.is_dir():
        raise click.UsageError(f"`{directory}` is not a directory")
    settings = [argument for argument in arguments if is_setting(argument)]
    return application([*paths[:-1], *settings], conf), directory


def _from(directory: Path, start: Path) -> str:
    """Return the path of a directory as it is written in another one."""
    return os.path.relpath(directory.absolute(), start.absolute())


def _compare(written: ManifestDirectory, application: str, form: str) -> NoReturn:
    differences = written.differences()
    if form == "json":
        found = [{"file": one.name, "diff": one.diff} for one in differences]
        click.echo(
            json.dumps({"application": application, "directory": str(written.path), "differences": found}, indent=2)
        )
    else:
        for difference in differences:
            click.echo(difference.diff, nl=False)
        if differences:
            click.echo(f"{len(differences)} of the files in {written.path} would change", err=True)
        else:
            click.echo(f"the files in {written.path} are up to date")
    raise SystemExit(1 if differences else 0)


def _print(application: str, directory: Path, effects: Mapping[str, str], form: str) -> None:
    if form == "json":
        click.echo(json.dumps({"application": application, "directory": str(directory), "files": effects}, indent=2))
        return
    for name, effect in effects.items():
        click.echo(f"{effect:9} {directory / name}")
    click.echo(
        f"\nThe image of {application} is built with {directory / 'Dockerfile'}. Then: kubectl apply -k {directory}"
    )
