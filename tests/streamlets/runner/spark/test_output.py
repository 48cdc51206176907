"""What a process prints reaches whoever takes it, and the process is never held up."""

from __future__ import annotations

import io

from streamlets.runner.spark.output import forward


def test_lines_go_on_after_one_that_nobody_could_take() -> None:
    """A closed terminal loses the line, not the ones after it; at the end the stream is closed."""
    taken: list[str] = []

    def take(line: str) -> None:
        if line == "lost":
            raise BrokenPipeError
        taken.append(line)

    stream = io.BytesIO(b"first\r\nlost\nna\xffme\nlast")
    forward(stream, take)
    assert taken == ["first", "na\ufffdme", "last"]
    assert stream.closed
