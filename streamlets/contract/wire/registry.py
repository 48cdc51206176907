"""A schema registry with Confluent's REST interface, and the subjects under which it stores writers' schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from blueprint.avro.model import Contract
from blueprint.avro.sources.loading import parse_contract
from blueprint.settings.secret_sources import secrets_of_values
from blueprint.settings.secrets import Secrets
from streamlets.contract.wire.errors import UndecodableError, UnknownSchemaError

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import SchemaRegistryClient

SubjectName = Literal["topic", "record", "topic-record"]
"""The strategies that name the subject of a schema, as other clients of the registry do: TopicNameStrategy,
RecordNameStrategy, TopicRecordNameStrategy."""

LIMITS = {"timeout": 9, "max.retries": 2, "retries.wait.ms": 500, "retries.max.wait.ms": 1000}
"""The client's settings for requests without an answer, unless the settings have others: three attempts fail within 30
seconds. By default the client would wait for ever, and with it the streamlet."""


class RegistryError(OSError):
    """The registry cannot be reached, or refuses a schema. A repetition may succeed."""


def subject(strategy: SubjectName, topic: str, record: str) -> str:
    """Return the subject of the schema of a topic's values.

    Arguments:
        strategy: how the subject is named.
        topic: the name of the topic.
        record: the full name of the record.
    """
    match strategy:
        case "topic":
            return f"{topic}-value"
        case "record":
            return record
        case "topic-record":
            return f"{topic}-{record}"
    raise ValueError(f"unknown strategy `{strategy}`, expected one of {', '.join(get_args(SubjectName))}")


@dataclass(slots=True)
class SchemaRegistry:
    """The schemas of a topic in a registry. Answers are kept, because a schema never changes under its id.

    Arguments:
        settings: the settings of confluent-kafka's `SchemaRegistryClient`, such as `url`.
        topic: the name of the topic.
        strategy: how subjects are named.
        register: whether the schemas of writers are registered; otherwise they must be registered before.
    """

    settings: Mapping[str, Any]
    topic: str
    strategy: SubjectName = "topic"
    register: bool = True
    _client: SchemaRegistryClient | None = None
    _ids: dict[str, int] = field(default_factory=dict)
    _contracts: dict[int, Contract] = field(default_factory=dict)

    def id_of(self, contract: Contract) -> int:
        """Return the id of a writer's schema, registered if it is new; see `Registry.id_of`."""
        if contract.json not in self._ids:
            name = subject(self.strategy, self.topic, contract.record.name)
            self._ids[contract.json] = self._id_of(name, contract)
        return self._ids[contract.json]

    def contract(self, schema_id: int) -> Contract:
        """Return the schema with an id; see `Registry.contract`."""
        if schema_id not in self._contracts:
            self._contracts[schema_id] = self._contract(schema_id)
        return self._contracts[schema_id]

    def contracts(self) -> dict[int, Contract]:
        """Return the schemas of the topic's subject by id, if they are Avro and do not refer to others.

        The strategy `record` has no subject of a topic: then return the schemas that this process knows.

        Raises:
            RegistryError: the registry cannot be reached.
        """
        if self.strategy != "record":
            prefix = subject(self.strategy, self.topic, "")
            names = self._ask("cannot be read", lambda client: client.get_subjects())
            for name in names:
                if name == prefix or (self.strategy == "topic-record" and name.startswith(prefix)):
                    self._read_subject(name)
        return dict(self._contracts)

    def _read_subject(self, name: str) -> None:
        versions = self._ask("cannot be read", lambda client: client.get_versions(name))
        for schema_id in self._ask(
            "cannot be read", lambda client: [client.get_version(name, number).schema_id for number in versions]
        ):
            with suppress(UndecodableError):  # others may register schemas, which concern only messages with them
                self.contract(int(schema_id))

    def _id_of(self, name: str, contract: Contract) -> int:
        from confluent_kafka.schema_registry import Schema

        schema = Schema(contract.json, "AVRO")
        what = f"did not accept the schema `{contract.record.name}` for the subject `{name}`"
        if self.register:
            return int(self._ask(what, lambda client: client.register_schema(name, schema)))
        return int(self._ask(what, lambda client: client.lookup_schema(name, schema).schema_id))

    def _contract(self, schema_id: int) -> Contract:
        schema = self._ask("cannot be read", lambda client: client.get_schema(schema_id), schema_id)
        if schema.schema_type != "AVRO":
            raise UndecodableError(f"the schema with the id {schema_id} must be Avro, found {schema.schema_type}")
        if schema.references:
            names = ", ".join(f"`{reference.name}`" for reference in schema.references)
            raise UndecodableError(
                f"the schema with the id {schema_id} refers to other schemas of the registry ({names}), which is not "
                "supported"
            )
        try:
            return parse_contract(str(schema.schema_str))
        except ValueError as error:
            raise UndecodableError(f"the schema with the id {schema_id} is not a valid record: {error}") from None

    def _ask(self, what: str, request: Callable[[SchemaRegistryClient], Any], schema_id: int | None = None) -> Any:
        """Return the answer of the registry.

        Arguments:
            what: what the registry did if it fails, for the message.
            request: sends the request.
            schema_id: the id of the schema that is requested, if any.
        """
        client = self._connected()
        from confluent_kafka.schema_registry.error import SchemaRegistryError

        try:
            return request(client)
        except Exception as error:
            if isinstance(error, SchemaRegistryError) and error.http_status_code == 404 and schema_id is not None:
                message = f"the schema registry has no schema with the id {schema_id}"
                raise UnknownSchemaError(str(schema_id), message) from None
            # Errors of the network come from the client's HTTP library, which depends on its version.
            message = f"the schema registry {self.settings.get('url')} {what}: {error}"  # it may repeat the request
            raise RegistryError(Secrets(secrets_of_values(self.settings)).masked(message)) from error

    def _connected(self) -> SchemaRegistryClient:
        if self._client is None:
            try:
                from confluent_kafka.schema_registry import SchemaRegistryClient
            except ImportError as error:
                raise RegistryError(
                    f"the format `confluent` needs the Python package `{error.name}`, which is not installed: "
                    "`pip install 'streamlets[registry]'`"
                ) from None

            try:
                self._client = SchemaRegistryClient({**LIMITS, **self.settings})
            except (TypeError, ValueError) as error:
                raise RegistryError(f"invalid settings of the schema registry: {error}") from None
        return self._client
