"""What is told to an author who uses the API in a way it cannot mean: the sentence and the place of the call."""

from __future__ import annotations

from streamlets.api.declared import Declared, authors_call


class StreamletError(Exception):
    """The author's code asked for something that cannot be; no restart can mend it.

    Arguments:
        message: one sentence, with the remedy.
        place: where the author's code asked for it; None when no code of the author's did.
        code: of the finding that verification makes of it.
        also: a place that belongs to it, and what is to be said there.
    """

    def __init__(
        self,
        message: str,
        place: Declared | None = None,
        *,
        code: str = "logic-misuse",
        also: tuple[Declared, str] | None = None,
    ) -> None:
        self.message = message
        self.code = code
        self.also = also
        self.place = place or authors_call()
        span = self.place.span if self.place else None
        super().__init__(f"{message}\n  at {span.file}, line {span.line}" if span else message)
