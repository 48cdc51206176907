"""Each kind of file that Kafka's channel has in the state directory, damaged in every way, under commands and runs."""

from __future__ import annotations

import shutil
import uuid
from collections import Counter
from pathlib import Path

import pytest

from streamlets.runner.state_directory.files import FILES, FileKind, kind_of
from tests.crossings.damage import (
    DAMAGES,
    Expected,
    State,
    Use,
    call,
    check,
    damage,
    expected_of,
    run_bounded,
    samples,
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APPLICATION = Path(__file__).parent / "kafka_state_app"
KINDS = [kind for kind in FILES if kind.pattern.startswith("topics/_kafka/")]
TOPICS = ("ticks", "parities", "distinct")
USES = (
    Use(("topics",)),
    *(Use(("tail", topic, "-n", "100")) for topic in TOPICS),
    Use(("dead-letters",)),
    Use(("dead-letters", "show", "parities")),
    Use(("status", "--ports")),
    Use(("checkpoints",)),
)


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory, kafka_broker: str) -> State:
    """Return the state after a run, and after a decision to replay dead letters. Other tests use the broker, too."""
    directory = tmp_path_factory.mktemp("state") / "app"
    shutil.copytree(APPLICATION, directory)
    name = f"damaged-{uuid.uuid4().hex[:8]}"
    blueprint = directory / "blueprint.conf"
    text = blueprint.read_text(encoding="utf-8").replace("damaged", name)
    text += f'flow.kafka.clusters.default.bootstrap.servers = "{kafka_broker}"\n'
    blueprint.write_text(text, encoding="utf-8")
    completed = run_bounded(directory)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    state = State(directory, name)
    code = directory / "app.py"
    contract = code.read_text(encoding="utf-8")
    code.write_text(contract.replace('"ODD"]', '"ODD", "NONE"]'), encoding="utf-8")
    replayed = call(state, "dead-letters", "replay", "parities")
    assert replayed.code == 0, replayed.text
    code.write_text(contract, encoding="utf-8")
    return state


@pytest.fixture(scope="module")
def undamaged(state: State, tmp_path_factory: pytest.TempPathFactory) -> dict[Use, Expected]:
    """Return what each use shows if nothing is damaged."""
    return expected_of(state, USES, tmp_path_factory.mktemp("undamaged"))


def test_each_kind_occurs(state: State) -> None:
    """A run writes files of each kind, and no others."""
    found = {kind_of(path) for path in state.files() if path.is_relative_to("topics/_kafka")}
    assert found == set(KINDS)


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_commands_that_read_a_damaged_file(
    state: State, undamaged: dict[Use, Expected], tmp_path: Path, kind: FileKind, how: str
) -> None:
    """A command shows the same as before, or reports the file. Of files that can be done without, it may show less."""
    uses = [use for use, expected in undamaged.items() if kind in expected.kinds]
    for index, path in enumerate(samples(state, kind, number=2)):
        check(state, undamaged, tmp_path / str(index), kind, how, uses, [path])


@pytest.mark.full
@pytest.mark.parametrize("how", ["missing", "empty", "cut", "from elsewhere"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_runs_that_repeat_a_batch_on_a_damaged_file(state: State, tmp_path: Path, kind: FileKind, how: str) -> None:
    """The run reports the file, or the topic of the exactly-once outlet has the same records as before."""
    for number, path in enumerate(samples(state, kind, number=1)):
        own = state.copy(tmp_path / str(number))
        for commit in own.root.glob("checkpoints/*/*/commits/*"):
            commit.unlink()
        (own.directory / "app.py").write_text(
            (own.directory / "app.py").read_text(encoding="utf-8").replace("(first, first + 5)", "()"), encoding="utf-8"
        )
        before = Counter(call(own, "tail", "parities", "-n", "100").text.splitlines())
        damage(own, path, how)
        completed = run_bounded(own.directory)
        text = completed.stdout + completed.stderr
        assert "internal error" not in text, text
        damage_named = path.name in text or str(path.parent) in text or "is an older copy" in text
        if not (completed.returncode and damage_named):
            assert completed.returncode == 0, text
        after = call(state, "tail", "parities", "-n", "100")
        assert Counter(after.text.splitlines()) == before, text
