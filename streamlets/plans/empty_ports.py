"""`EmptyPorts`: ports without topics: inlets are empty streams of the real schema, outlets are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from blueprint.catalog import OutletSettings
from blueprint.plan import OutletPlan, StreamletPlan
from blueprint.trigger import RealTime, Trigger
from streamlets.api.context import TaskConnection, all_rows
from streamlets.api.errors import StreamletError
from streamlets.api.source_location import SourceLocation
from streamlets.channels.base import METADATA, METADATA_DDL
from streamlets.channels.kafka.deduplication import Deduplication, deduplicated
from streamlets.channels.registry import CHANNEL_TYPES
from streamlets.contract.errors import Misfit
from streamlets.contract.types import spark_schema
from streamlets.plans.places import Places
from streamlets.plans.watch import Watch
from streamlets.runner.units.returning import outlet_for_others
from streamlets.spark.real_time import real_time_mode
from streamlets.triggers import trigger_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

BRANCHES = "-"
"""The name, in the place of an inlet's, of the rows with which the branches of a query begin."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Rows that do not match the schema of their outlet.

    Arguments:
        outlet: the outlet.
        misfits: the reasons by field.
        fitting: the other outlets of the streamlet whose schemas the rows match, without additional columns.
        place: the author's call.
        several: whether the call writes several outlets.
    """

    outlet: OutletPlan
    misfits: tuple[Misfit, ...]
    fitting: tuple[str, ...]
    place: SourceLocation | None
    several: bool


class EmptyPorts:
    """The `PortBinding` of a check.

    The streams are file sources on empty directories: the fastest source that can have a schema and a name.

    Arguments:
        plan: the streamlet.
        session: the streamlet's session.
        directory: the parent of the empty directories, one for each inlet.
        watch: the watch on the logic.
        places: the locations in the project.
        channels: the channel of each of its topics, by topic id.
    """

    def __init__(
        self,
        plan: StreamletPlan,
        session: SparkSession,
        directory: Path,
        watch: Watch,
        places: Places,
        channels: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.again = False  # whether the logic is built a second time, after its rows were checked
        self.mismatches: list[Mismatch] = []
        self.read_inlets: set[str] = set()
        self.rows: dict[str, StructType] = {}  # the schemas of the rows by outlet
        self.frames: dict[str, dict[str, DataFrame]] = {}  # the rows of the first build, by query and outlet
        self._plan = plan
        self._session = session
        self._directory = directory
        self._watch = watch
        self._places = places
        self._channels = channels
        self._opened: dict[tuple[str, str, bool], DataFrame] = {}

    def read(self, inlet: str, *, name: str, metadata: bool) -> DataFrame:
        """Return an empty stream of the inlet's schema; a second call, as when logic is built again, returns the same.

        Raises:
            StreamletError: the inlet is not in the descriptor of the streamlet.
        """
        plan = next((plan for plan in self._plan.inlets if plan.name == inlet), None)
        if plan is None:
            raise StreamletError(f"the inlet `{self._plan.ref}.{inlet}` is not connected to a topic")
        self.read_inlets.add(inlet)
        key = (inlet, name, metadata)
        if key not in self._opened:
            schema = spark_schema(plan.contract)
            deduplication = Deduplication.of(plan.options)
            if metadata or deduplication is not None:
                schema = _with_metadata(schema)
            reader = self._session.readStream.format("parquet").schema(schema)
            reader = reader.name(name) if self._plan.settings.source_evolution else reader
            rows = reader.load(self.directory_of(inlet))
            # The state and the watermark of the deduplication are those of the query: Spark refuses other operators
            # together with it, and a later version must have it, too.
            if deduplication is not None:
                rows = deduplicated(rows, deduplication, metadata=metadata)
            self._opened[key] = rows
        return self._opened[key]

    def write(
        self,
        rows: DataFrame,
        branches: Mapping[str, Callable[[DataFrame], DataFrame]],
        *,
        query: str,
        output_mode: str,
        trigger: Trigger | None = None,
    ) -> DataStreamWriter:
        """Return a writer without output; the first build adds rows that do not match their outlet to `mismatches`.

        Raises:
            StreamletError: a branch does not return a DataFrame, the trigger does not fit the outlets, or the rows of
                an outlet cannot be split.
        """
        from streamlets.contract.match import misfits

        real_time = isinstance(trigger_of(self._plan, query, trigger), RealTime)
        if real_time:
            self._require_real_time(branches)
        for plan in self._plan.outlets:
            if plan.name in branches:
                outlet_for_others(self._plan, plan, branches, query, real_time=real_time)
        outlets = {plan.name: plan for plan in self._plan.outlets}
        for name, part in branches.items() if not self.again else ():
            frame = rows if part is all_rows else self._branch(rows, part, name)
            reasons = misfits(frame.schema, outlets[name].contract, extra=outlets[name].extra)
            self.rows.setdefault(name, frame.schema)
            self.frames.setdefault(query, {})[name] = frame
            if reasons:
                fitting = tuple(
                    other.name for other in self._plan.outlets
                    if other.name != name and not misfits(frame.schema, other.contract, extra="fail")
                )  # fmt: skip
                place = self._places.here()
                self.mismatches.append(Mismatch(outlets[name], reasons, fitting, place, part is not all_rows))
        if real_time:
            output_mode = real_time_mode(rows, output_mode)
        return rows.writeStream.format("noop").outputMode(output_mode)

    def _require_real_time(self, outlets: Iterable[str]) -> None:
        """Require that a query with a real-time trigger can write its outlets.

        Raises:
            StreamletError: it cannot.
        """
        settings = self._plan.settings
        if isinstance(settings.trigger, RealTime) and not settings.queries:
            return  # verification reports what does not fit the trigger of a streamlet
        for plan in self._plan.outlets:
            channel = CHANNEL_TYPES.get(self._channels.get(plan.topic, ""))
            if plan.name in outlets and channel is not None:
                own = OutletSettings(plan.streamlet, plan.name, plan.options, real_time=True)
                for problem in channel.traits.outlet_problems(own):
                    raise StreamletError(f"{problem.message}: {', or '.join(problem.help)}", code=problem.code)

    def task_source(self, outlet: str) -> TaskConnection:
        """Return the outlet of a batch source, and no topic: no task is read."""
        return TaskConnection(next(plan for plan in self._plan.outlets if plan.name == outlet), None)

    def checkpoint_dir(self, name: str) -> str:
        """Return a directory that does not exist."""
        return str(self._directory / "checkpoints" / name)

    def directory_of(self, inlet: str) -> str:
        """Create and return the empty directory of an inlet; plans contain its path."""
        directory = Path(self.inlets) / inlet
        directory.mkdir(parents=True, exist_ok=True)
        return str(directory)

    @property
    def inlets(self) -> str:
        """The parent of the empty directories."""
        return str(self._directory / "inlets")

    def _branch(self, rows: DataFrame, part: Callable[[DataFrame], DataFrame], outlet: str) -> DataFrame:
        from pyspark.sql import DataFrame

        batch = self._session.read.schema(rows.schema).parquet(self.directory_of(BRANCHES))
        with self._watch.on_batch():
            result = part(batch)
        if not isinstance(result, DataFrame):
            raise StreamletError(
                f"the function for the outlet `{outlet}` returned a `{type(result).__name__}`: return a DataFrame"
            )
        return result


def _with_metadata(schema: StructType) -> StructType:
    from pyspark.sql.types import StructField, StructType, _parse_datatype_string

    return StructType([*schema.fields, StructField(METADATA, _parse_datatype_string(METADATA_DDL))])
