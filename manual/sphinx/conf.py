"""How Sphinx builds the site. `python -m manual` calls it."""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text
from sphinx.application import Sphinx

project = "Streamlets"
version = release = version_of("streamlets")
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
copybutton_prompt_text = "$ "  # the button copies the commands of a console, without their outputs
copybutton_line_continuation_character = "\\"
myst_enable_extensions = ["colon_fence"]
html_title = "Streamlets"
html_show_sourcelink = False
html_show_copyright = False
html_copy_source = False
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # excerpts of code need not be complete


class HoconLexer(RegexLexer):  # type: ignore[misc]  # Pygments has no types
    """Colours of HOCON, which Pygments does not know."""

    name = "HOCON"
    aliases: ClassVar[list[str]] = ["hocon"]
    tokens: ClassVar = {
        "root": [
            (r"\s+", Text),
            (r"(#|//).*?$", Comment.Single),
            (r'"""(?s:.*?)"""|"(\\.|[^"\\\n])*"', String),
            (r"\$\{\??[^}]*\}", Name.Variable),
            (r"\b(include|required|true|false|null)\b", Keyword),
            (r"-?\d+(\.\d+)?\b", Number),
            (r"[\w.<>-]+(?=\s*(\+?=|:|\{))", Name.Attribute),
            (r"\+?=|:", Operator),
            (r"[{}\[\],]", Punctuation),
            (r"[^\s{}\[\],:=#\"$]+", Text),
            (r".", Text),
        ]
    }


def setup(app: Sphinx) -> None:
    """Register the lexer."""
    app.add_lexer("hocon", HoconLexer)
