"""Paths in settings: relative paths start in the directory of the file that sets them, and verification checks them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from blueprint.comparison.describing import describe_plan
from blueprint.plan import ApplicationPlan
from blueprint.verification.verify import Verification, verify
from streamlets import PathParameter
from streamlets.project.catalog import ProjectCatalog
from streamlets.testkit import Testkit, TestkitError

MODULE = '''
from streamlets import *


class Files(SparkStreamlet):
    """Reads a directory, and writes notes to a file."""

    rows = AvroOutlet(schema="text string")
    folder = PathParameter("The directory of the files", kind="directory", must_exist=True, readable=True)
    notes = PathParameter("The file for notes", kind="file", writable=True, default="notes.txt")
    tables = VolumeMount(path="/", access_mode="ReadOnlyMany")

    class Logic(SparkStreamletLogic["Files"]):
        def build_streaming_queries(self):
            me = self.streamlet
            options = {"path": str(self.value(me.folder))}
            rows = self.source("files", format="text", schema="text string", options=options)
            return self.write_stream(rows, me.rows)
'''

BLUEPRINT = """
blueprint {
  streamlets {
    files { class = pkg.app.Files, parameters.folder = incoming }
    archive { class = streamlets.Sink, inlets.in = "text string", parameters { to = json, options.path = out } }
  }
  topics { rows { producers = [files.rows], consumers = [archive.in] } }
}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project below the working directory, with its input."""
    project = tmp_path / "work" / "project"
    (project / "pkg").mkdir(parents=True)
    (project / "incoming").mkdir()
    (project / "pkg" / "app.py").write_text(MODULE)
    (project / "blueprint.conf").write_text(BLUEPRINT)
    monkeypatch.chdir(tmp_path / "work")
    return project


def verified(project: Path, *arguments: str, conf: Path | None = None) -> Verification:
    """Return the result of `flow verify project`."""
    return verify(
        Path("project/blueprint.conf"),
        catalog=ProjectCatalog(),
        conf_files=[conf] if conf else [],
        arguments=arguments,
        environment={},
        working_directory=Path.cwd(),
    )


def planned(project: Path, *arguments: str, conf: Path | None = None) -> ApplicationPlan:
    """Return the plan of a valid project."""
    verification = verified(project, *arguments, conf=conf)
    assert verification.plan is not None, verification.diagnostics
    return verification.plan


def test_a_relative_path_starts_in_the_directory_of_the_file_that_sets_it(project: Path, tmp_path: Path) -> None:
    """The file is the blueprint, a `--conf` file or the module of a default; for an argument it is the blueprint.

    The rule applies to sinks and mounts, too.
    """
    plan = planned(project)
    files, archive = plan.streamlet("files"), plan.streamlet("archive")
    assert files.parameters["folder"] == project / "incoming"
    assert files.parameters["notes"] == project / "pkg" / "notes.txt"
    assert archive.parameters["options"] == {"path": project / "out"}

    (tmp_path / "elsewhere" / "data").mkdir(parents=True)
    conf = tmp_path / "elsewhere" / "production.conf"
    conf.write_text(
        "flow.streamlets { files { parameters.folder = data, volume-mounts.tables = t }, "
        "archive.parameters.options.path = o }"
    )
    plan = planned(project, "flow.streamlets.files.parameters.notes=a/n", conf=conf)
    files, archive = plan.streamlet("files"), plan.streamlet("archive")
    assert files.parameters["folder"] == conf.parent / "data"
    assert files.parameters["notes"] == project / "a" / "n"
    assert files.volume_mounts["tables"] == str(conf.parent / "t")
    assert archive.parameters["options"] == {"path": conf.parent / "o"}


def test_descriptors_do_not_depend_on_the_machine(project: Path) -> None:
    """Paths below the project are relative to it in a descriptor."""
    described = describe_plan(planned(project)).streamlets
    assert described["files"].parameters == {"folder": "incoming", "notes": "pkg/notes.txt"}
    assert described["archive"].parameters["options"] == {"path": "out"}


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("folder=none", "`folder` is `{0}/none`, which does not exist"),
        ("folder=blueprint.conf", "`folder` is `{0}/blueprint.conf`, which is not a directory"),
        ("notes=incoming", "`notes` is `{0}/incoming`, which is not a file"),
        ("notes=blueprint.conf/notes", "`notes` is `{0}/blueprint.conf/notes`, and `{0}/blueprint.conf` is not a dir"),
        ('notes=""', "invalid value of the config parameter"),
    ],
)
def test_verification_checks_paths(project: Path, argument: str, message: str) -> None:
    """Existence, kind and the parent directory are checked; the finding has the place that sets the path."""
    (finding,) = verified(project, f"flow.streamlets.files.parameters.{argument}").diagnostics
    assert finding.code == "parameter-value"
    assert message.format(project) in finding.headline
    assert finding.primary is not None
    assert finding.primary.span.file == "<arguments>"


def test_verification_checks_permissions(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that is read must be readable; the parent directory of a new path must be writable."""
    real = os.access
    for mode, message in ((os.R_OK, "incoming`, which is not readable"), (os.W_OK, "pkg` is not writable")):
        monkeypatch.setattr(os, "access", lambda path, flags, mode=mode: not flags & mode and real(path, flags))
        assert message in verified(project).diagnostics[0].headline


@pytest.mark.parametrize(
    ("arguments", "error"),
    [({"kind": "folder"}, ValueError), ({"default": 5}, None), ({"default": Path("a")}, None)],
)
def test_declarations_are_checked(arguments: dict[str, Any], error: type[Exception] | None) -> None:
    """The kind must be known; a default is a string or a path."""
    if error is not None:
        with pytest.raises(error, match="kind must be `any`, `file` or `directory`"):
            PathParameter("A path", **arguments)
    else:
        assert PathParameter("A path", **arguments).default == str(arguments["default"])


def test_the_testkit_moves_written_paths_and_checks_read_paths(project: Path, tmp_path: Path) -> None:
    """A path that is only read stays; one that is written is moved into the kit.

    It is moved even if the real path cannot be created on this machine.
    """
    kit = Testkit(None, tmp_path / "kit")
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("streamlets.testkit.streamlet_under_test.StreamletUnderTest._new_context", lambda self: None)
        patch.setattr("streamlets.testkit.kit.Testkit._python_path", lambda *_: None, raising=False)
        patch.setattr(kit, "_spark", _Session())
        notes = "flow.streamlets.files.parameters.notes=blueprint.conf/notes"
        files = kit.application(project / "blueprint.conf", arguments=[notes]).streamlet("files")
        assert files.plan.parameters["folder"] == project / "incoming"
        moved = files.plan.parameters["notes"]
        assert isinstance(moved, Path)
        assert moved.is_relative_to(tmp_path / "kit")
        with pytest.raises(TestkitError, match="which does not exist"):
            kit.application(project / "blueprint.conf", arguments=["flow.streamlets.files.parameters.folder=none"])


class _Session:
    """The part of a session that an application uses before its first step."""

    def __init__(self) -> None:
        self.sparkContext = self
        self.environment: dict[str, str] = {}
