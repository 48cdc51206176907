"""`ProjectCatalog`: descriptors of a project's classes, or the reason why a class cannot be described."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from blueprint.catalog import (
    LoadFailure,
    LoadFailureKind,
    ParameterType,
    PortSetting,
    StreamletDescriptor,
    StreamletRequest,
)
from blueprint.diagnostics import Span
from streamlets.project.catalog import ProjectCatalog

HEAD = "from streamlets import *\n\n"
LOGIC = """
    class Logic(SparkStreamletLogic["X"]):
        def build_streaming_queries(self):
            return []
"""
Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a function that writes files of a project and returns its directory."""
    monkeypatch.chdir(tmp_path)

    def write(files: dict[str, str] | None = None) -> Path:
        for name, text in (files or {}).items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text), encoding="utf-8")
        return tmp_path

    return write


def streamlet(name: str = "Average", body: str = "    pass\n", base: str = "SparkStreamlet") -> str:
    """Return the source of a module with one streamlet."""
    return f"{HEAD}class {name}({base}):\n{textwrap.indent(textwrap.dedent(body), '    ')}{LOGIC}"


def describe(directory: Path, class_name: str, **settings: Any) -> StreamletDescriptor | LoadFailure:
    """Return the catalog's answer for a class."""
    return ProjectCatalog().describe(StreamletRequest("one", class_name, str(directory), **settings))


def described(directory: Path, class_name: str, **settings: dict[str, PortSetting]) -> StreamletDescriptor:
    """Return the descriptor of a class without a failure."""
    descriptor = describe(directory, class_name, **settings)
    assert isinstance(descriptor, StreamletDescriptor), descriptor
    return descriptor


def failed(directory: Path, class_name: str) -> LoadFailure:
    """Return the failure for a class."""
    failure = describe(directory, class_name)
    assert isinstance(failure, LoadFailure), failure
    return failure


def test_a_streamlet_is_described_in_full(project: Project) -> None:
    """Ports and parameters are sorted, and have schemas, descriptions and the places of their declarations."""
    directory = project(
        {
            "weather.py": streamlet(
                body='''
                """Mean of each gauge.

                And more."""
                labels = ("hot",)
                window = DurationParameter("Length", default="1 minute")
                code = RegExpParameter("Code", "[A-Z]+", key="the-code")
                readings = AvroInlet(schema="schemas/Reading.avsc")
                averages = AvroOutlet(schema="src string", partition_by="src", on_invalid="dead-letters", extra="drop")
                bad = AvroOutlet(schema="src string")
                models = VolumeMount(path="/models", access_mode="ReadOnlyMany")
                '''
            ),
            "schemas/Reading.avsc": '{"type": "record", "name": "Reading", "fields": [{"name": "a", "type": "int"}]}',
        }
    )
    average = described(directory, "weather.Average")
    assert (average.class_name, average.description, average.labels) == (
        "weather.Average",
        "Mean of each gauge.",
        ("hot",),
    )
    assert average.declared == Span("weather.py", 3, 7, 3, 14)
    (readings,) = average.inlets
    assert readings.contract is not None and readings.contract.record.name == "Reading"
    assert (readings.attribute, readings.declared.line, readings.problems) == ("readings", 11, ())
    averages, bad = average.outlets
    assert (averages.name, averages.partition_by) == ("averages", ("src",))
    assert (averages.on_invalid, averages.extra) == ("dead-letters", "drop")
    assert (bad.name, bad.on_invalid, bad.extra) == ("bad", "fail", "fail")
    code, window = average.parameters
    assert (code.key, code.type, code.pattern, code.default) == ("the-code", ParameterType.REGEXP, "[A-Z]+", None)
    assert (window.key, window.default, window.description) == ("window", "1 minute", "Length")
    assert [(m.name, m.path, m.access_mode) for m in average.volume_mounts] == [("models", "/models", "ReadOnlyMany")]


def test_modules_are_in_the_directory_or_in_its_src(project: Project) -> None:
    """The directory has precedence; packages work in both, and schemas are next to the declaring file."""
    outlet = 'out = AvroOutlet(schema="Out.avsc")'
    record = '{"type": "record", "name": "%s", "fields": [{"name": "a", "type": "int"}]}'
    directory = project(
        {
            "src/deep/__init__.py": "",
            "src/deep/weather.py": streamlet(body=outlet),
            "src/deep/Out.avsc": record % "FromSrc",
            "both.py": streamlet(body=outlet),
            "Out.avsc": record % "FromDirectory",
            "src/both.py": streamlet(body="out = AvroOutlet(schema='a int')"),
        }
    )
    names = [described(directory, name).outlets[0].contract for name in ("deep.weather.Average", "both.Average")]
    assert [contract.record.name for contract in names if contract] == ["FromSrc", "FromDirectory"]


def test_two_projects_may_have_modules_with_the_same_name(tmp_path: Path) -> None:
    """Each project gets its own module, also when a module of it imports it."""
    for name in ("one", "two"):
        directory = tmp_path / name
        directory.mkdir()
        (directory / "shared.py").write_text(f"NAME = '{name}'\n")
        body = "out = AvroOutlet(shared.NAME, schema='a int')"
        (directory / "weather.py").write_text("import shared\n" + streamlet(body=body))
    names = [described(tmp_path / name, "weather.Average").outlets[0].name for name in ("one", "two", "one")]
    assert names == ["one", "two", "one"]


def test_a_schema_may_come_from_the_configuration(project: Project) -> None:
    """A port without a schema gets that of the configuration, relative to the file that sets it."""
    directory = project(
        {
            "weather.py": streamlet(body="in_ = AvroInlet('in')"),
            "conf/R.avsc": '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}',
        }
    )
    setting = PortSetting("R.avsc", Span("conf/blueprint.conf", 3, 1, 3, 5))
    (inlet,) = described(directory, "weather.Average", inlets={"in": setting}).inlets
    assert inlet.contract is not None and inlet.contract.record.name == "R"


def test_a_port_needs_exactly_one_schema(project: Project) -> None:
    """A missing and a duplicate schema are one finding each, with what to add or remove."""
    directory = project({"weather.py": streamlet(body="a = AvroInlet()\nb = AvroInlet(schema='x int')")})
    setting = PortSetting("y int", Span("blueprint.conf", 3, 1, 3, 5))
    missing, twice = described(directory, "weather.Average", inlets={"b": setting}).inlets
    assert [problem.code for problem in missing.problems] == ["schema-missing"]
    assert missing.problems[0].help == ("set one next to `class`, such as `inlets.a = schemas/Record.avsc`",)
    assert [problem.code for problem in twice.problems] == ["schema-given-twice"]
    assert twice.problems[0].primary is not None and twice.problems[0].primary.span == setting.span


def test_findings_of_a_schema_belong_to_the_port(project: Project) -> None:
    """A missing schema file and a schema that Spark does not support are findings of the port, not failures."""
    loop = {"type": "record", "name": "L", "fields": [{"name": "l", "type": ["null", "L"]}]}
    directory = project(
        {"weather.py": streamlet(body=f"a = AvroInlet(schema='no.avsc')\nb = AvroInlet(schema={loop})")}
    )
    a, b = described(directory, "weather.Average").inlets
    assert [problem.code for problem in a.problems] == ["schema-not-found"]
    assert [problem.code for problem in b.problems] == ["schema-unsupported-by-spark"]


def test_a_missing_module_has_suggestions(project: Project) -> None:
    """The suggestions do not import modules of the project."""
    directory = project({"weather.py": streamlet(), "raises.py": "1 / 0\n" + streamlet("Other")})
    failure = failed(directory, "wether.Average")
    assert (failure.kind, failure.message) == (LoadFailureKind.MODULE_NOT_FOUND, "there is no module `wether`")
    assert failure.near == ("weather.Average",)
    assert failed(directory, "Average").near == ("weather.Average",)
    assert failed(directory, "weather.deeper.Average").message == "there is no module `weather.deeper`"


def test_a_missing_class_has_suggestions(project: Project) -> None:
    """Classes of the module come first, then classes of other modules with the same name."""
    directory = project({"weather.py": streamlet("Average"), "src/other.py": streamlet("Averages")})
    failure = failed(directory, "weather.Averages")
    assert (failure.kind, failure.near) == (LoadFailureKind.CLASS_NOT_FOUND, ("weather.Average", "other.Averages"))


def test_a_class_path_must_refer_to_a_streamlet(project: Project) -> None:
    """Another class and a value are failures."""
    directory = project({"weather.py": "class Plain:\n    pass\n\nvalue = 5\n"})
    plain, value = failed(directory, "weather.Plain"), failed(directory, "weather.value")
    assert plain.kind is value.kind is LoadFailureKind.NOT_A_STREAMLET
    assert plain.message == "the class `weather.Plain` is not a `SparkStreamlet`"
    assert plain.declared == Span("weather.py", 1, 7, 1, 12)
    assert value.message == "`weather.value` is not a class, but 5"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("class X(SparkStreamlet):\n    pass\n", "it has no class `Logic`"),
        ("class X(SparkStreamlet):\n    class Logic:\n        pass\n", "its `Logic` is not a `SparkStreamletLogic`"),
        (
            'class X(SparkStreamlet):\n    class Logic(SparkStreamletLogic["X"]):\n        pass\n',
            "its `Logic` does not define `build_streaming_queries`",
        ),
        (
            "import abc\nclass X(SparkStreamlet, abc.ABC):\n    @abc.abstractmethod\n    def more(self): ...\n",
            "it does not define `more`",
        ),
    ],
)
def test_a_class_that_cannot_run_is_abstract(project: Project, text: str, reason: str) -> None:
    """The message has what is missing."""
    failure = failed(project({"weather.py": HEAD + text}), "weather.X")
    assert (failure.kind, failure.message) == (LoadFailureKind.ABSTRACT, f"`weather.X` is abstract: {reason}")


def test_an_error_of_a_module_has_frames_of_the_project_only(project: Project) -> None:
    """Frames of the framework, the import system and libraries are omitted."""
    directory = project({"weather.py": "import helper\n", "helper.py": "import json\nx = 1; json.loads('{')\n"})
    failure = failed(directory, "weather.Average")
    assert failure.kind is LoadFailureKind.MODULE_RAISES
    assert failure.message.startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert [(frame.span.file, frame.span.line, frame.span.column) for frame in failure.frames] == [
        ("weather.py", 1, 1),
        ("helper.py", 2, 8),
    ]


def test_a_syntax_error_has_its_place(project: Project) -> None:
    """The last frame is the place of the syntax error."""
    failure = failed(project({"weather.py": "x = 1\ndef f(:\n    pass\n"}), "weather.Average")
    assert (failure.kind, failure.message) == (LoadFailureKind.MODULE_RAISES, "SyntaxError: invalid syntax")
    assert failure.frames[-1].span == Span("weather.py", 2, 7, 2, 8)


def test_a_missing_library_is_not_a_missing_module(project: Project) -> None:
    """The module of the class exists, but a module that it imports does not."""
    failure = failed(project({"weather.py": "import missing_library\n"}), "weather.Average")
    assert (failure.kind, failure.near) == (LoadFailureKind.MODULE_RAISES, ())
    assert failure.message == "ModuleNotFoundError: No module named 'missing_library'"


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "import sys; sys.setrecursionlimit(90)\nf = lambda: f()\nf()"])
def test_a_module_that_exits_or_recurses_is_a_failure(project: Project, text: str) -> None:
    """No error of the author's code stops the catalog; the number of frames is limited."""
    limit = sys.getrecursionlimit()
    try:
        failure = failed(project({"weather.py": text + "\n"}), "weather.Average")
    finally:
        sys.setrecursionlimit(limit)
    assert failure.kind is LoadFailureKind.MODULE_RAISES
    assert 1 <= len(failure.frames) <= 12


def test_an_error_of_a_constructor_has_its_frames(project: Project) -> None:
    """It has the place of the class, too."""
    directory = project({"weather.py": streamlet(body="def __init__(self):\n    self.x = 1 / 0")})
    failure = failed(directory, "weather.Average")
    assert (failure.kind, failure.message) == (
        LoadFailureKind.CONSTRUCTOR_RAISES,
        "ZeroDivisionError: division by zero",
    )
    assert [(frame.function, frame.span.line) for frame in failure.frames] == [("Average.__init__", 5)]
    assert failure.declared == Span("weather.py", 3, 7, 3, 14)


def test_a_constructor_with_arguments_is_a_failure(project: Project) -> None:
    """Streamlets are created without arguments."""
    directory = project({"weather.py": streamlet(body="def __init__(self, size):\n    pass")})
    failure = failed(directory, "weather.Average")
    assert failure.kind is LoadFailureKind.CONSTRUCTOR_RAISES
    assert "missing 1 required positional argument: 'size'" in failure.message


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ('"x"', "`check_parameters` must return items of type `ParameterProblem`, found `str`"),
        ('ParameterProblem("rate", "bad")', "the path of a `ParameterProblem` must be a tuple of keys, found 'rate'"),
        ('ParameterProblem((), "bad")', "the path of a `ParameterProblem` must be a tuple of keys, found ()"),
        ('ParameterProblem((5,), "bad")', "the path of a `ParameterProblem` must be a tuple of keys, found (5,)"),
    ],
)
def test_invalid_problems_of_parameters_are_a_failure(project: Project, item: str, message: str) -> None:
    """The message has the mistake in the author's `check_parameters`."""
    body = f"def check_parameters(self, values):\n    return [{item}]\n"
    failure = failed(project({"app.py": streamlet("Checked", body)}), "app.Checked")
    assert failure.kind is LoadFailureKind.CHECK_RAISES
    assert failure.message == message


def test_a_kind_is_not_only_a_name(project: Project) -> None:
    """The language asks the traits of a kind."""
    module = 'from streamlets import AvroOutlet, Streamlet\n\nclass A(Streamlet):\n    kind = "a"\n'
    failure = failed(project({"app.py": module}), "app.A")
    assert failure.message == "the kind of `A` is a `str`, not a `Kind`"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("None", "`external_resources` must return `ExternalResources`, found `NoneType`"),
        (
            'ExternalResources(problems=("x",))',
            "`external_resources` must return items of type `ParameterProblem`, found `str`",
        ),
    ],
)
def test_an_invalid_answer_about_external_resources_is_a_failure(project: Project, answer: str, message: str) -> None:
    """The message has the mistake in the author's `external_resources`."""
    body = f"def external_resources(self, configuration):\n    return {answer}\n"
    failure = failed(project({"app.py": streamlet("Checked", body)}), "app.Checked")
    assert (failure.kind, failure.message) == (LoadFailureKind.CHECK_RAISES, message)


def test_a_notice_about_parameters_does_not_hide_what_the_streamlet_writes(project: Project) -> None:
    """`flow verify` shows when a cron expression fires next, and still compares the directories."""
    body = """
from dataclasses import replace
from streamlets import AvroOutlet, BatchSource, ObjectParameter, WrittenDirectory

class Pages(BatchSource):
    out = AvroOutlet(schema="id long")
    discovery = ObjectParameter("", default={"triggerer": "cron", "config": {"expression": "0 6 * * *"}})
    discover = prepare = read_next = lambda *arguments: None

    def external_resources(self, configuration):
        directories = (WrittenDirectory(("discovery",), "copies"),)
        return replace(super().external_resources(configuration), directories=directories)
"""
    directory = project({"app.py": body})
    external = described(directory, "app.Pages").external
    assert [finding.code for finding in external.findings] == ["discovery-next"]
    assert [written.directory for written in external.directories] == [str(Path(directory).absolute() / "copies")]


def test_an_error_of_a_shape_is_a_failure(project: Project) -> None:
    """It has the frames of the author's property."""
    body = "@property\ndef shape(self):\n    return StreamletShape(self.nothing)"
    failure = failed(project({"weather.py": streamlet(body=body)}), "weather.Average")
    assert failure.kind is LoadFailureKind.SHAPE_RAISES
    assert failure.message == "AttributeError: 'Average' object has no attribute 'nothing'"
    assert failure.frames[-1].function == "Average.shape"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("StreamletShape(a)", "does not have `b`, which the class declares"),
        ("StreamletShape(a, b, AvroInlet('c', schema='x int'))", "has AvroInlet('c'), which is not an attribute of"),
        ("StreamletShape(a, b, b)", "has a duplicate port"),
        ("[a, b]", "is a `list`, not a `StreamletShape`"),
    ],
)
def test_a_shape_must_consist_of_the_ports(project: Project, shape: str, message: str) -> None:
    """A shape in the class is compared with the declared ports."""
    body = f"a = AvroInlet(schema='x int')\nb = AvroOutlet(schema='x int')\nshape = {shape}"
    failure = failed(project({"weather.py": streamlet(body=body)}), "weather.Average")
    assert failure.kind is LoadFailureKind.SHAPE_DIFFERS
    assert failure.message.startswith("the shape of `Average`") and message in failure.message


def failure_in_process(directory: Path, class_name: str, before: str = "") -> list[str]:
    """Return kind, message and place of a failure, and the lines of its frames, in a new process that imports `cli`."""
    code = f"""
import cli
{before}
from blueprint.catalog import StreamletRequest
from streamlets.project.catalog import ProjectCatalog
failure = ProjectCatalog().describe(StreamletRequest("one", {class_name!r}, {str(directory)!r}))
print(failure.kind, failure.message, failure.declared, [frame.span.line for frame in failure.frames], sep="|")
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=directory)
    return done.stdout.strip().split("|")


@pytest.mark.parametrize("name", ["blueprint", "cli", "streamlets"])
def test_a_module_with_the_name_of_a_framework_package_is_a_failure(project: Project, name: str) -> None:
    """The message explains what to do."""
    kind, message, declared, _ = failure_in_process(project({f"src/{name}.py": streamlet()}), f"{name}.Average")
    assert kind == "module-shadowed"
    assert message == f"the module `{name}` of the project has the name of a package of the framework: rename it"
    assert f"src/{name}.py" in declared


def test_a_cli_module_is_a_failure_only_if_it_is_imported(project: Project) -> None:
    """A project may have a command of its own; a streamlet's module that imports it would get that of the framework."""
    directory = project(
        {"cli.py": "x = 1\n", "weather.py": streamlet(), "uses.py": "from cli import x\n" + streamlet()}
    )
    assert isinstance(describe(directory, "weather.Average"), StreamletDescriptor)
    kind, message, *_ = failure_in_process(directory, "uses.Average")
    assert kind == "module-shadowed" and "that `uses.py` imports" in message


def test_a_module_with_the_name_of_a_loaded_library_is_a_failure(project: Project) -> None:
    """Python would import the library's module."""
    kind, message, *_ = failure_in_process(project({"json.py": streamlet()}), "json.Average", before="import json")
    assert kind == "module-shadowed" and "a module that is already loaded" in message


def test_a_module_cannot_start_spark_during_its_import(project: Project) -> None:
    """The failure has the author's line, and no Java process is started."""
    text = "from pyspark.sql import SparkSession\n\nspark = SparkSession.builder.getOrCreate()\n" + streamlet()
    directory = project({"weather.py": text})
    kind, message, _, lines = failure_in_process(
        directory, "weather.Average", before="import os; os.environ['PATH'] = ''"
    )
    assert kind == "module-raises" and lines == "[3]"
    assert message.startswith("the module `weather` starts a Spark session during its import")


def test_classes_may_be_loaded_by_several_threads(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarts load them concurrently; the environment is restored."""
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4711")
    directory = project({f"m{n}.py": "import time; time.sleep(0.01)\n" + streamlet() for n in range(8)})
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: describe(directory, f"m{n}.Average"), range(8)))
    assert all(isinstance(answer, StreamletDescriptor) for answer in answers)
    assert os.environ["PYSPARK_GATEWAY_PORT"] == "4711"


def test_a_class_is_described_once_for_several_streamlets(project: Project) -> None:
    """Streamlets with the same class share its descriptor."""
    catalog = ProjectCatalog()
    directory = project({"weather.py": streamlet()})
    first = catalog.describe(StreamletRequest("one", "weather.Average", str(directory)))
    assert catalog.describe(StreamletRequest("two", "weather.Average", str(directory))) is first


def test_classes_of_a_project_are_found_without_imports(project: Project) -> None:
    """Aliases, base classes in other modules and packages are resolved; abstract and other classes are omitted."""
    directory = project(
        {
            "a.py": "1 / 0\n" + streamlet("First"),
            "b.py": f"import streamlets as s\n\nclass Second(s.SparkStreamlet):{LOGIC}",
            "c.py": "from streamlets import SparkStreamlet as S\n\nclass Base(S):\n    pass\n\n"
            f"class Third(Base):{LOGIC}",
            "src/pack/__init__.py": "from .inner import Base\n",
            "src/pack/inner.py": f"import c\n\nclass Base(c.Third):\n    pass\n\nclass Plain:{LOGIC}",
            "src/pack/more.py": "from .inner import Base\n\nclass Fourth(Base):\n    pass\n",
            "broken.py": "def f(:\n",
            ".venv/lib/d.py": streamlet("Hidden"),
            "e.txt": "class",
        }
    )
    assert ProjectCatalog().classes(str(directory)) == (
        "a.First",
        "b.Second",
        "c.Third",
        "pack.inner.Base",
        "pack.more.Fourth",
    )


def test_classes_of_kinds_without_spark_are_found(project: Project) -> None:
    """A class that sets its kind can run, and so can those that inherit from it; others have no kind."""
    poller = "import streamlets\n\nclass Poller(streamlets.Streamlet):\n    kind = 'poller'\n"
    directory = project(
        {
            "a.py": poller + "\nclass Mine(Poller):\n    pass\n",
            "b.py": "from streamlets import Streamlet\n\nclass Plain(Streamlet):\n    pass\n",
            "c.py": "class Other:\n    kind = 'poller'\n",
        }
    )
    catalog = ProjectCatalog()
    assert catalog.classes(str(directory)) == ("a.Mine", "a.Poller")
    assert [path for path, _ in catalog.unused(str(directory), ())] == ["a.Mine"]


def test_a_missing_directory_has_no_classes(tmp_path: Path) -> None:
    """The catalog does not raise an error."""
    assert ProjectCatalog().classes(str(tmp_path / "none")) == ()


def test_large_data_files_are_not_searched_for_class_names(project: Project) -> None:
    """They are not blueprints, and reading them would take longer than the rest of the command."""
    directory = project({"a.py": streamlet("First"), "b.py": streamlet("Second"), "c.conf": "x = b.Second"})
    (directory / "data.json").write_text('"a.First"' + " " * 2_000_000)
    assert [path for path, _ in ProjectCatalog().unused(str(directory), ())] == ["a.First"]


def test_a_missing_directory_has_no_unused_classes(tmp_path: Path) -> None:
    """The catalog does not raise an error."""
    assert ProjectCatalog().unused(str(tmp_path / "none"), ()) == ()


def test_the_line_of_a_class_is_that_of_python(project: Project) -> None:
    """A form feed or a Unicode line separator does not end a line."""
    directory = project({"fed.py": "A = 1\n\x0c\nB = '\u2028'\n" + streamlet("Fed")})
    assert described(directory, "fed.Fed").declared == Span("fed.py", 6, 7, 6, 10)
