"""The codes of findings, each with its family, severity and meaning. `finding` creates a finding.

A code is described in four places, which tests keep consistent: here, in the index `docs/diagnostics.md`, on its page
`docs/diagnostics/<code>.md` and in a case of `tests/diagnostics/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from blueprint.diagnostics.model import Diagnostic, Fix, Frame, Label, Severity, Span

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True, slots=True)
class Code:
    """A code: the default severity of its findings, and its meaning in one line."""

    severity: Severity
    meaning: str


FAMILIES: dict[str, dict[str, Code]] = {
    "The blueprint file and its sections": {
        "blueprint-section-missing": Code(_ERROR, "a section that every blueprint has is missing or empty"),
        "connections-section": Code(_ERROR, "the 1.x section `connections` is used instead of `topics`"),
        "unknown-key": Code(_ERROR, "a key is not known, so nothing reads it"),
        "wrong-type": Code(_ERROR, "a value has the wrong type for its key"),
    },
    "Names": {
        "streamlet-twice": Code(_ERROR, "a file defines two streamlets with the same name"),
        "streamlet-name": Code(_ERROR, "a streamlet's name is not a DNS label"),
        "topic-id": Code(_ERROR, "a topic's id is not valid"),
        "topic-name": Code(_ERROR, "a topic's physical name is not valid"),
        "cluster-name": Code(_ERROR, "a cluster's name is not a DNS label"),
        "application-name": Code(_ERROR, "the application's name is not valid in directory and query names"),
        "topic-name-clash": Code(_ERROR, "two topics would be the same topic on their channel"),
        "class-path": Code(_ERROR, "the class of a streamlet is not given as a class path"),
        "port-name": Code(_ERROR, "a port's name is not a DNS label"),
    },
    "Streamlets": {
        "module-not-found": Code(_ERROR, "the module of a streamlet's class does not exist"),
        "module-shadowed": Code(_ERROR, "a module of the project has the name of a module of the framework"),
        "module-raises": Code(_ERROR, "importing the module of a streamlet's class raises"),
        "class-not-found": Code(_ERROR, "the module has no such class"),
        "not-a-streamlet": Code(_ERROR, "the class is not a streamlet"),
        "abstract-streamlet": Code(_ERROR, "the class is abstract"),
        "reserved-attribute": Code(_ERROR, "a port or config parameter has the name of an attribute of its base class"),
        "method-signature": Code(_ERROR, "a method of a streamlet does not take the arguments with which it is called"),
        "constructor-raises": Code(_ERROR, "the constructor of a streamlet raises"),
        "shape-raises": Code(_ERROR, "computing the shape of a streamlet raises"),
        "shape-differs": Code(_ERROR, "a streamlet's shape does not match the ports it declares"),
        "streamlet-unused": Code(_NOTE, "no blueprint uses a streamlet class of the project"),
        "streamlet-unreachable": Code(_WARNING, "no ingress or external topic leads to the streamlet"),
    },
    "Ports": {
        "port-path": Code(_ERROR, "a port path is not `streamlet.port`"),
        "unknown-streamlet": Code(_ERROR, "a port path names a streamlet that does not exist"),
        "unknown-port": Code(_ERROR, "a port path names a port that does not exist"),
        "wrong-direction": Code(_ERROR, "an inlet is listed as a producer, or an outlet as a consumer"),
        "port-listed-twice": Code(_ERROR, "a port is listed twice in one topic"),
        "port-bound-twice": Code(_ERROR, "a port is connected to several topics"),
        "port-unconnected": Code(_ERROR, "a port is not connected to a topic"),
        "port-name-shared": Code(_ERROR, "two ports of a streamlet have the same name"),
    },
    "Topics": {
        "topic-without-producers": Code(_ERROR, "a managed topic has consumers but no producers"),
        "topic-without-consumers": Code(_WARNING, "a topic has producers but no consumers"),
        "topic-unused": Code(_WARNING, "a topic has neither producers nor consumers"),
        "topic-not-fused": Code(_NOTE, "a topic that need not be durable is stored nevertheless"),
        "topic-twice": Code(_ERROR, "a file defines the producers or the consumers of a topic twice"),
        "topic-settings-contradict": Code(_ERROR, "settings of a topic contradict each other"),
        "query-channels": Code(_ERROR, "a query would write to several channels"),
        "unknown-channel": Code(_ERROR, "a topic names a channel that does not exist"),
        "unknown-cluster": Code(_ERROR, "a topic names a cluster that is not defined"),
        "servers-missing": Code(_ERROR, "a topic or its cluster has no servers"),
        "deduplicate": Code(_ERROR, "an inlet cannot recognize doubles as its settings say"),
        "channel-requirement": Code(_ERROR, "this machine does not have what a channel needs"),
        "client-setting": Code(_ERROR, "a client setting has no effect, or an effect on one of the clients only"),
        "client-setting-doubt": Code(_WARNING, "a client or a topic may not have a setting, or a file does not exist"),
        "transaction-split": Code(_WARNING, "a batch may have only a part of a transaction of a spout"),
        "cycle": Code(_ERROR, "streamlets form a cycle"),
        "inlet-cannot-open": Code(_ERROR, "an inlet waits for a producer that waits for its streamlet"),
        "inlet-waits-for-ever": Code(_WARNING, "an inlet waits for the end of a producer that does not end by itself"),
        "inlet-waits-for-nothing": Code(
            _WARNING, "an inlet is to wait for producers, but no streamlet writes its topic"
        ),
        "end-never-comes": Code(_WARNING, "a streamlet is to end with its producers, which do not end by themselves"),
        "cycle-not-there": Code(_WARNING, "`allow-cycles` names a streamlet that is not in a cycle"),
        "cycle-records": Code(_ERROR, "the condition under which records return into a cycle cannot be enforced"),
    },
    "Contracts": {
        "contract-incompatible": Code(_ERROR, "a consumer cannot read what a producer of its topic may write"),
        "contract-risk": Code(_WARNING, "a consumer may misinterpret what a producer of its topic writes"),
        "partition-column": Code(_ERROR, "an outlet is partitioned by a column that is not in its schema"),
    },
    "Schemas": {
        "schema-no-schema": Code(_ERROR, "a value given as a schema is not a schema"),
        "schema-missing": Code(_ERROR, "neither the class nor the configuration sets the schema of a port"),
        "schema-given-twice": Code(_ERROR, "the configuration sets the schema of a port whose class sets it too"),
        "schema-not-found": Code(_ERROR, "a schema file does not exist"),
        "schema-unreadable": Code(_ERROR, "a schema file is a directory, empty, not text, or not readable"),
        "schema-syntax": Code(_ERROR, "a schema is not valid JSON"),
        "schema-ddl": Code(_ERROR, "schema columns are not valid Spark DDL, or have no Avro type"),
        "schema-not-a-record": Code(_ERROR, "a port schema is not a record"),
        "schema-bad-type": Code(_ERROR, "a value in a schema is not an Avro type"),
        "schema-unknown-type": Code(_ERROR, "a schema uses a type that it does not define"),
        "schema-wrong-file": Code(_ERROR, "a file named after a type does not define the type"),
        "schema-bad-name": Code(_ERROR, "a name in a schema is not allowed"),
        "schema-duplicate-name": Code(_ERROR, "a schema defines a name twice"),
        "schema-duplicate-field": Code(_ERROR, "a record has two fields with the same name"),
        "schema-ambiguous-alias": Code(_ERROR, "an alias of a field is the name or alias of another"),
        "schema-missing-attribute": Code(_ERROR, "a part of a schema lacks a required attribute"),
        "schema-bad-attribute": Code(_ERROR, "an attribute in a schema has an invalid value"),
        "schema-bad-union": Code(_ERROR, "a union has no branch, a duplicate branch, or contains another union"),
        "schema-bad-default": Code(_ERROR, "a default is not a value of its type"),
        "schema-logical-type-ignored": Code(_WARNING, "an invalid logical type is ignored"),
        "schema-unsupported-hint": Code(_ERROR, "a type hint or default of a dataclass has no Avro type"),
        "schema-unsupported-by-spark": Code(_ERROR, "Spark cannot represent a type of a schema"),
    },
    "Parameters and volume mounts": {
        "parameter-key": Code(_ERROR, "a config parameter's key is not valid"),
        "parameter-declared-twice": Code(_ERROR, "two config parameters of a streamlet have the same key"),
        "parameter-pattern": Code(_ERROR, "the pattern of a config parameter is not a valid regular expression"),
        "parameter-default": Code(_ERROR, "the default of a config parameter does not match its type"),
        "parameter-value": Code(_ERROR, "the value of a config parameter is invalid, or its streamlet rejects it"),
        "checkpoint-shared": Code(_ERROR, "two queries keep their checkpoints in the same directory"),
        "checkpoint-in-output": Code(_ERROR, "files are written to the directory of a checkpoint or of the state"),
        "output-read": Code(_ERROR, "a stream reads files of a directory that its application writes"),
        "directory-shared": Code(_ERROR, "two streamlets write to the same directory"),
        "tcp-port-shared": Code(_ERROR, "two streamlets listen on the same TCP port"),
        "secret-in-command": Code(_WARNING, "the command of a spout has a secret, which all users can read"),
        "parameter-check-raises": Code(_ERROR, "a streamlet raises while it checks its config parameters"),
        "parameter-missing": Code(_ERROR, "a config parameter has neither a value nor a default"),
        "unknown-parameter": Code(_ERROR, "a value is set for a config parameter that does not exist"),
        "discovery-config": Code(_ERROR, "the configuration of a batch source's triggerer is invalid"),
        "discovery-next": Code(_NOTE, "when the cron expression of a batch source fires next"),
        "volume-mount": Code(_ERROR, "the declaration of a volume mount is not valid"),
        "volume-mount-missing": Code(_ERROR, "no directory is set for a volume mount"),
        "unknown-volume-mount": Code(_ERROR, "a directory is set for a volume mount that does not exist"),
    },
    "Texts: HOCON, JSON, YAML": {
        "file-not-found": Code(_ERROR, "a file does not exist"),
        "file-unreadable": Code(_ERROR, "a file is a directory, not UTF-8 text, too large, or not readable"),
        "file-empty": Code(_ERROR, "a required file is empty"),
        "syntax": Code(_ERROR, "a text is not valid HOCON, JSON or YAML"),
        "too-deep": Code(_ERROR, "values are nested, or refer to each other, too deeply"),
        "too-large": Code(_ERROR, "a text expands to too many values"),
        "duplicate-key": Code(_ERROR, "a key appears twice in one object of a JSON or YAML text"),
        "concatenation": Code(_ERROR, "values of different types are concatenated"),
        "unresolved-substitution": Code(_ERROR, "`${...}` refers to a value that is not defined"),
        "substitution-cycle": Code(_ERROR, "substitutions form a cycle"),
        "include-not-found": Code(_ERROR, "a required include names a file that does not exist"),
        "include-empty": Code(_NOTE, "an include that may be missing names a file that does not exist"),
        "include-cycle": Code(_ERROR, "a file includes itself"),
        "include-unsupported": Code(_ERROR, "an include names a URL, a classpath resource or a properties file"),
    },
    "SQL jobs": {
        "sql-syntax": Code(_ERROR, "a statement of a SQL job is not valid"),
        "sql-statement": Code(_ERROR, "a job has a statement of Spark SQL that it must not have"),
        "sql-duplicate": Code(_ERROR, "a clause, option, column, stream or view of a job is defined twice"),
        "sql-unknown-name": Code(_ERROR, "a job saves a stream, view or column that it does not define"),
        "sql-query-name": Code(_ERROR, "the name of a job's query is not valid"),
        "sql-query-clash": Code(_ERROR, "two queries of a job have the same name"),
        "sql-directory-clash": Code(_ERROR, "two queries of a job have the same directory for checkpoints or files"),
        "sql-provider": Code(_ERROR, "a source or sink of a job does not exist, or cannot be used like this"),
        "sql-option": Code(_ERROR, "an option of a source, a sink or a restart is unknown, missing or invalid"),
        "sql-partition": Code(_ERROR, "the rows of a query cannot be partitioned like this"),
        "sql-job": Code(_ERROR, "a job saves nothing, has a command, or has an invalid name"),
    },
    "Settings": {
        "unknown-setting": Code(_ERROR, "a setting does not exist"),
        "setting-type": Code(_ERROR, "a setting has a value of the wrong type"),
        "setting-twice": Code(_WARNING, "a file sets a setting twice"),
        "real-time-channel": Code(_ERROR, "a real-time trigger is set on a channel that does not support it"),
        "replicas-without-effect": Code(_WARNING, "`replicas` is set for a streamlet that cannot share its work"),
        "retry-settings": Code(_ERROR, "retry settings contradict each other"),
        "spark-setting-unknown": Code(_WARNING, "Spark does not have a setting"),
    },
    "Clusters": {
        "driver-address": Code(_ERROR, "executors on other machines cannot reach the driver"),
        "cluster-contradiction": Code(_WARNING, "a setting of Spark overrides a setting of the cluster"),
        "cluster-secret": Code(_ERROR, "the secret of the cluster is not set, or set twice"),
        "cluster-open": Code(_WARNING, "connections with a cluster on the network are not authenticated"),
        "cluster-path": Code(_ERROR, "executors on other machines do not see a directory of the application"),
        "cluster-cores": Code(_ERROR, "the cores of the cluster are too few for the application"),
    },
    "Samples: with `--sample`": {
        "sample-column-missing": Code(_ERROR, "the data of a source does not have a column of its schema"),
        "sample-column-unread": Code(_NOTE, "the data of a source has a column that its schema does not have"),
        "sample-value": Code(_WARNING, "records of a source do not fit its schema"),
        "sample-unreadable": Code(_WARNING, "the data of a source cannot be read"),
    },
    "Logic: with `--plans`": {
        "unknown-column": Code(_ERROR, "the logic names a column that does not exist"),
        "watermark-column": Code(_ERROR, "a watermark is set on a column that is not a timestamp"),
        "plan-refused": Code(_ERROR, "Spark rejects an expression, a function or a source of the logic"),
        "output-mode": Code(_ERROR, "a query does not support its output mode"),
        "unsupported-operator": Code(_ERROR, "Spark does not support an operator on a stream"),
        "unbounded-state": Code(_WARNING, "the state of an operator grows without bound"),
        "real-time-plan": Code(_ERROR, "a query has a real-time trigger and cannot run in real-time mode"),
        "continuous-trigger": Code(_ERROR, "a query has Spark's continuous trigger"),
        "python-udf": Code(_NOTE, "a Python function runs for each record"),
        "outlet-schema": Code(_ERROR, "the rows for an outlet do not match its schema"),
        "outlet-unwritten": Code(_WARNING, "no query writes an outlet"),
        "outlet-written-twice": Code(_ERROR, "two queries write one outlet"),
        "inlet-unread": Code(_WARNING, "an inlet is never read, or no query uses its records"),
        "not-a-stream": Code(_ERROR, "a query writes a DataFrame that is not a stream"),
        "source-name": Code(_ERROR, "a source's name is not valid"),
        "source-unnamed": Code(_ERROR, "a source has no name to store its position under"),
        "source-used-twice": Code(_ERROR, "one query uses a source twice under the same name"),
        "query-name": Code(_ERROR, "a query's name is not valid"),
        "query-name-clash": Code(_ERROR, "two queries of a streamlet have the same name"),
        "query-without-sink": Code(_ERROR, "a query does not name a sink"),
        "query-started": Code(_WARNING, "the logic starts a query itself"),
        "query-lost": Code(_ERROR, "a query is created or started, but not returned"),
        "no-queries": Code(_WARNING, "the logic returns no query"),
        "logic-result": Code(_ERROR, "the logic returns something other than queries"),
        "logic-impure": Code(_ERROR, "the logic returns different queries when it is built again"),
        "logic-misuse": Code(_ERROR, "the logic calls the framework incorrectly"),
        "logic-raises": Code(_ERROR, "the logic raises while it is built"),
        "action-in-logic": Code(_ERROR, "the logic runs a job, writes or waits while it is built"),
        "spark-setting": Code(_ERROR, "Spark does not accept a setting for a single streamlet"),
    },
    "Changes: with `--against`": {
        "descriptor": Code(_ERROR, "a file to compare with is not a descriptor written by `flow describe`"),
        "change-application": Code(_ERROR, "the application has a different name, and so a different state directory"),
        "change-streamlet-added": Code(_ERROR, "a streamlet is new"),
        "change-streamlet-removed": Code(_ERROR, "a streamlet was removed"),
        "change-streamlet-renamed": Code(_ERROR, "a streamlet seems to have been renamed"),
        "change-class": Code(_ERROR, "a streamlet has a different class"),
        "change-port-added": Code(_ERROR, "a streamlet has a new inlet or outlet"),
        "change-port-removed": Code(_ERROR, "an inlet or outlet was removed"),
        "change-port-renamed": Code(_ERROR, "an inlet or outlet seems to have been renamed"),
        "change-inlet-rewired": Code(_ERROR, "an inlet reads a different topic"),
        "change-outlet-rewired": Code(_NOTE, "an outlet writes a different topic"),
        "change-schema": Code(_ERROR, "a port has a different schema"),
        "change-topic-moved": Code(_ERROR, "a topic has a different id, name, cluster or channel"),
        "change-topic-settings": Code(_ERROR, "a setting of a topic has a different value"),
        "change-query-added": Code(_NOTE, "the logic has a new query"),
        "change-query-removed": Code(_ERROR, "a query of the logic was removed"),
        "change-query-renamed": Code(_ERROR, "a query seems to have been renamed"),
        "change-query-sources": Code(_ERROR, "a query reads different sources"),
        "change-query-logic": Code(_ERROR, "a query treats new records differently, or its logic cannot be compared"),
        "change-query-state": Code(_ERROR, "a query has different stateful operators"),
        "change-source-evolution": Code(_ERROR, "the sources of a streamlet gain or lose their names in checkpoints"),
        "change-parameter": Code(_NOTE, "a config parameter has a different value"),
        "change-port-settings": Code(_NOTE, "a port reads, checks or partitions records differently"),
        "change-discovery": Code(_NOTE, "a batch source is triggered differently"),
        "change-tasks": Code(_ERROR, "the tasks or keys of a batch source have another form"),
        "change-trigger": Code(_NOTE, "a streamlet or query has a different trigger"),
        "change-replicas": Code(_NOTE, "a streamlet has a different number of replicas"),
        "change-retry": Code(_NOTE, "the restart settings of a streamlet changed"),
        "change-supervision": Code(_NOTE, "a streamlet is started, watched or ended differently"),
        "change-spark-setting": Code(_NOTE, "a Spark setting has a different value"),
        "change-volume-mount": Code(_NOTE, "a volume mount is in a different directory"),
    },
    "Levels and silencing": {
        "unknown-code": Code(_WARNING, "a level or a comment names a code that does not exist"),
        "level-refused": Code(_ERROR, "a finding that prevents planning cannot be lowered or silenced"),
        "allow-unused": Code(_WARNING, "a comment allows a finding that does not exist"),
    },
}
"""The codes by family, in the order of the documentation."""

CODES: dict[str, Code] = {name: code for family in FAMILIES.values() for name, code in family.items()}


def finding(
    code: str,
    headline: str,
    at: Span | Label | None = None,
    *,
    label: str = "",
    also: Iterable[Label] = (),
    causes: Iterable[str] = (),
    help: Iterable[str] = (),
    frames: Iterable[Frame] = (),
    fix: Fix | None = None,
    severity: Severity | None = None,
    streamlets: Iterable[str] = (),
    topics: Iterable[str] = (),
) -> Diagnostic:
    """Return a finding of a registered code.

    Arguments:
        code: one of `CODES`.
        headline: one sentence that can be read alone.
        at: the place to look at first.
        label: the message at that place, if `at` is a span.
        also: further places.
        causes: as in `Diagnostic`.
        help: as in `Diagnostic`.
        frames: as in `Diagnostic`.
        fix: as in `Diagnostic`.
        severity: the severity; default: the severity of the code.
        streamlets: as in `Diagnostic`, in any number of times each.
        topics: as in `Diagnostic`.

    Raises:
        KeyError: the code is not registered.
    """
    primary = Label(at, label) if isinstance(at, Span) else at
    return Diagnostic(
        code=code,
        severity=severity or CODES[code].severity,
        headline=headline,
        primary=primary,
        secondary=tuple(also),
        causes=tuple(causes),
        help=tuple(help),
        frames=tuple(frames),
        fix=fix,
        streamlets=tuple(dict.fromkeys(streamlets)),
        topics=tuple(dict.fromkeys(topics)),
    )
