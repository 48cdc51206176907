"""`flow manifests`: what it writes, what it never overwrites, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Flow
from tests.pages import REPOSITORY

BLUEPRINT = """
blueprint {
  streamlets.ticks { class = streamlets.Spout, outlets.out = "n INT", parameters.cmd = [python, ticks.py] }
  topics { ticks { producers = [ticks.out] } }
}
flow.application = shop
"""


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The blueprint of an application, whose directory is the working directory."""
    (tmp_path / "blueprint.conf").write_text(BLUEPRINT)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "blueprint.conf"


def _read(directory: str, name: str) -> Any:
    return yaml.safe_load((Path(directory) / f"{name}.yaml").read_text())


def _content(directory: str) -> dict[str, str]:
    return {file.name: file.read_text() for file in Path(directory).iterdir()}


def test_files_are_written_once(app: Path, flow: Flow) -> None:
    """A second time changes nothing, and `--diff` finds no difference."""
    assert "created" in flow("manifests", "k8s").out
    first = _content("k8s")
    assert set(json.loads(flow("manifests", "k8s", "--format", "json").out)["files"].values()) == {"unchanged"}
    assert _content("k8s") == first
    result = flow("manifests", "k8s", "--diff")
    assert (result.code, result.out) == (0, "the files in k8s are up to date\n")


def test_the_same_from_another_directory(app: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory makes no difference."""
    flow("manifests", "k8s")
    monkeypatch.chdir("/")
    assert flow("manifests", str(app.parent), str(app.parent / "k8s"), "--diff").code == 0


def test_a_change_of_the_blueprint_changes_the_pods(app: Path, flow: Flow) -> None:
    """The pods name the ConfigMap with the content, so another content restarts them, and the old pods keep theirs."""
    flow("manifests", "k8s")
    before = _read("k8s", "configmap")["metadata"]["name"]
    app.write_text(f"{BLUEPRINT}flow.stuck-after = 5 minutes")
    check = flow("manifests", "k8s", "--diff")
    assert check.code == 1
    assert "+    flow.stuck-after = 5 minutes\n" in check.out
    assert _read("k8s", "configmap")["metadata"]["name"] == before, "--diff writes nothing"
    effects = json.loads(flow("manifests", "k8s", "--format", "json").out)["files"]
    assert [name for name, effect in effects.items() if effect == "changed"] == ["configmap.yaml", "statefulset.yaml"]
    (volume,) = (v for v in _pod("k8s")["volumes"] if v["name"] == "configuration")
    assert volume["configMap"]["name"] == _read("k8s", "configmap")["metadata"]["name"] != before
    assert _read("k8s", "configmap")["immutable"] is True


def _pod(directory: str) -> Any:
    return _read(directory, "statefulset")["spec"]["template"]["spec"]


def test_files_that_are_not_needed_any_more_are_removed(app: Path, flow: Flow) -> None:
    """Another form has other files; a file of the user stays."""
    flow("manifests", "k8s")
    (Path("k8s") / "patch.yaml").write_text("mine")
    difference = json.loads(flow("manifests", "k8s", "--for", "job", "--diff", "--format", "json").out)["differences"]
    changed = {entry["file"] for entry in difference}
    assert {"job.yaml", "persistentvolumeclaim.yaml", "statefulset.yaml", "poddisruptionbudget.yaml"} <= changed
    effects = json.loads(flow("manifests", "k8s", "--for", "job", "--format", "json").out)["files"]
    assert (effects["job.yaml"], effects["statefulset.yaml"]) == ("created", "removed")
    assert not (Path("k8s") / "statefulset.yaml").exists()
    assert (Path("k8s") / "patch.yaml").read_text() == "mine"


def test_a_foreign_file_is_not_overwritten(app: Path, flow: Flow) -> None:
    """A file with a name that is needed, without the marker, leaves all files as they are; so do links."""
    Path("k8s").mkdir()
    file = Path("k8s") / "Dockerfile"
    for linked in (False, True):
        if linked:
            file.symlink_to("elsewhere")
        else:
            file.write_text("FROM mine\n")
        for check in ((), ("--diff",)):
            result = flow("manifests", "k8s", *check)
            assert (result.code, [*Path("k8s").iterdir()]) == (1, [file])
            assert "`k8s/Dockerfile` was not written by `flow manifests`" in result.err
        file.unlink()


def test_a_file_that_was_changed_by_hand_is_kept(app: Path, flow: Flow) -> None:
    """The checksum in the first line tells that a file was edited."""
    flow("manifests", "k8s")
    file = Path("k8s") / "statefulset.yaml"
    file.write_text(file.read_text().replace("replicas: 1", "replicas: 0"))
    result = flow("manifests", "k8s")
    assert result.code == 1
    assert "`k8s/statefulset.yaml` was changed after it was written" in result.err
    assert "replicas: 0" in file.read_text()


def test_a_directory_of_another_application(app: Path, flow: Flow) -> None:
    """Its files are not replaced."""
    flow("manifests", "k8s")
    result = flow("manifests", "k8s", "flow.application=other")
    assert result.code == 1
    assert "written for the application `shop`" in result.err


def test_all_or_nothing(app: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a file cannot be written, all stay as they were, without drafts."""
    flow("manifests", "k8s")
    before = _content("k8s")

    def full(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise OSError(28, "No space left on device", "k8s/draft")
        return original(*arguments)

    calls: list[int] = []
    original: Any = os.fdopen
    monkeypatch.setattr("streamlets.kubernetes.files.os.fdopen", full)
    result = flow("manifests", "k8s", "flow.kubernetes.image=other")
    assert result.code == 1
    assert "No space left on device" in result.err
    assert _content("k8s") == before


def test_a_directory_that_cannot_be_made(app: Path, flow: Flow) -> None:
    """The error names it, and a file is not a directory."""
    result = flow("manifests", "/proc/k8s")
    assert (result.code, "/proc/k8s" in result.err) == (1, True)
    assert flow("manifests", "blueprint.conf").code == 2


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("flow.application=My_Shop", "`My_Shop` cannot be the name of the objects in Kubernetes"),
        ("flow.application=7shop", "names of services begin with a letter"),
        (f"flow.application={'a' * 53}", "it has 53 characters, and the names of pods leave room for 52"),
        ("flow.kubernetes.schedule=daily", "starts bounded runs, and a StatefulSet runs without an end"),
        ("flow.kubernetes.executors=2", "is 2, and no streamlet needs Spark"),
        ("flow.kubernetes.secrets.LOGIN=shop", "must be the name of a Secret and a key in it"),
        ("flow.kubernetes.variables.HOME=/root", "the variable `HOME` in `flow.kubernetes` is set twice"),
        ("flow.streamlets.ticks.parameters.cmd=[python, ${USER_OF_SHOP}]", "variable `USER_OF_SHOP` of this machine"),
        ("flow.streamlets.ticks.parameters.env.PASSWORD=hunter22", "an argument has a secret"),
        ("flow.streamlets.ticks.parameters.secrets.KEY.env=API_KEY", "in the variable `API_KEY`, which pods"),
        ("flow.streamlets.ticks.parameters.secrets.KEY.file=key", "in the file `key`, which pods do not have"),
    ],
)  # fmt: skip
def test_refusals(app: Path, flow: Flow, monkeypatch: pytest.MonkeyPatch, setting: str, message: str) -> None:
    """Nothing is written; the message has a remedy."""
    monkeypatch.setenv("USER_OF_SHOP", "me")
    monkeypatch.setenv("API_KEY", "12345678")
    (app.parent / "key").write_text("12345678")
    result = flow("manifests", "k8s", setting)
    assert result.code == 1
    assert message in result.err
    assert "  help: " in result.err
    assert "hunter22" not in result.err + result.out
    assert not Path("k8s").exists()


@pytest.mark.parametrize("operator", ["kubeflow", "apache"])
def test_limits_of_operators(flow: Flow, tmp_path: Path, operator: str) -> None:
    """They run one Spark with executors."""
    for settings in ((), ("flow.kubernetes.executors=2", "flow.isolation=process")):
        result = flow(
            "manifests", str(REPOSITORY / "examples" / "flights"), str(tmp_path / "k8s"), "--for", operator, *settings
        )
        assert result.code == 1
        assert "an operator for Spark runs one Spark with executors" in result.err


def test_a_blueprint_with_errors(app: Path, flow: Flow) -> None:
    """The findings are shown, and nothing is written."""
    result = flow("manifests", "k8s", "flow.kubernetes.memory=much")
    assert result.code == 2
    assert "must be a size such as `10 GiB`" in result.err
    assert not Path("k8s").exists()


def test_a_secret_in_a_file(app: Path, flow: Flow) -> None:
    """The place is shown, not the secret; with a reference, the pod gets it from the Secret, and no file has it."""
    app.write_text(f"{BLUEPRINT}\nblueprint.streamlets.ticks.parameters.env.PASSWORD = hunter22")
    result = flow("manifests", "k8s")
    assert "blueprint.conf:8:" in result.err
    assert "hunter22" not in result.err
    page = (REPOSITORY / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    for part in ("has a secret, and ConfigMaps and images can be read by many: ", result.err.splitlines()[1]):
        assert part in result.err, part
        assert part in page, part
    app.write_text(
        f"{BLUEPRINT}\nblueprint.streamlets.ticks.parameters.env.PASSWORD = ${{DB_PASSWORD}}\n"
        "flow.kubernetes { secrets.DB_PASSWORD = shop-db/password, secret-volumes.keys = /keys }"
    )
    assert flow("manifests", "k8s").code == 0
    (variable,) = (entry for entry in _pod("k8s")["containers"][0]["env"] if entry["name"] == "DB_PASSWORD")
    assert variable["valueFrom"] == {"secretKeyRef": {"name": "shop-db", "key": "password"}}
    setting = "flow.streamlets.ticks.parameters.secrets.KEY.env=DB_PASSWORD"
    assert flow("manifests", "k8s", setting).code == 0, "this machine need not have the secret"
    assert "value-of-a-secret" not in "".join(_content("k8s").values())


def test_a_secret_in_an_included_file(app: Path, flow: Flow) -> None:
    """Files that the blueprint includes are in the image, so they must not have secrets, either."""
    (app.parent / "login.conf").write_text("blueprint.streamlets.ticks.parameters.env.PASSWORD = hunter22\n")
    app.write_text(f'{BLUEPRINT}\ninclude "login.conf"\n')
    assert "login.conf:1:" in flow("manifests", "k8s").err


def test_files_of_settings(app: Path, flow: Flow, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Pods read them at their paths in the image, or in a directory of their own, in the order of the options."""
    outside = tmp_path_factory.mktemp("elsewhere") / "live settings.conf"
    outside.write_text("flow.patience = 3 minutes\n")
    (app.parent / "conf").mkdir()
    (app.parent / "conf" / "live.conf").write_text("flow.patience = 4 minutes\n")
    flow("manifests", "k8s", "--conf", "conf/live.conf", "--conf", str(outside))
    paths = ["/app/conf/live.conf", "/etc/streamlets/live settings.conf", "/etc/streamlets/kubernetes.conf"]
    (container,) = _pod("k8s")["containers"]
    given = container["args"]
    assert [given[at + 1] for at, word in enumerate(given) if word == "--conf"] == paths
    mounts = {mount["mountPath"]: mount.get("subPath") for mount in container["volumeMounts"]}
    data = _read("k8s", "configmap")["data"]
    assert [data[mounts[path]].split("=")[0] for path in paths[:2]] == ["flow.patience ", "flow.patience "]


def test_outputs_are_on_the_volume(flow: Flow, tmp_path: Path) -> None:
    """Sinks with relative paths write to the volume of the state; an absolute path needs a volume of its own."""
    app = tmp_path / "flights"
    shutil.copytree(
        REPOSITORY / "examples" / "flights", app, ignore=shutil.ignore_patterns(".flow", "out", "manifests")
    )
    directory = str(tmp_path / "k8s")
    assert flow("manifests", str(app), directory).code == 0
    mounts = {mount["mountPath"]: mount for mount in _pod(directory)["containers"][0]["volumeMounts"]}
    assert mounts["/app/out"] == {"name": "state", "mountPath": "/app/out", "subPath": "outputs/out"}
    (app / "out").mkdir()
    (app / "out" / "notes.txt").write_text("kept in the image")
    flow("manifests", str(app), directory)
    paths = [mount["mountPath"] for mount in _pod(directory)["containers"][0]["volumeMounts"]]
    assert {"/app/out/delays", "/app/out/cancelled", "/app/out/invalid"} <= set(paths)
    setting = "flow.streamlets.archive.parameters.options.path=/lake/delays"
    result = flow("manifests", str(app), directory, setting)
    assert "`archive` writes to /lake/delays, which is not on a volume" in result.err
    assert flow("manifests", str(app), directory, setting, "flow.kubernetes.volumes.lake=/lake").code == 0


def test_memory_for_drivers(flow: Flow, tmp_path: Path) -> None:
    """Drivers share half of the memory of the pod; too little is refused with the least that is enough."""
    flights = str(REPOSITORY / "examples" / "flights")
    result = flow("manifests", flights, str(tmp_path / "k8s"), "flow.isolation=process", "flow.kubernetes.memory=2g")
    assert "2Gi for 9 Sparks, which leaves 113 MiB for each Java process" in result.err
    assert "set it to 92" in result.err
    assert (
        flow("manifests", flights, str(tmp_path / "k8s"), "flow.isolation=process", "flow.kubernetes.memory=10g").code
        == 0
    )
    settings = _read(str(tmp_path / "k8s"), "configmap")["data"]["kubernetes.conf"]
    assert 'flow.cluster.driver-memory = "568m"' in settings


def test_the_example_in_the_docs(flow: Flow) -> None:
    """The manifests in the repository are as the command writes them."""
    example = REPOSITORY / "examples" / "flights"
    result = flow("manifests", str(example), str(example / "manifests"), "flow.kubernetes.executors=3", "--diff")
    assert (result.code, result.out) == (0, f"the files in {example / 'manifests'} are up to date\n"), result.out
