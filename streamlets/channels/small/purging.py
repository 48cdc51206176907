"""`PurgingTopic`: a small topic whose records can be dropped."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Collection, Iterable

from blueprint.quantities import Duration
from blueprint.setting import Scope, Setting
from blueprint.setting_types import DURATION
from streamlets.channels.base import Dropped, Missed, Reader
from streamlets.channels.small.commits import contract_of
from streamlets.channels.small.topic import SmallTopic
from streamlets.override import override

RETENTION = Setting(
    "retention.time", DURATION, "How long records are kept at least; for ever if not set.", scope=Scope.TOPIC
)
"""A setting for the traits of channels with such topics."""


class PurgingTopic(SmallTopic):
    """A small topic for a channel with the trait `purges`. It drops whole commits; their numbers are not used again.

    If its channel has the setting `RETENTION`, `maintain` drops older commits that all readers have read.
    """

    @abc.abstractmethod
    def drop(self, commits: Collection[int], missed: Collection[Missed]) -> None:
        """Remove the records of commits, and store what readers lose for `missed`, in one transaction.

        Arguments:
            commits: the numbers of the commits.
            missed: the losses.

        Raises:
            TopicLostError: the topic does not exist.
        """

    @override
    def maintain(self, readers: Callable[[], Iterable[Reader]] | None = None) -> Dropped:
        age: Duration | None = RETENTION.of(self.plan.options)
        if age is None or readers is None:
            return Dropped()
        return self.purge(readers(), before=time.time() - age.seconds)

    @override
    def purge(
        self,
        readers: Iterable[Reader],
        *,
        before: float | None = None,
        schema: str | None = None,
        force: bool = False,
        dry: bool = False,
    ) -> Dropped:
        chosen = {
            commit.number: commit
            for commit in self.commits(0, self.newest())
            if commit.records and (before is None or commit.time < before)
            if schema is None or contract_of(commit.contract).fingerprint == schema
        }
        held: dict[str, int] = {}
        missed: list[Missed] = []
        for reader in readers:
            committed = self.number(reader.committed)
            unread = [number for number in chosen if number > committed]
            records = sum(chosen[number].records for number in unread)
            if unread and force:
                missed.append(self._missed(reader, unread, records))
            elif unread:
                held[reader.name] = records
                chosen = {number: commit for number, commit in chosen.items() if number <= committed}
        if chosen and not dry:
            self.drop(chosen.keys(), missed)
        records, size = (sum(getattr(commit, name) for commit in chosen.values()) for name in ("records", "bytes"))
        return Dropped(records, size, len(chosen), held, tuple(missed))

    def _missed(self, reader: Reader, unread: list[int], records: int) -> Missed:
        return Missed(
            topic=self.plan.name,
            reader=reader.name,
            first=f"commit {min(unread)}",
            last=f"commit {max(unread)}",
            records=records,
            time=time.time(),
            cause="flow topics purge",
        )
