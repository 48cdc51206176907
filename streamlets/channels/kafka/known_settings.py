"""The settings that clients, topics and the schema registry's client have, as data.

Sources: `ProducerConfig`, `ConsumerConfig` and `LogConfig` of Apache Kafka 3.9.1; the properties that librdkafka 2.16.0
accepts; `SchemaRegistryClient` of confluent-kafka 2.16.0. Newer versions may have more: an unknown name is a warning.
"""

from __future__ import annotations

# By the kind of their values: `int`, `float`, `bool`, the allowed values, or any.
_JAVA = {
    "": "auto.offset.reset bootstrap.servers client.dns.lookup client.id client.rack group.id group.instance.id "
    "group.protocol group.remote.assignor interceptor.classes isolation.level key.deserializer key.serializer "
    "metadata.recovery.strategy metric.reporters metrics.recording.level partition.assignment.strategy "
    "partitioner.class sasl.client.callback.handler.class sasl.jaas.config sasl.kerberos.kinit.cmd "
    "sasl.kerberos.service.name sasl.login.callback.handler.class sasl.login.class "
    "sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.url "
    "sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url "
    "security.providers ssl.cipher.suites ssl.enabled.protocols ssl.endpoint.identification.algorithm "
    "ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain "
    "ssl.keystore.key ssl.keystore.location ssl.keystore.password ssl.keystore.type ssl.protocol ssl.provider "
    "ssl.secure.random.implementation ssl.trustmanager.algorithm ssl.truststore.certificates "
    "ssl.truststore.location ssl.truststore.password ssl.truststore.type transactional.id value.deserializer "
    "value.serializer",
    "PLAIN SCRAM-SHA-256 SCRAM-SHA-512 GSSAPI OAUTHBEARER": "sasl.mechanism",
    "PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL": "security.protocol",
    "all -1 0 1": "acks",
    "bool": "allow.auto.create.topics auto.include.jmx.reporter check.crcs enable.auto.commit enable.idempotence "
    "enable.metrics.push exclude.internal.topics partitioner.adaptive.partitioning.enable "
    "partitioner.ignore.keys sasl.oauthbearer.header.urlencode",
    "float": "sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor "
    "sasl.login.refresh.window.factor sasl.login.refresh.window.jitter",
    "int": "auto.commit.interval.ms batch.size buffer.memory compression.gzip.level compression.lz4.level "
    "compression.zstd.level connections.max.idle.ms default.api.timeout.ms delivery.timeout.ms "
    "fetch.max.bytes fetch.max.wait.ms fetch.min.bytes heartbeat.interval.ms linger.ms max.block.ms "
    "max.in.flight.requests.per.connection max.partition.fetch.bytes max.poll.interval.ms max.poll.records "
    "max.request.size metadata.max.age.ms metadata.max.idle.ms metrics.num.samples metrics.sample.window.ms "
    "partitioner.availability.timeout.ms receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms "
    "request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms sasl.kerberos.min.time.before.relogin "
    "sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds "
    "sasl.login.refresh.min.period.seconds sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms "
    "sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.jwks.endpoint.refresh.ms "
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms "
    "send.buffer.bytes session.timeout.ms socket.connection.setup.timeout.max.ms "
    "socket.connection.setup.timeout.ms transaction.timeout.ms",
    "none gzip snappy lz4 zstd": "compression.type",
}
_TOPIC = {
    "": "follower.replication.throttled.replicas leader.replication.throttled.replicas message.format.version",
    "CreateTime LogAppendTime": "message.timestamp.type",
    "bool": "message.downconversion.enable preallocate remote.log.copy.disable remote.log.delete.on.disable "
    "remote.storage.enable unclean.leader.election.enable",
    "compact delete compact,delete delete,compact": "cleanup.policy",
    "float": "min.cleanable.dirty.ratio",
    "int": "compression.gzip.level compression.lz4.level compression.zstd.level delete.retention.ms "
    "file.delete.delay.ms flush.messages flush.ms index.interval.bytes local.retention.bytes "
    "local.retention.ms max.compaction.lag.ms max.message.bytes message.timestamp.after.max.ms "
    "message.timestamp.before.max.ms message.timestamp.difference.max.ms min.compaction.lag.ms "
    "min.insync.replicas retention.bytes retention.ms segment.bytes segment.index.bytes segment.jitter.ms "
    "segment.ms",
    "uncompressed zstd lz4 snappy gzip producer": "compression.type",
}
_LIBRDKAFKA = (
    "api.version.fallback.ms api.version.request api.version.request.timeout.ms auto.commit.enable "
    "batch.num.messages broker.address.family broker.address.ttl broker.version.fallback builtin.features "
    "client.id client.software.name client.software.version compression.codec compression.level "
    "consume.callback.max.messages coordinator.query.interval.ms debug delivery.report.only.error "
    "enable.auto.offset.store enable.gapless.guarantee enable.partition.eof enable.random.seed "
    "enable.sasl.oauthbearer.unsecure.jwt enable.sparse.connections enable.ssl.certificate.verification "
    "fetch.error.backoff.ms fetch.message.max.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.protocol.type "
    "https.ca.location https.ca.pem log.connection.close log.queue log.thread.name max.in.flight "
    "message.copy.max.bytes message.send.max.retries message.timeout.ms metadata.recovery.rebootstrap.trigger.ms "
    "metadata.request.timeout.ms offset.store.method offset.store.path offset.store.sync.interval.ms partitioner "
    "plugin.library.paths produce.offset.report queue.buffering.backpressure.threshold queue.buffering.max.kbytes "
    "queue.buffering.max.messages queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages "
    "queuing.strategy receive.message.max.bytes reconnect.backoff.jitter.ms request.required.acks "
    "sasl.kerberos.keytab sasl.kerberos.principal sasl.mechanisms sasl.oauthbearer.assertion.algorithm "
    "sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds "
    "sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include "
    "sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub "
    "sasl.oauthbearer.assertion.file sasl.oauthbearer.assertion.jwt.template.file "
    "sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase "
    "sasl.oauthbearer.assertion.private.key.pem sasl.oauthbearer.client.credentials.client.id "
    "sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.client.id sasl.oauthbearer.client.secret "
    "sasl.oauthbearer.config sasl.oauthbearer.extensions sasl.oauthbearer.grant.type "
    "sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.method sasl.oauthbearer.scope sasl.password "
    "sasl.username share.acknowledgement.mode socket.blocking.max.ms socket.keepalive.enable socket.max.fails "
    "socket.nagle.disable socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms "
    "ssl.ca.certificate.stores ssl.ca.location ssl.ca.pem ssl.certificate.location ssl.certificate.pem "
    "ssl.crl.location ssl.curves.list ssl.engine.id ssl.engine.location ssl.key.location ssl.key.pem "
    "ssl.providers ssl.sigalgs.list statistics.interval.ms sticky.partitioning.linger.ms topic.blacklist "
    "topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms "
    "topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse "
)


def _by_name(kinds: dict[str, str]) -> dict[str, str]:
    return {name: kind for kind, names in kinds.items() for name in names.split()}


CLIENT = dict.fromkeys(_LIBRDKAFKA.split(), "") | _by_name(_JAVA)
"""The kinds of the settings of both clients, by name."""

TOPIC = _by_name(_TOPIC)
"""The kinds of the settings of topics, by name."""

REGISTRY = {
    "url": "", "timeout": "float", "max.retries": "int", "retries.wait.ms": "int", "retries.max.wait.ms": "int",
    "cache.capacity": "int", "cache.latest.ttl.sec": "float", "proxy": "", "basic.auth.user.info": "",
    "ssl.ca.location": "", "ssl.key.location": "", "ssl.key.password": "", "ssl.certificate.location": "",
    "bearer.auth.credentials.source": "", "bearer.auth.token": "", "bearer.auth.logical.cluster": "",
    "bearer.auth.identity.pool.id": "", "bearer.auth.client.id": "", "bearer.auth.client.secret": "",
    "bearer.auth.scope": "", "bearer.auth.issuer.endpoint.url": "", "bearer.auth.custom.provider.function": "",
    "bearer.auth.custom.provider.config": "",
}  # fmt: skip
"""The kinds of the settings of the schema registry's client, by name."""
