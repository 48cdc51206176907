"""`SourceType`: the interface of a source, which reads records from outside of an application.

An author of a source implements `SourceType`; the streamlet `Source`, verification and the documentation use it.
`streamlets.ingress.sources.registry` shows how a package registers its source.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from blueprint.catalog import ParameterProblem, ReadPath, SourceTraits
from streamlets.ingress.batch_sources.context import Eat, SourceContext
from streamlets.ingress.batch_sources.read_items import BrokenRecord, ContractBatch
from streamlets.ingress.sources.sample import Sample, SampleError

if TYPE_CHECKING:
    from blueprint.avro.model import Contract

__all__ = ["OpenSource", "SourceItem", "SourceType", "contract_of"]

SourceItem = ContractBatch | BrokenRecord | Mapping[str, Any]
"""What a task has: records as an Arrow batch or one by one, or a piece of it that is not a record."""


class OpenSource(abc.ABC):
    """A source that is open: in the runner, where it discovers, or in a process that reads tasks."""

    @abc.abstractmethod
    def discover(self, eat: Eat, event: str) -> None:
        """Pass each task to `eat`, as `BatchSource.discover` does.

        Arguments:
            eat: takes a task, and its key.
            event: what triggered the discovery.
        """

    @abc.abstractmethod
    def read(self, task: Any) -> Iterator[SourceItem]:
        """Yield the records of a task.

        Arguments:
            task: as it was passed to `eat`.
        """

    def sampled_tasks(self, count: int) -> Iterator[Any]:
        """Yield a few tasks, from which a sample of records is read: the first ones of a discovery.

        Arguments:
            count: the number of tasks.
        """
        eaten = _FirstTasks(count)
        with suppress(_EnoughTasks):
            self.discover(eaten, "sample")
        yield from eaten.tasks

    def close(self) -> None:  # noqa: B027 - most sources have nothing to release
        """Release what the source has acquired."""


class _EnoughTasks(BaseException):
    """Ends a discovery whose further tasks are not needed; sources that handle errors do not handle it."""


class _FirstTasks:
    """Takes the first tasks of a discovery.

    Arguments:
        count: the number of tasks.
    """

    def __init__(self, count: int) -> None:
        self.tasks: list[Any] = []
        self.remembered: Any = None
        self._count = count

    def __call__(self, task: object, *, key: str | None = None, remember: Any = None) -> bool:
        """Take a task, and end the discovery after the last one."""
        self.tasks.append(task)
        if len(self.tasks) >= self._count:
            raise _EnoughTasks
        return True

    def remember(self, value: Any) -> None:
        """Remember nothing."""


class SourceType(abc.ABC):
    """A source, as it is registered. The class has no constructor arguments.

    Attributes:
        traits: its capabilities and options.
    """

    traits: ClassVar[SourceTraits]

    @abc.abstractmethod
    def open(self, options: Mapping[str, Any], context: SourceContext) -> OpenSource:
        """Return the open source.

        Arguments:
            options: the typed values of its options by name, with defaults.
            context: the environment, with the contract of the records.
        """

    def sample(self, options: Mapping[str, Any], context: SourceContext, count: int) -> Sample:
        """Return a few records as the source has them, for `flow sample`.

        Arguments:
            options: the typed values of its options by name, with defaults; required ones that do not say what to read
                may be missing.
            context: the environment, without a contract.
            count: the number of records.

        Raises:
            SampleError: it cannot be read, or has no samples.
        """
        raise SampleError(f"the source `{self.traits.name}` has no samples")

    def option_problems(self, options: Mapping[str, Any]) -> Iterable[ParameterProblem]:
        """Return the problems of options that the traits cannot express; the path of a problem is `options` and a name.

        Arguments:
            options: the typed values of its options, which agree with the traits.
        """
        return ()

    def discovery(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the default of `discovery`: the triggerer and its configuration.

        Arguments:
            options: the configured options, which may have problems.
        """
        return self.traits.discovery

    def reads(self, options: Mapping[str, Any]) -> Iterable[ReadPath]:
        """Return the paths whose files it reads; the parameter of a path is `options` and a name.

        Arguments:
            options: the typed values of its options.
        """
        return ()


def contract_of(context: SourceContext) -> Contract:
    """Return the contract of the records that a source reads."""
    assert context.contract is not None, "a run and the testkit pass it"
    return context.contract
