"""What notebooks show of findings, schemas and applications."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from blueprint.avro.sources.loading import load_contract
from blueprint.diagnostics import Diagnostic, Label, Severity, Span
from blueprint.html import html_table, html_text
from blueprint.verification.verify import Verification, verify
from streamlets.project.catalog import ProjectCatalog

SPAN = Span("blueprint.conf", 3, 5, 3, 9)


def test_texts_are_escaped() -> None:
    """A message may contain what a user wrote; back-quotes mark code."""
    assert html_text("no `a<b>` & <script>") == "no <code>a&lt;b&gt;</code> &amp; &lt;script&gt;"
    assert "&lt;i&gt;" in html_table("t", ("a",), [("<i>",)])
    assert html_table("t", ("a",), []) == ""


def test_a_finding_has_its_places_and_help() -> None:
    """Severity, code, headline, places with messages, causes and help."""
    finding = Diagnostic("cycle", Severity.ERROR, "a `cycle`", Label(SPAN, "here"), causes=("why",), help=("do it",))
    html = finding._repr_html_()
    assert "<b>error[cycle]</b>: a <code>cycle</code>" in html
    assert "<li>blueprint.conf:3:5 here</li><li>because: why</li><li>help: do it</li>" in html


def test_a_schema_is_a_table_of_its_fields() -> None:
    """With types, defaults and docs."""
    schema = {
        "type": "record", "name": "shop.Order",
        "fields": [{"name": "id", "type": "long", "doc": "the number"}, {"name": "n", "type": "int", "default": 1}],
    }  # fmt: skip
    contract = load_contract(schema, base_directory=".", declared=SPAN).contract
    assert contract is not None
    html = contract._repr_html_()
    assert "<code>shop.Order</code>" in html
    assert [cell in html for cell in ("<code>id</code>", ">long<", ">the number<", "<code>1</code>")] == [True] * 4


def _verified(directory: Path, text: str) -> Verification:
    (directory / "blueprint.conf").write_text(text)
    return verify(
        directory / "blueprint.conf", catalog=ProjectCatalog(), environment=os.environ, working_directory=directory
    )


def test_a_verification_shows_findings_and_the_graph(tmp_path: Path) -> None:
    """Streamlets with errors are marked, and secrets are not shown."""
    text = (
        "blueprint { streamlets { archive { class = streamlets.Sink, parameters { to = jdbc, options { url = "
        '"sqlite:a", table = t, password = "geheim", no = 1 } } } }\n topics { rows { consumers = [archive.in] } } }'
    )
    verification = _verified(tmp_path, text)
    html = verification._repr_html_()
    assert "error[" in html and "<svg" in html and 'class="faulty"' in html
    assert "geheim" not in html
    assert verification.graph._repr_svg_().startswith("<svg")
    assert "geheim" not in "".join(finding._repr_html_() for finding in verification.diagnostics)


def test_showing_imports_nothing_large(tmp_path: Path) -> None:
    """A notebook shows a streamlet without waiting for Spark, pandas or networkx."""
    code = (
        "import sys, streamlets; s = streamlets.Sink(); print('options' in s._repr_html_(), "
        "'without a schema' in type(s).records._repr_html_() if hasattr(type(s), 'records') else True);"
        "print(sorted({'pyspark', 'pyarrow', 'pandas', 'networkx', 'IPython', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split("\n")[:2] == ["True True", "[]"]
