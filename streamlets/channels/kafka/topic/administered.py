"""`AdministeredTopic`: a topic as it is created, compared with its plan, altered and deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from blueprint.avro.model import Contract
from blueprint.plan import TopicPlan
from streamlets.channels.base import Difference, TopicResource
from streamlets.channels.kafka.clusters import ClusterState, ClusterTopic
from streamlets.channels.kafka.comparison import CONFIG, PARTITIONS, differences
from streamlets.channels.kafka.identity import Identity
from streamlets.channels.kafka.internal_names import claim, forget_topic, forget_writers, require_own
from streamlets.channels.kafka.reader_groups import delete_group
from streamlets.channels.kafka.remembered import remember
from streamlets.channels.kafka.topic_settings import TopicSettings
from streamlets.override import override
from streamlets.storage.crash import crash_point


class AdministeredTopic(TopicResource):
    """A topic of a Kafka cluster, as it is created, compared, altered and deleted.

    Arguments:
        plan: the name and the settings of the topic.
        state: the state of its cluster.
        directory: the directory of the topic in the state directory.
        application: the name of the application; "" for none.
        internal: whether the application has the topic for itself.
    """

    def __init__(
        self,
        plan: TopicPlan,
        state: ClusterState,
        directory: Path,
        *,
        application: str = "",
        internal: bool = False,
    ) -> None:
        self.plan = plan
        self._owner = application if internal else ""
        self.stored = ClusterTopic(plan.name, TopicSettings.of(plan), state)
        self.settings = self.stored.settings
        self.state = state
        self.cluster = state.cluster
        self._identity = Identity(directory / "topic.json", application)
        self._directory = directory

    @property
    def name(self) -> str:
        """The name of the topic on the cluster."""
        return self.plan.name

    @property
    def writers(self) -> str:
        """The beginning of the names of the application's writers of this topic."""
        return self._identity.writers

    @override
    def create(self, contracts: Iterable[Contract] = ()) -> None:
        """Create the topic if it does not exist and is managed, and publish the schemas of its writers.

        Raises:
            TopicLostError: the topic does not exist and is not managed, or it was created again since this application
                first used it.
            SchemaConflictError: messages of two writers could not be told apart.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self.require_own(claiming=True)
        settings, created = self.settings, False
        if self.plan.managed:
            created = self.cluster.create(
                self.name, settings.partitions or -1, settings.replicas or -1, settings.config
            )
        self.require(created=created)
        if created:  # one of its name was deleted by other means, or in a deletion that was abandoned
            forget_writers(self.state.writers, self.name, self._identity.writers)
        remember(self.plan, self._directory)
        self.publish(contracts)

    def require_own(self, *, claiming: bool = False) -> None:
        """Raise an error if another application has the topic for itself.

        Arguments:
            claiming: whether to take it for this application if none has.

        Raises:
            ForeignTopicError: another application has it.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        if self._owner:
            (claim if claiming else require_own)(self.state.writers, self.name, self._owner)

    def publish(self, contracts: Iterable[Contract]) -> None:
        """Publish the schemas of writers, if messages name them by fingerprints.

        Raises:
            SchemaConflictError: messages of two writers could not be told apart.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        if self.settings.format == "avro":
            self.state.schemas.publish(self.name, contracts)

    def require(self, *, created: bool = False) -> None:
        """Raise an error if the topic does not exist, or is not the one that this application first used.

        Arguments:
            created: whether this application has just created it.

        Raises:
            TopicLostError: it was deleted, or created again.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self._identity.check(self.name, self.cluster.existing(self.name).id, created=created)
        self.require_own()

    @property
    @override
    def created(self) -> bool:
        """Whether this application has created the topic, or has it for itself."""
        return bool(self._owner) or self._identity.created

    @override
    def differences(self) -> tuple[Difference, ...]:
        existing = self.cluster.existing(self.name)
        self._identity.check(self.name, existing.id)
        if not self.plan.managed:  # the layout in its cluster's settings is for topics to create
            return ()
        config = self.cluster.settings(self.name) if self.settings.config else {}
        return tuple(differences(self.settings, existing, config))

    @override
    def alter(self, differences: Iterable[Difference]) -> None:
        planned = {difference.setting: difference.planned for difference in differences}
        if partitions := planned.pop(PARTITIONS, None):
            self.cluster.add_partitions(self.name, int(partitions))
        if planned:
            config = {setting.removeprefix(CONFIG): value for setting, value in planned.items()}
            self.cluster.alter_settings(self.name, config)
        remember(self.plan, self._directory)

    @override
    def delete(self) -> None:
        """Delete the topic with its records, schemas and writers, and what this application knows of it.

        If the entries of its writers stayed, the first appends to a later topic of its name would count as repeated.
        The identity goes last, so that a call after a kill does not take another topic for this one.

        Raises:
            TopicLostError: it is not the topic that this application first used.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        if self.exists():
            self.require()
            self.cluster.delete(self.name)
        crash_point("during-topic-deletion")
        self.state.schemas.remove(self.name)
        forget_topic(self.state.writers, self.name, self._identity.application)
        shutil.rmtree(self._directory, ignore_errors=True)

    @override
    def forget_reader(self, group: str) -> None:
        delete_group(self.cluster, group)
