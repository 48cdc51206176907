"""The schemas of a topic's writers by their fingerprints, in a compacted topic and in the state directory.

The key of an entry is `<topic>/<fingerprint>`, its value the schema as Avro JSON.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from streamlets.channels.kafka.compacted import CompactedTable
from streamlets.contract.wire.avro_formats import schema_fingerprint
from streamlets.storage import objects
from streamlets.storage.damage import damaged, read_whole

if TYPE_CHECKING:
    from streamlets.channels.kafka.cluster_client import Cluster

SCHEMAS = "_streamlets_schemas"
"""The topic with the schemas of all writers of a cluster, unless `internal-prefix` is set."""


class SchemaConflictError(ValueError):
    """Two schemas of a topic have the same fingerprint in messages, although their values mean different things."""


class PublishedSchemas:
    """The schemas of the writers of a cluster's topics.

    Arguments:
        cluster: the cluster.
        directory: where the schemas are kept, so that they can be published again.
        topic: the topic with the schemas.
    """

    def __init__(self, cluster: Cluster, directory: Path, topic: str = SCHEMAS) -> None:
        self._cluster = cluster
        self._directory = directory
        self._table = CompactedTable(cluster, topic, first=True)
        self._known: dict[str, dict[str, Contract]] = {}

    def create(self) -> None:
        """Create the topic with the schemas if it does not exist.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        self._table.create()

    def publish(self, topic: str, contracts: Iterable[Contract]) -> None:
        """Publish the contracts of a topic's writers that have not been published.

        Raises:
            SchemaConflictError: a published schema differs from a contract in its logical types only. They do not
                change the fingerprint in messages, so a reader could not tell the records of the two apart. Of two
                writers that publish at the same time, it is the second one in the log.
            ClusterError: the cluster does not answer, or does not allow it.
        """
        published = self.of(topic)
        new: dict[str, Contract] = {}
        for contract in contracts:
            fingerprint = schema_fingerprint(contract)
            earlier = published.get(fingerprint) or new.get(fingerprint)
            if earlier is None:
                new[fingerprint] = contract
            elif earlier.fingerprint != contract.fingerprint:
                raise _conflict(topic, contract)
        for fingerprint, contract in new.items():
            directory = self._directory / topic
            directory.mkdir(parents=True, exist_ok=True)
            objects.put_if_absent(directory / f"{fingerprint}.avsc", contract.json.encode())
        if new:
            self.create()
            self._send({f"{topic}/{fingerprint}": contract.json for fingerprint, contract in new.items()})
            self._known.pop(topic, None)
            for fingerprint, contract in new.items():
                self._require_first(topic, fingerprint, contract)

    def _require_first(self, topic: str, fingerprint: str, contract: Contract) -> None:
        """Require that no other writer has published another contract with the same fingerprint meanwhile.

        Raises:
            SchemaConflictError: one has, before this one.
        """
        key = f"{topic}/{fingerprint}"
        first = self._table.entries_with(key)[key].value.decode()
        if parse_contract(first).fingerprint != contract.fingerprint:
            (self._directory / topic / f"{fingerprint}.avsc").unlink(missing_ok=True)
            self._send({key: first})
            raise _conflict(topic, contract)

    def of(self, topic: str) -> dict[str, Contract]:
        """Return the contracts of a topic's writers by the fingerprints in their messages.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        known = self._known.setdefault(topic, {})
        for key, value in self._table.refreshed().items():
            of, _, fingerprint = key.rpartition("/")
            if of == topic and fingerprint not in known:
                known[fingerprint] = parse_contract(value.decode())
        for path in (self._directory / topic).glob("*.avsc"):
            if path.stem not in known:
                known[path.stem] = _stored(path)
        return dict(known)

    def remove(self, topic: str) -> None:
        """Remove the contracts of a deleted topic, so that a later one of its name has none of its writers.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        keys = [key for key in self._table.refreshed() if key.rpartition("/")[0] == topic]
        if keys:
            self._cluster.send(self._table.topic, [(key.encode(), None) for key in keys])
        shutil.rmtree(self._directory / topic, ignore_errors=True)
        self._known.pop(topic, None)

    def find(self, topic: str, fingerprint: str) -> Contract | None:
        """Return the contract of a writer; None if it has not been published.

        Raises:
            ClusterError: the cluster does not answer, or does not allow it.
        """
        known = self._known.get(topic, {}).get(fingerprint)
        return known if known is not None else self.of(topic).get(fingerprint)

    def _send(self, values: dict[str, str]) -> None:
        self._cluster.send(self._table.topic, [(key.encode(), value.encode()) for key, value in values.items()])


def _stored(path: Path) -> Contract:
    """Return the contract in a file that has its fingerprint as name.

    Raises:
        DamagedFileError: the file is damaged.
    """

    def parse(data: bytes) -> Contract:
        contract = parse_contract(data.decode())
        if schema_fingerprint(contract) != path.stem:
            raise ValueError("the schema has another fingerprint")
        return contract

    remedy = "delete it: messages of its writer can no longer be read, unless the writer publishes its schema again"
    contract = read_whole(path, parse, "the schema of a writer, which the cluster does not have,", remedy)
    if contract is None:
        raise damaged("the schema of a writer", path, None, remedy)
    return contract


def _conflict(topic: str, contract: Contract) -> SchemaConflictError:
    return SchemaConflictError(
        f"the schema `{contract.record.name}` of a writer of the topic `{topic}` differs from an earlier one only in "
        "its logical types, and messages do not name those; rename a field or the record, or use another topic"
    )
