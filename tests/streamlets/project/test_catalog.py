"""`ProjectCatalog`: a project's classes described, or the one reason why one cannot be."""

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
    """Writes a project's files; a streamlet `weather.Average` is there unless the test writes its own."""
    monkeypatch.chdir(tmp_path)

    def write(files: dict[str, str] | None = None) -> Path:
        for name, text in (files or {}).items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text), encoding="utf-8")
        return tmp_path

    return write


def streamlet(name: str = "Average", body: str = "    pass\n", base: str = "SparkStreamlet") -> str:
    """A module with one streamlet."""
    return f"{HEAD}class {name}({base}):\n{textwrap.indent(textwrap.dedent(body), '    ')}{LOGIC}"


def describe(folder: Path, class_name: str, **settings: Any) -> StreamletDescriptor | LoadFailure:
    """What the catalog says of a class."""
    return ProjectCatalog().describe(StreamletRequest("one", class_name, str(folder), **settings))


def described(folder: Path, class_name: str, **settings: dict[str, PortSetting]) -> StreamletDescriptor:
    """The descriptor, which must be there."""
    found = describe(folder, class_name, **settings)
    assert isinstance(found, StreamletDescriptor), found
    return found


def failed(folder: Path, class_name: str) -> LoadFailure:
    """The failure, which must be there."""
    found = describe(folder, class_name)
    assert isinstance(found, LoadFailure), found
    return found


def test_a_streamlet_is_described_in_full(project: Project) -> None:
    """Ports and parameters sorted, with schemas, descriptions and the places of their declarations."""
    folder = project(
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
    found = described(folder, "weather.Average")
    assert (found.class_name, found.description, found.labels) == ("weather.Average", "Mean of each gauge.", ("hot",))
    assert found.declared == Span("weather.py", 3, 7, 3, 14)
    (readings,) = found.inlets
    assert readings.contract is not None and readings.contract.record.name == "Reading"
    assert (readings.attribute, readings.declared.line, readings.problems) == ("readings", 11, ())
    averages, bad = found.outlets
    assert (averages.name, averages.partition_by) == ("averages", ("src",))
    assert (averages.on_invalid, averages.extra) == ("dead-letters", "drop")
    assert (bad.name, bad.on_invalid, bad.extra) == ("bad", "fail", "fail")
    code, window = found.parameters
    assert (code.key, code.type, code.pattern, code.default) == ("the-code", ParameterType.REGEXP, "[A-Z]+", None)
    assert (window.key, window.default, window.description) == ("window", "1 minute", "Length")
    assert [(m.name, m.path, m.access_mode) for m in found.volume_mounts] == [("models", "/models", "ReadOnlyMany")]


def test_modules_are_found_in_the_folder_then_in_its_src(project: Project) -> None:
    """The folder comes first; packages work in both, and schemas are looked for beside the declaring file."""
    outlet = 'out = AvroOutlet(schema="Out.avsc")'
    record = '{"type": "record", "name": "%s", "fields": [{"name": "a", "type": "int"}]}'
    folder = project(
        {
            "src/deep/__init__.py": "",
            "src/deep/weather.py": streamlet(body=outlet),
            "src/deep/Out.avsc": record % "FromSrc",
            "both.py": streamlet(body=outlet),
            "Out.avsc": record % "FromFolder",
            "src/both.py": streamlet(body="out = AvroOutlet(schema='a int')"),
        }
    )
    names = [described(folder, name).outlets[0].contract for name in ("deep.weather.Average", "both.Average")]
    assert [contract.record.name for contract in names if contract] == ["FromSrc", "FromFolder"]


def test_two_projects_may_have_modules_of_one_name(tmp_path: Path) -> None:
    """Each project gets its own module, also through imports of further modules."""
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "shared.py").write_text(f"NAME = '{name}'\n")
        body = "out = AvroOutlet(shared.NAME, schema='a int')"
        (folder / "weather.py").write_text("import shared\n" + streamlet(body=body))
    found = [described(tmp_path / name, "weather.Average").outlets[0].name for name in ("one", "two", "one")]
    assert found == ["one", "two", "one"]


def test_a_schema_may_come_from_the_configuration(project: Project) -> None:
    """A port without a schema takes the configuration's, relative to the file that says it."""
    folder = project(
        {
            "weather.py": streamlet(body="in_ = AvroInlet('in')"),
            "conf/R.avsc": '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}',
        }
    )
    setting = PortSetting("R.avsc", Span("conf/blueprint.conf", 3, 1, 3, 5))
    (inlet,) = described(folder, "weather.Average", inlets={"in": setting}).inlets
    assert inlet.contract is not None and inlet.contract.record.name == "R"


def test_a_schema_that_nobody_gives_or_both_give_is_a_finding(project: Project) -> None:
    """One finding each, with what to write or take out."""
    folder = project({"weather.py": streamlet(body="a = AvroInlet()\nb = AvroInlet(schema='x int')")})
    setting = PortSetting("y int", Span("blueprint.conf", 3, 1, 3, 5))
    missing, twice = described(folder, "weather.Average", inlets={"b": setting}).inlets
    assert [problem.code for problem in missing.problems] == ["schema-missing"]
    assert missing.problems[0].help == ("give one beside `class`, such as `inlets.a = schemas/Record.avsc`",)
    assert [problem.code for problem in twice.problems] == ["schema-given-twice"]
    assert twice.problems[0].primary is not None and twice.problems[0].primary.span == setting.span


def test_findings_of_a_schema_are_the_ports(project: Project) -> None:
    """A schema file that is missing, and one that Spark cannot carry, are findings of the port, not failures."""
    loop = {"type": "record", "name": "L", "fields": [{"name": "l", "type": ["null", "L"]}]}
    folder = project({"weather.py": streamlet(body=f"a = AvroInlet(schema='no.avsc')\nb = AvroInlet(schema={loop})")})
    a, b = described(folder, "weather.Average").inlets
    assert [problem.code for problem in a.problems] == ["schema-not-found"]
    assert [problem.code for problem in b.problems] == ["schema-unsupported-by-spark"]


def test_a_missing_module_is_told_with_the_class_that_is_near(project: Project) -> None:
    """Nothing of the project is imported for the suggestion."""
    folder = project({"weather.py": streamlet(), "raises.py": "1 / 0\n" + streamlet("Other")})
    failure = failed(folder, "wether.Average")
    assert (failure.kind, failure.message) == (LoadFailureKind.MODULE_NOT_FOUND, "there is no module `wether`")
    assert failure.near == ("weather.Average",)
    assert failed(folder, "Average").near == ("weather.Average",)
    assert failed(folder, "weather.deeper.Average").message == "there is no module `weather.deeper`"


def test_a_missing_class_is_told_with_the_class_that_is_near(project: Project) -> None:
    """Classes of the module come first, then the same name elsewhere."""
    folder = project({"weather.py": streamlet("Average"), "src/other.py": streamlet("Averages")})
    failure = failed(folder, "weather.Averages")
    assert (failure.kind, failure.near) == (LoadFailureKind.CLASS_NOT_FOUND, ("weather.Average", "other.Averages"))


def test_what_is_no_streamlet_is_told(project: Project) -> None:
    """A class of another base, and something that is no class."""
    folder = project({"weather.py": "class Plain:\n    pass\n\nvalue = 5\n"})
    plain, value = failed(folder, "weather.Plain"), failed(folder, "weather.value")
    assert plain.kind is value.kind is LoadFailureKind.NOT_A_STREAMLET
    assert plain.message == "`weather.Plain` is a class, but no `SparkStreamlet`"
    assert plain.declared == Span("weather.py", 1, 7, 1, 12)
    assert value.message == "`weather.value` is no class, but 5"


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("class X(SparkStreamlet):\n    pass\n", "it has no class `Logic`"),
        ("class X(SparkStreamlet):\n    class Logic:\n        pass\n", "its `Logic` is no `SparkStreamletLogic`"),
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
def test_a_class_that_cannot_run_is_abstract(project: Project, text: str, lacking: str) -> None:
    """What it lacks is named."""
    failure = failed(project({"weather.py": HEAD + text}), "weather.X")
    assert (failure.kind, failure.message) == (LoadFailureKind.ABSTRACT, f"`weather.X` is abstract: {lacking}")


def test_a_module_that_raises_shows_the_users_frames_only(project: Project) -> None:
    """Neither ours, nor the import system's, nor a library's frames."""
    folder = project({"weather.py": "import helper\n", "helper.py": "import json\nx = 1; json.loads('{')\n"})
    failure = failed(folder, "weather.Average")
    assert failure.kind is LoadFailureKind.MODULE_RAISES
    assert failure.message.startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert [(frame.span.file, frame.span.line, frame.span.column) for frame in failure.frames] == [
        ("weather.py", 1, 1),
        ("helper.py", 2, 8),
    ]


def test_a_syntax_error_is_shown_at_its_place(project: Project) -> None:
    """The frame of a module that cannot be compiled is the place of the error."""
    failure = failed(project({"weather.py": "x = 1\ndef f(:\n    pass\n"}), "weather.Average")
    assert (failure.kind, failure.message) == (LoadFailureKind.MODULE_RAISES, "SyntaxError: invalid syntax")
    assert failure.frames[-1].span == Span("weather.py", 2, 7, 2, 8)


def test_a_missing_library_is_not_a_missing_module(project: Project) -> None:
    """The module asked for is there; what it imports is not."""
    failure = failed(project({"weather.py": "import there_is_no_such_library\n"}), "weather.Average")
    assert (failure.kind, failure.near) == (LoadFailureKind.MODULE_RAISES, ())
    assert failure.message == "ModuleNotFoundError: No module named 'there_is_no_such_library'"


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "import sys; sys.setrecursionlimit(90)\nf = lambda: f()\nf()"])
def test_a_module_that_exits_or_recurses_is_only_a_failure(project: Project, text: str) -> None:
    """Whatever the author's code raises, the catalog answers; endless frames are cut."""
    limit = sys.getrecursionlimit()
    try:
        failure = failed(project({"weather.py": text + "\n"}), "weather.Average")
    finally:
        sys.setrecursionlimit(limit)
    assert failure.kind is LoadFailureKind.MODULE_RAISES
    assert 1 <= len(failure.frames) <= 12


def test_a_constructor_that_raises_shows_its_frames(project: Project) -> None:
    """And where the class stands."""
    folder = project({"weather.py": streamlet(body="def __init__(self):\n    self.x = 1 / 0")})
    failure = failed(folder, "weather.Average")
    assert (failure.kind, failure.message) == (
        LoadFailureKind.CONSTRUCTOR_RAISES,
        "ZeroDivisionError: division by zero",
    )
    assert [(frame.function, frame.span.line) for frame in failure.frames] == [("Average.__init__", 5)]
    assert failure.declared == Span("weather.py", 3, 7, 3, 14)


def test_a_constructor_with_arguments_is_told(project: Project) -> None:
    """Streamlets are made without arguments."""
    folder = project({"weather.py": streamlet(body="def __init__(self, size):\n    pass")})
    failure = failed(folder, "weather.Average")
    assert failure.kind is LoadFailureKind.CONSTRUCTOR_RAISES
    assert "missing 1 required positional argument: 'size'" in failure.message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('"x"', "gives a `str`, which is no `ParameterProblem`"),
        ('ParameterProblem("rate", "bad")', "gives a problem of 'rate', where a tuple of keys should be"),
        ('ParameterProblem((), "bad")', "gives a problem of (), where a tuple of keys should be"),
        ('ParameterProblem((5,), "bad")', "gives a problem of (5,), where a tuple of keys should be"),
    ],
)
def test_problems_of_parameters_that_are_none_are_told(project: Project, given: str, message: str) -> None:
    """The author's slip is told with the class, and no report is made of it."""
    body = f"def check_parameters(self, values):\n    return [{given}]\n"
    failure = failed(project({"app.py": streamlet("Checked", body)}), "app.Checked")
    assert failure.kind is LoadFailureKind.CHECK_RAISES
    assert failure.message == f"`check_parameters` {message}"


def test_a_shape_that_raises_is_told(project: Project) -> None:
    """The author's property, with its frames."""
    body = "@property\ndef shape(self):\n    return StreamletShape(self.nothing)"
    failure = failed(project({"weather.py": streamlet(body=body)}), "weather.Average")
    assert failure.kind is LoadFailureKind.SHAPE_RAISES
    assert failure.message == "AttributeError: 'Average' object has no attribute 'nothing'"
    assert failure.frames[-1].function == "Average.shape"


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("StreamletShape(a)", "leaves out `b`, which the class declares"),
        ("StreamletShape(a, b, AvroInlet('c', schema='x int'))", "holds AvroInlet('c'), which is no attribute of"),
        ("StreamletShape(a, b, b)", "holds a port twice"),
        ("[a, b]", "is a `list`, not a `StreamletShape`"),
    ],
)
def test_a_shape_that_is_not_made_of_the_ports_is_told(project: Project, shape: str, message: str) -> None:
    """A given shape is checked against the declared ports."""
    body = f"a = AvroInlet(schema='x int')\nb = AvroOutlet(schema='x int')\nshape = {shape}"
    failure = failed(project({"weather.py": streamlet(body=body)}), "weather.Average")
    assert failure.kind is LoadFailureKind.SHAPE_DIFFERS
    assert failure.message.startswith("the shape of `Average`") and message in failure.message


def in_a_process(folder: Path, class_name: str, before: str = "") -> list[str]:
    """The failure's kind, message and place as a process of its own has it, with the command's package loaded."""
    code = f"""
import cli
{before}
from blueprint.catalog import StreamletRequest
from streamlets.project.catalog import ProjectCatalog
found = ProjectCatalog().describe(StreamletRequest("one", {class_name!r}, {str(folder)!r}))
print(found.kind, found.message, found.declared, [frame.span.line for frame in found.frames], sep="|")
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.strip().split("|")


@pytest.mark.parametrize("name", ["blueprint", "cli", "streamlets"])
def test_a_users_module_called_like_ours_is_told(project: Project, name: str) -> None:
    """Whichever of the packages it is, and wherever it stands, with the remedy."""
    kind, message, declared, _ = in_a_process(project({f"src/{name}.py": streamlet()}), f"{name}.Average")
    assert kind == "module-shadowed"
    assert message == f"the module `{name}` of the project is called like a package of the framework: rename it"
    assert f"src/{name}.py" in declared


def test_a_cli_module_that_nobody_imports_does_no_harm(project: Project) -> None:
    """A project may have a command of its own; importing it from a streamlet's module would get ours."""
    folder = project({"cli.py": "x = 1\n", "weather.py": streamlet(), "uses.py": "from cli import x\n" + streamlet()})
    assert isinstance(describe(folder, "weather.Average"), StreamletDescriptor)
    kind, message, *_ = in_a_process(folder, "uses.Average")
    assert kind == "module-shadowed" and "`uses.py` imports it" in message


def test_a_users_module_called_like_a_loaded_library_is_told(project: Project) -> None:
    """Python would give the library's module."""
    kind, message, *_ = in_a_process(project({"json.py": streamlet()}), "json.Average", before="import json")
    assert kind == "module-shadowed" and "a module that is loaded already" in message


def test_a_module_that_starts_spark_when_imported_is_told_and_starts_nothing(project: Project) -> None:
    """The line is the author's, and no Java process is launched."""
    text = "from pyspark.sql import SparkSession\n\nspark = SparkSession.builder.getOrCreate()\n" + streamlet()
    folder = project({"weather.py": text})
    kind, message, _, lines = in_a_process(folder, "weather.Average", before="import os; os.environ['PATH'] = ''")
    assert kind == "module-raises" and lines == "[3]"
    assert message.startswith("the module `weather` starts a Spark session while it is imported")


def test_classes_may_be_loaded_from_many_threads_at_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restarts load them concurrently; the environment is left as it was found."""
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "4711")
    folder = project({f"m{n}.py": "import time; time.sleep(0.01)\n" + streamlet() for n in range(8)})
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: describe(folder, f"m{n}.Average"), range(8)))
    assert all(isinstance(one, StreamletDescriptor) for one in found)
    assert os.environ["PYSPARK_GATEWAY_PORT"] == "4711"


def test_a_class_is_described_once_for_many_streamlets(project: Project) -> None:
    """Ten thousand streamlets of one class cost one description."""
    catalog = ProjectCatalog()
    folder = project({"weather.py": streamlet()})
    first = catalog.describe(StreamletRequest("one", "weather.Average", str(folder)))
    assert catalog.describe(StreamletRequest("two", "weather.Average", str(folder))) is first


def test_all_classes_of_a_project_are_found_without_importing_any(project: Project) -> None:
    """Through aliases, further modules and packages; abstract ones and other classes are left out."""
    folder = project(
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
    assert ProjectCatalog().classes(str(folder)) == (
        "a.First",
        "b.Second",
        "c.Third",
        "pack.inner.Base",
        "pack.more.Fourth",
    )


def test_a_folder_that_does_not_exist_has_no_classes(tmp_path: Path) -> None:
    """Nor does it raise."""
    assert ProjectCatalog().classes(str(tmp_path / "none")) == ()


def test_data_beside_a_blueprint_is_not_read_for_the_names_of_classes(project: Project) -> None:
    """A file of megabytes is none that wires anything, and reading it would take longer than all else."""
    folder = project({"a.py": streamlet("First"), "b.py": streamlet("Second"), "c.conf": "x = b.Second"})
    (folder / "data.json").write_text('"a.First"' + " " * 2_000_000)
    assert [path for path, _ in ProjectCatalog().unused(str(folder), ())] == ["a.First"]


def test_no_class_is_unused_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    """Nor does it raise."""
    assert ProjectCatalog().unused(str(tmp_path / "none"), ()) == ()


def test_a_class_stands_where_python_counts_its_line(project: Project) -> None:
    """A form feed or another separator inside of a line ends none."""
    folder = project({"fed.py": "A = 1\n\x0c\nB = '\u2028'\n" + streamlet("Fed")})
    assert described(folder, "fed.Fed").declared == Span("fed.py", 6, 7, 6, 10)
