"""The speed of the HOCON parser: 20,000 lines (bar: 1.5 s), and 2,000 lines compared with pyhocon.

python -m benchmarks.hocon
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pyhocon import ConfigFactory

from blueprint.hocon import parse_text, resolve


def document(lines: int) -> str:
    """Return a typical configuration, with nesting, comments, lists, strings, substitutions and concatenation."""
    out: list[str] = []
    index = 0
    while len(out) < lines - 3:
        out += [
            f"streamlets.s{index} {{ # number {index}",
            f"  class = weather.Average{index}",
            f'  label : "the {index}th"',
            "  parameters {",
            f"    window = w{index}",
            f"    threshold = {index}.5",
            "    base = ${defaults.base}",
            f"    hosts = [ a{index}, b{index}.example ]",
            "  }",
            "  trigger.processing-time = fast // as it goes",
            f'  volume-mounts = ${{defaults.mounts}} {{ data = "/tmp/{index}" }}',
            "}",
        ]
        index += 1
    return "\n".join([*out, "defaults {", "  base = 7, mounts { x = y }", "}"])


def ours(text: str) -> None:
    """Parse and resolve with our parser."""
    layer = parse_text(text, "benchmark.conf")
    _, findings = resolve([layer], {})
    assert not layer.diagnostics
    assert not findings


def best(work: Callable[[], object], times: int) -> float:
    """Return the lowest CPU time of some runs, in seconds."""
    taken = []
    for _ in range(times):
        begin = time.process_time()
        work()
        taken.append(time.process_time() - begin)
    return min(taken)


def main() -> None:
    """Print both comparisons."""
    large, small = document(20_000), document(2_000)
    print(f"{len(large.splitlines()):,} lines: {best(lambda: ours(large), 3):.2f} s (bar: 1.5 s)")
    mine = best(lambda: ours(small), 5)
    theirs = best(lambda: ConfigFactory.parse_string(small), 1)
    print(f"{len(small.splitlines()):,} lines: {mine:.3f} s, pyhocon {theirs:.2f} s: {theirs / mine:.0f} times as long")


if __name__ == "__main__":
    main()
