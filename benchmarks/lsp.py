"""How fast the language server answers on a large blueprint.

    python -m benchmarks.lsp [--streamlets 1000] [--rounds 20]

An editor types into the blueprint of a chain of streamlets, over the pipes of a real `flow lsp`. The time of findings
is that from the keystroke that makes a mistake, or removes it, to the findings of the new text. That of a completion is
that from the request to the answer, right after a keystroke that causes a verification.

The bars, in the median: findings in 200 ms, completion in 50 ms. The exit code is 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.verify_scale import MODULE, chain
from tests.cli.lsp.editor import Editor

BARS = {"findings": 0.2, "completion": 0.05}


def main() -> int:
    """Measure, print a row for each kind of answer, and return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--streamlets", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flow-bench-") as directory:
        file = Path(directory, "blueprint.conf")
        Path(directory, "big.py").write_text(MODULE, encoding="utf-8")
        file.write_text(chain(options.streamlets), encoding="utf-8")
        times = measured(file, options.rounds)
    met = True
    print(f"{options.streamlets} streamlets, {options.rounds} rounds")
    for kind, seconds in times.items():
        median = statistics.median(seconds)
        bar = BARS.get(kind)
        met = met and (bar is None or median <= bar)
        limit = f"  (bar: {bar * 1000:.0f} ms)" if bar is not None else ""
        print(f"{kind:12} median {median * 1000:6.1f} ms, longest {max(seconds) * 1000:6.1f} ms{limit}")
    return 0 if met else 1


def measured(file: Path, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each answer by kind."""
    lines = file.read_text(encoding="utf-8").split("\n")
    line = next(number for number, text in enumerate(lines) if f"[s{len(lines) // 4}.out]" in text)
    character = lines[line].index(".out") + 1
    times: dict[str, list[float]] = {"findings": [], "completion": [], "hover": []}
    with Editor(file.parent) as editor:
        editor.open(file)
        editor.findings(file)
        for _ in range(rounds):
            for text, replaced, mistaken in (("x", 0, True), ("", 1, False)):
                start = time.perf_counter()
                editor.type(file, line, character, text, replacing=replaced)
                found = editor.findings(file)
                times["findings"].append(time.perf_counter() - start)
                assert any(finding["code"] == "unknown-port" for finding in found) == mistaken
        for _ in range(rounds):
            editor.type(file, line, character, "")  # it starts a verification
            ask = editor.at(file, line, character)
            times["completion"].append(seconds(editor, "textDocument/completion", ask))
            editor.findings(file)
            times["hover"].append(seconds(editor, "textDocument/hover", ask))
    return times


def seconds(editor: Editor, method: str, question: object) -> float:
    """Return the duration of a request that has a result."""
    start = time.perf_counter()
    assert editor.ask(method, question)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
