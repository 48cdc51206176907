"""`python -m manual [DIRECTORY]`: build the site (default: `build/site`).

A broken link, and every other warning of Sphinx, is an error.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

from manual.reference import reference_pages
from manual.repository import REPOSITORY
from manual.source import BrokenLinkError, write_source


def main(site: Path) -> int:
    """Build the site, and return 0 if it has no faults.

    Arguments:
        site: the directory of its HTML.
    """
    source = REPOSITORY / "build" / "site-source"
    try:
        write_source(source, reference_pages())
    except BrokenLinkError as error:
        print(error, file=sys.stderr)
        return 1
    configuration = Path(__file__).parent / "sphinx"
    state = REPOSITORY / "build" / "site-state"
    options = ["--quiet", "--fail-on-warning", "--jobs", "auto", "-c", str(configuration), "-d", str(state)]
    code: int = sphinx_build(["-b", "html", *options, str(source), str(site)])
    if code == 0:
        print(f"The site is in {site}/index.html")
    return code


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "build" / "site")))
