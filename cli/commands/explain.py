"""`flow explain`: what a code of `flow verify` means, why it matters, an example, and the fix."""

from __future__ import annotations

import json

import click

from cli.options import format_option

VERSION = 1


@click.command()
@click.argument("code", required=False)
@format_option()
def explain(code: str | None, form: str) -> None:
    """Explain a code that `flow verify` reports: what it means, why it matters, an example and the fix.

    CODE is written as in a finding, for example `unknown-port`. Without CODE, all codes are listed. The exit code is 2
    if there is no such code.
    """
    if code is None:
        click.echo(_listing_as_data() if form == "json" else _listing(), nl=False)
        return
    from blueprint.diagnostics.codes import CODES
    from blueprint.diagnostics.manual import code_of, page
    from blueprint.spelling import suggestion

    name = code_of(code)
    if name not in CODES:
        hint = suggestion(name, CODES, "run `flow explain` to list all codes")
        raise click.UsageError(f"there is no code `{name}`; {hint}")
    if form == "json":
        click.echo(_as_json({**_facts(name), "page": page(name)}), nl=False)
    else:
        from cli.output.markdown import shown

        click.echo(shown(page(name), _width()), nl=False)


def _listing() -> str:
    from blueprint.diagnostics.codes import CODES, FAMILIES
    from blueprint.diagnostics.text import wrapped

    column = max(map(len, CODES))
    lead = column + 11
    blocks = []
    for family, codes in FAMILIES.items():
        lines = [click.style(family, bold=True)]
        for name, code in codes.items():
            first, *others = wrapped(code.meaning, _width() - lead)
            lines.append(f"  {name:<{column}} {code.severity.value:<8}{first}")
            lines += [" " * lead + other for other in others]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _listing_as_data() -> str:
    from blueprint.diagnostics.codes import CODES

    return _as_json({"codes": [_facts(name) for name in CODES]})


def _facts(name: str) -> dict[str, object]:
    from blueprint.diagnostics.codes import CODES
    from blueprint.diagnostics.manual import family

    code = CODES[name]
    return {"code": name, "severity": code.severity.value, "family": family(name), "meaning": code.meaning}


def _as_json(facts: dict[str, object]) -> str:
    return json.dumps({"version": VERSION, **facts}, ensure_ascii=False, indent=2) + "\n"


def _width() -> int:
    """Return the width of the output: the terminal's, but at most 100 columns, which are easier to read."""
    import shutil

    return min(shutil.get_terminal_size((100, 24)).columns, 100)
