"""`EmptyPorts`: ports joined to nothing: inlets are empty streams of the real schema, outlets are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.plan import OutletPlan, StreamletPlan
from streamlets.api.context import all_rows
from streamlets.api.declared import Declared
from streamlets.api.errors import StreamletError
from streamlets.channels.delta.records import METADATA, METADATA_DDL
from streamlets.contract.errors import Misfit
from streamlets.contract.types import spark_schema
from streamlets.plans.places import Places
from streamlets.plans.watching import Watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Rows that do not fit their outlet.

    Arguments:
        misfits: why, field by field.
        fitting: the other outlets of the streamlet that the rows fit, without a column too many.
        place: the author's call; several: whether it writes several outlets.
    """

    outlet: OutletPlan
    misfits: tuple[Misfit, ...]
    fitting: tuple[str, ...]
    place: Declared | None
    several: bool


class EmptyPorts:
    """The `PortBinding` of a check.

    The streams are file sources over empty folders: the quickest source to open that can have a schema and a name.

    Arguments:
        folder: for the empty folders, one for each inlet.
    """

    def __init__(self, plan: StreamletPlan, session: SparkSession, folder: Path, watch: Watch, places: Places) -> None:
        self.again = False  # whether the logic is built a second time, on what was checked the first
        self.mismatches: list[Mismatch] = []
        self.read_inlets: set[str] = set()
        self.rows: dict[str, StructType] = {}  # by outlet, the type of what is written to it
        self._plan = plan
        self._session = session
        self._folder = folder
        self._watch = watch
        self._places = places
        self._opened: dict[tuple[str, str, bool], DataFrame] = {}

    def read(self, inlet: str, *, name: str, metadata: bool) -> DataFrame:
        """An empty stream of the inlet's schema; asked twice for one, as when logic is built again, it gives the same.

        Raises:
            StreamletError: the streamlet was described without the inlet.
        """
        plan = next((each for each in self._plan.inlets if each.name == inlet), None)
        if plan is None:
            raise StreamletError(f"no topic is joined to the inlet `{self._plan.ref}.{inlet}`")
        self.read_inlets.add(inlet)
        key = (inlet, name, metadata)
        if key not in self._opened:
            schema = spark_schema(plan.contract)
            if metadata:
                schema = _with_metadata(schema)
            reader = self._session.readStream.format("parquet").schema(schema)
            reader = reader.name(name) if self._plan.source_evolution else reader
            self._opened[key] = reader.load(self.folder_of(inlet))
        return self._opened[key]

    def write(
        self, rows: DataFrame, branches: Mapping[str, Callable[[DataFrame], DataFrame]], *, query: str, output_mode: str
    ) -> DataStreamWriter:
        """A writer that writes nowhere; what does not fit an outlet is kept in `mismatches`, the first time.

        Raises:
            StreamletError: a branch gives no DataFrame.
        """
        from streamlets.contract.match import misfits

        outlets = {plan.name: plan for plan in self._plan.outlets}
        for name, part in branches.items() if not self.again else ():
            frame = rows if part is all_rows else self._branch(rows, part, name)
            found = misfits(frame.schema, outlets[name].contract, extra=outlets[name].extra)
            self.rows.setdefault(name, frame.schema)
            if found:
                fitting = tuple(
                    other.name for other in self._plan.outlets
                    if other.name != name and not misfits(frame.schema, other.contract, extra="fail")
                )  # fmt: skip
                place = self._places.here()
                self.mismatches.append(Mismatch(outlets[name], found, fitting, place, part is not all_rows))
        return rows.writeStream.format("noop").outputMode(output_mode)

    def checkpoint_dir(self, name: str) -> str:
        """A folder that is not there."""
        return str(self._folder / "checkpoints" / name)

    def folder_of(self, inlet: str) -> str:
        """The empty folder that stands for an inlet's topic; plans name it."""
        folder = self._folder / "inlets" / inlet
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder)

    def _branch(self, rows: DataFrame, part: Callable[[DataFrame], DataFrame], outlet: str) -> DataFrame:
        from pyspark.sql import DataFrame

        batch = self._session.read.schema(rows.schema).parquet(self.folder_of("-"))
        with self._watch.on_batch():
            given = part(batch)
        if not isinstance(given, DataFrame):
            raise StreamletError(
                f"the function for the outlet `{outlet}` gives a `{type(given).__name__}`: it takes a DataFrame "
                "and gives one"
            )
        return given


def _with_metadata(schema: StructType) -> StructType:
    from pyspark.sql.types import StructField, StructType, _parse_datatype_string

    return StructType([*schema.fields, StructField(METADATA, _parse_datatype_string(METADATA_DDL))])
