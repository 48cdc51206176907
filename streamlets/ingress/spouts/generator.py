"""The argument and the yielded values of a generator spout: `SpoutOutput` and `SpoutTransaction`."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from streamlets.api.parameters import Parameter

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SpoutTransaction:
    """Records that a generator spout yields, to be committed together.

    Arguments:
        records: dicts by field name (times as `datetime` or ISO string, decimals as `Decimal` or string), or an Arrow
            table or batches with the types of the contract.
        resume: a JSON value from which `run` can continue after this transaction; None keeps the last one.
        outlet: the name of the outlet; "" for the only one.

    Example:
        `out.transaction` makes it; `resume` is given to `run` after a restart::

            yield out.transaction([{"number": 1}, {"number": 2}], resume=3)
    """

    records: Iterable[Mapping[str, Any]] | pa.Table | pa.RecordBatch
    resume: Any = None
    outlet: str = ""


class SpoutOutput:
    """The first argument of `GeneratorSpout.run`.

    Arguments:
        parameters: the values of the config parameters by key.
        stopping: is set when the run drains.

    Attributes:
        stopping: as the argument.
        bounded: whether the run ends when all available data is processed, as with `flow run --available-now`: `run`
            should end, too.

    Example:
        A `run` that ends when the run drains or is bounded::

            while not out.stopping.is_set():
                yield out.transaction(self.poll())
                if out.bounded:
                    break
    """

    def __init__(self, parameters: Mapping[str, object], stopping: threading.Event, *, bounded: bool) -> None:
        self._parameters = parameters
        self.stopping = stopping
        self.bounded = bounded

    def transaction(
        self, records: Iterable[Mapping[str, Any]] | pa.Table | pa.RecordBatch, *, resume: Any = None, outlet: str = ""
    ) -> SpoutTransaction:
        """Return a transaction for `yield`.

        Arguments:
            records: as in `SpoutTransaction`.
            resume: as in `SpoutTransaction`.
            outlet: the name of the outlet; "" for the only one.
        """
        return SpoutTransaction(records, resume, outlet)

    def value(self, parameter: Parameter[T]) -> T:
        """Return the value of the config parameter `parameter`."""
        return self._parameters[parameter.key]  # type: ignore[return-value]

    def wait(self, seconds: float) -> bool:
        """Wait for `seconds`, or until the run drains; return whether it drains."""
        return self.stopping.wait(seconds)
