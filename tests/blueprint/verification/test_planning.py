"""The plan: settings resolved by precedence, streamlets in order, dead letters as topics."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.catalog import ParameterDescriptor, ParameterType, SparkArtifacts, VolumeMountDescriptor
from blueprint.core_settings import Retry
from blueprint.plan import ApplicationPlan
from blueprint.quantities import Duration
from blueprint.trigger import AvailableNow, ProcessingTime, RealTime
from blueprint.verification.verify import Verification, verify
from tests.blueprint.paper import PaperCatalog, at, record, streamlet

SECOND = 10**9
READING = record("Reading", src="string", value="double")
WINDOW = ParameterDescriptor(
    key="window", description="", type=ParameterType.DURATION, default="1 minute", declared=at(3)
)
RATE = ParameterDescriptor(
    key="rate", description="", type=ParameterType.INTEGER, default=None, declared=at(4), optional=True
)
CATALOG = PaperCatalog(
    streamlet("app.Sensors", outlets={"readings": READING}, parameters=(WINDOW, RATE), line=10,
              on_invalid="dead-letters", partition_by=("src",),
              volume_mounts=(VolumeMountDescriptor("tables", "/tmp", "ReadOnlyMany", at(11)),)),
    streamlet("app.Archive", inlets={"in": READING}, line=30),
    streamlet("app.Letters", inlets={"in": json.loads(dead_letter_contract().json)}, line=50),
)  # fmt: skip


class Application:
    """A directory with a blueprint that uses streamlets on paper."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def verify(
        self, streamlets: str, topics: str, *, more: str = "", arguments: tuple[str, ...] = (), **conf: str
    ) -> Verification:
        """Verify a blueprint with these sections and settings files, whose names are the keywords."""
        text = f"blueprint {{\n streamlets {{\n{streamlets}\n }}\n topics {{\n{topics}\n }}\n}}\n{more}\n"
        (self.directory / "blueprint.conf").write_text(text, encoding="utf-8")
        for name, settings in conf.items():
            (self.directory / name).write_text(settings, encoding="utf-8")
        return verify(
            "blueprint.conf", catalog=CATALOG, conf_files=list(conf), arguments=arguments,
            environment={"RATE": "9"}, working_directory=self.directory,
        )  # fmt: skip

    def plan(self, streamlets: str, topics: str, **more: object) -> ApplicationPlan:
        """Return the plan, which must exist."""
        verification = self.verify(streamlets, topics, **more)  # type: ignore[arg-type]
        assert verification.plan is not None, verification.diagnostics
        return verification.plan


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Application:
    """An application in an empty directory."""
    directory = tmp_path / "weather"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return Application(directory)


TWO = "z = app.Sensors\na = app.Archive"
ONE_TOPIC = "readings { producers = [z.readings], consumers = [a.in] }"


def test_names_order_and_wiring(app: Application) -> None:
    """The application has the directory's name; streamlets are in topological order; ports have their topics."""
    plan = app.plan(TWO, ONE_TOPIC)
    assert plan.name == "weather"
    assert Path(plan.directory) == app.directory
    assert [streamlet.ref for streamlet in plan.streamlets] == ["z", "a"]
    (outlet,), (inlet,) = plan.streamlet("z").outlets, plan.streamlet("a").inlets
    assert (outlet.topic, outlet.partition_by, outlet.on_invalid) == ("readings", ("src",), "dead-letters")
    assert (inlet.topic, inlet.settings.max_records, inlet.settings.starting) == ("readings", None, "earliest")
    topic = plan.topic("readings")
    assert (topic.name, topic.channel, topic.managed) == ("readings", "delta", True)
    assert (topic.producers, topic.consumers) == (("z.readings",), ("a.in",))
    assert plan.producers_of("a") == ("z",)


def test_dead_letters_get_a_topic_of_their_own(app: Application) -> None:
    """Each streamlet with an outlet that sends records there has a dead-letter topic."""
    plan = app.plan(TWO, ONE_TOPIC)
    assert (plan.streamlet("z").dead_letters, plan.streamlet("a").dead_letters) == ("dead-letters.z", None)
    topic = plan.topic("dead-letters.z")
    assert (topic.name, topic.producers, topic.consumers) == ("dead-letters.z", ("z.dead-letters",), ())
    assert [outlet.name for outlet in plan.streamlet("z").outlets] == ["readings"]


def test_the_topic_of_dead_letters_may_be_set(app: Application) -> None:
    """Its settings are those of its id, in quotes."""
    plan = app.plan(TWO, ONE_TOPIC, arguments=('flow.topics."dead-letters.z".topic.name=broken',))
    assert plan.topic("dead-letters.z").name == "broken"


def test_dead_letters_can_be_connected(app: Application) -> None:
    """The implicit outlet is connected like any other, and its contract is checked."""
    wired = "lost { producers = [z.dead-letters], consumers = [l.in] }"
    plan = app.plan(f"{TWO}\nl = app.Letters", f"{ONE_TOPIC}\n{wired}")
    assert plan.streamlet("z").dead_letters == "lost"
    assert [topic.id for topic in plan.topics] == ["lost", "readings"]
    wrong = app.verify(f"{TWO}\nl = app.Archive", f"{ONE_TOPIC}\n{wired}")
    assert [diagnostic.code for diagnostic in wrong.diagnostics] == ["contract-incompatible"]


def test_a_topic_cannot_take_the_id_of_dead_letters(app: Application) -> None:
    """The topic would have records with two contracts."""
    diagnostics = app.verify(TWO, ONE_TOPIC.replace("readings {", '"dead-letters.z" {')).diagnostics
    assert [diagnostic.code for diagnostic in diagnostics] == ["topic-name-clash"]


def test_later_layers_win(app: Application) -> None:
    """Code < blueprint < `flow` in the same file < files in order < arguments, for each value separately."""
    block = "z { class = app.Sensors, parameters { window = 2 minutes, rate = 1 } }\na = app.Archive"

    def window(**layers: object) -> Duration:
        value = app.plan(layers.pop("streamlets", block), ONE_TOPIC, **layers).streamlet("z").parameters["window"]  # type: ignore[arg-type]
        assert isinstance(value, Duration)
        return value

    key = "flow.streamlets.z.parameters.window"
    assert window(streamlets=TWO) == Duration(60 * SECOND)
    assert window() == Duration(120 * SECOND)
    layers: dict[str, object] = {"more": f"{key} = 3 minutes"}
    assert window(**layers) == Duration(180 * SECOND)
    layers["a.conf"] = f"{key} = 4 minutes"
    assert window(**layers) == Duration(240 * SECOND)
    layers["b.conf"] = f"{key} = 5 minutes"
    assert window(**layers) == Duration(300 * SECOND)
    layers["arguments"] = (f"{key}=6 minutes",)
    assert window(**layers) == Duration(360 * SECOND)
    assert app.plan(block, ONE_TOPIC, **layers).streamlet("z").parameters["rate"] == 1
    layers["arguments"] = (f"{key}=null",)
    assert window(**layers) == Duration(60 * SECOND)


def test_an_optional_parameter_need_not_have_a_value(app: Application) -> None:
    """It is then omitted; the environment may set it."""
    assert "rate" not in app.plan(TWO, ONE_TOPIC).streamlet("z").parameters
    plan = app.plan(TWO, ONE_TOPIC, more="flow.streamlets.z.parameters.rate = ${?RATE}")
    assert plan.streamlet("z").parameters["rate"] == 9


def test_triggers(app: Application) -> None:
    """The trigger of a query wins over that of its streamlet, which wins over that of the application."""
    settings = """
    flow.trigger { processing-time = 5 seconds }
    flow.streamlets.z { trigger = available-now, queries.join.trigger { processing-time = 0 seconds } }
    """
    plan = app.plan(TWO, ONE_TOPIC, more=settings)
    assert plan.streamlet("a").settings.trigger == ProcessingTime(Duration(5 * SECOND))
    assert plan.streamlet("z").settings.trigger == AvailableNow()
    assert plan.streamlet("z").settings.queries == {"join": ProcessingTime(Duration(0))}


def test_real_time_needs_a_channel_that_supports_it(app: Application) -> None:
    """Kafka supports real-time triggers, Delta does not."""
    settings = "flow.streamlets.a.trigger { real-time = 1 minute }"
    of_a_query = "flow.streamlets.a.queries.main.trigger { real-time = 1 minute }"
    for invalid in (settings, of_a_query):
        diagnostics = app.verify(TWO, ONE_TOPIC, more=invalid).diagnostics
        assert [diagnostic.code for diagnostic in diagnostics] == ["real-time-channel"]
    plan = app.plan(TWO, ONE_TOPIC, more=settings + "\nflow.topics.readings.channel = kafka")
    assert plan.streamlet("a").settings.trigger == RealTime(Duration(60 * SECOND))


def test_retry_settings(app: Application) -> None:
    """A streamlet's settings win over the application's; the others have their defaults."""
    settings = "flow.retry { max-attempts = 3, min-backoff = 2 seconds }, flow.streamlets.z.retry.max-attempts = 5"
    plan = app.plan(TWO, ONE_TOPIC, more=settings)
    assert plan.streamlet("z").settings.retry == Retry(max_attempts=5, min_backoff=Duration(2 * SECOND))
    assert plan.streamlet("a").settings.retry == Retry(max_attempts=3, min_backoff=Duration(2 * SECOND))


def test_spark_settings_and_the_rest(app: Application) -> None:
    """Spark's settings by their full names, however they are written; inlets, group, folders."""
    settings = """
    flow.runtimes.spark { sql.shuffle.partitions = 4, "spark.ui.enabled" = true }
    flow.streamlets.a { spark.spark.sql.ansi.enabled = no, group = g }
    flow.streamlets.a.inlets.in { max-records = 100, starting = latest }
    flow.streamlets.z { volume-mounts.tables = data, source-evolution = false }
    flow.application = storms
    flow.isolation = process
    """
    plan = app.plan(TWO, ONE_TOPIC, more=settings)
    assert (plan.name, plan.settings.isolation) == ("storms", "process")
    assert plan.settings.spark == {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "true"}
    archive, sensors = plan.streamlet("a"), plan.streamlet("z")
    assert archive.settings.spark == {"spark.sql.ansi.enabled": "no"}
    assert (archive.inlets[0].settings.max_records, archive.inlets[0].settings.starting, archive.settings.group) == (
        100,
        "latest",
        "g",
    )
    assert sensors.volume_mounts == {"tables": str(app.directory / "data")}
    assert (sensors.settings.source_evolution, archive.settings.source_evolution) == (False, True)
    assert pickle.loads(pickle.dumps(plan)) == plan, "other processes receive the plan"


def test_packages_and_jars_for_spark(app: Application) -> None:
    """Relative paths of jars start at the directory of the file that sets them."""
    settings = (
        'flow.spark { packages = ["g:a:1"], jars = [lib, /opt/x.jar] }, flow.runtimes.spark.jars.ivySettings = i.xml'
    )
    artifacts = app.plan(TWO, ONE_TOPIC, more=settings).artifacts
    assert artifacts == SparkArtifacts(("g:a:1",), (str(app.directory / "lib"), "/opt/x.jar"), "i.xml")
    (app.directory / "conf").mkdir()
    artifacts = app.plan(TWO, ONE_TOPIC, **{"conf/more.conf": "flow.spark.jars = [lib]"}).artifacts
    assert artifacts == SparkArtifacts((), (str(app.directory / "conf" / "lib"),))


def test_a_mount_has_its_declared_path_by_default(app: Application) -> None:
    """The declared directory exists."""
    assert app.plan(TWO, ONE_TOPIC).streamlet("z").volume_mounts == {"tables": "/tmp"}


def test_topic_settings(app: Application) -> None:
    """A topic has its physical name and its channel's options; settings win over the blueprint."""
    topics = ONE_TOPIC.replace(
        "readings {", "readings { channel = kafka, topic { name = raw, partitions = 3, retention.ms = 5 },"
    )
    arguments = ("flow.topics.readings.topic.partitions=7", 'flow.topics.readings.bootstrap.servers="a:1"')
    plan = app.plan(TWO, topics, arguments=arguments)
    topic = plan.topic("readings")
    assert topic.name == "raw"
    assert topic.options == {
        "topic.name": "raw", "topic.partitions": 7, "topic": {"retention.ms": 5}, "bootstrap.servers": "a:1",
    }  # fmt: skip


def test_the_report_is_the_same_each_time(app: Application) -> None:
    """No finding depends on the order of sets."""
    text = ONE_TOPIC.replace("z.readings", "zz.readings").replace("a.in", "a.on")
    first, second = app.verify(TWO, text), app.verify(TWO, text)
    assert first.diagnostics == second.diagnostics
    assert len(first.diagnostics) == 2
