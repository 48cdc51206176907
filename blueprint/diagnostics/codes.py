"""Every code a finding can have: its family, its severity and one line that says what it means. `finding` makes one.

A code is told in four places, which tests hold to one another: here, in the index `docs/diagnostics.md`, on its page
`docs/diagnostics/<code>.md` and in a case of `tests/diagnostics/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from blueprint.diagnostics.model import Diagnostic, Fix, Frame, Label, Severity, Span

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True, slots=True)
class Code:
    """What a code stands for: the severity its findings have unless told otherwise, and its one-line meaning."""

    severity: Severity
    meaning: str


FAMILIES: dict[str, dict[str, Code]] = {
    "The blueprint file and its sections": {
        "blueprint-section-missing": Code(_ERROR, "a section that every blueprint has is missing or empty"),
        "connections-section": Code(_ERROR, "the 1.x section `connections` is used instead of `topics`"),
        "unknown-key": Code(_ERROR, "a key that nothing reads"),
        "wrong-type": Code(_ERROR, "a value is of another type than the key wants"),
    },
    "Names": {
        "streamlet-twice": Code(_ERROR, "a file has two streamlets of one name"),
        "streamlet-name": Code(_ERROR, "a streamlet's name is no DNS label"),
        "topic-id": Code(_ERROR, "a topic's id cannot be used as one"),
        "topic-name": Code(_ERROR, "a topic's physical name is not allowed"),
        "cluster-name": Code(_ERROR, "a cluster's name is no DNS label"),
        "application-name": Code(_ERROR, "the application's name cannot be a folder or part of query names"),
        "topic-name-clash": Code(_ERROR, "two topics would be one and the same outside the blueprint"),
        "class-path": Code(_ERROR, "the class of a streamlet is not written as a class path"),
        "port-name": Code(_ERROR, "a port's name is no DNS label"),
    },
    "Streamlets": {
        "module-not-found": Code(_ERROR, "the module of a streamlet's class cannot be found"),
        "module-shadowed": Code(_ERROR, "a module of the project is called like one of the framework"),
        "module-raises": Code(_ERROR, "importing the module of a streamlet's class raises"),
        "class-not-found": Code(_ERROR, "the module has no such class"),
        "not-a-streamlet": Code(_ERROR, "the class is no streamlet"),
        "abstract-streamlet": Code(_ERROR, "the class is abstract"),
        "constructor-raises": Code(_ERROR, "the constructor of a streamlet raises"),
        "shape-raises": Code(_ERROR, "the shape of a streamlet cannot be had"),
        "shape-differs": Code(_ERROR, "a streamlet's shape is not made of the ports it declares"),
        "streamlet-unused": Code(_NOTE, "a streamlet class of the project is in no blueprint"),
        "streamlet-unreachable": Code(_WARNING, "no ingress or outside topic leads to the streamlet"),
    },
    "Ports": {
        "port-path": Code(_ERROR, "a port path is not `streamlet.port`"),
        "unknown-streamlet": Code(_ERROR, "a port path names a streamlet that does not exist"),
        "unknown-port": Code(_ERROR, "a port path names a port that does not exist"),
        "wrong-direction": Code(_ERROR, "an inlet among the producers, or an outlet among the consumers"),
        "port-listed-twice": Code(_ERROR, "a port stands twice in one topic"),
        "port-bound-twice": Code(_ERROR, "a port is bound to several topics"),
        "port-unconnected": Code(_ERROR, "a port is bound to no topic"),
        "port-name-shared": Code(_ERROR, "two ports of a streamlet have one name"),
    },
    "Topics": {
        "topic-without-producers": Code(_ERROR, "a managed topic is read and nothing writes it"),
        "topic-without-consumers": Code(_WARNING, "a topic is written and nothing reads it"),
        "topic-unused": Code(_WARNING, "a topic has neither producers nor consumers"),
        "topic-twice": Code(_ERROR, "a file gives a topic one of its lists twice"),
        "topic-settings-contradict": Code(_ERROR, "settings of a topic contradict each other"),
        "unknown-channel": Code(_ERROR, "a topic names a channel that does not exist"),
        "cycle": Code(_ERROR, "streamlets feed each other in a circle"),
        "cycle-not-there": Code(_WARNING, "`allow-cycles` names a streamlet that is in no circle"),
    },
    "Contracts": {
        "contract-incompatible": Code(_ERROR, "a consumer cannot read what a producer of its topic may write"),
        "contract-risk": Code(_WARNING, "a consumer may read something else than a producer of its topic writes"),
        "partition-column": Code(_ERROR, "an outlet is partitioned by a column its schema does not have"),
    },
    "Schemas": {
        "schema-no-schema": Code(_ERROR, "what is given as a schema is none"),
        "schema-missing": Code(_ERROR, "a port has a schema neither from its class nor from the configuration"),
        "schema-given-twice": Code(_ERROR, "the configuration sets the schema of a port whose class gives it"),
        "schema-not-found": Code(_ERROR, "there is no such schema file"),
        "schema-unreadable": Code(_ERROR, "a schema file is a folder, empty, not text, or not readable"),
        "schema-syntax": Code(_ERROR, "a schema is no JSON"),
        "schema-ddl": Code(_ERROR, "a schema's columns are not written as Spark writes them, or Avro cannot say them"),
        "schema-not-a-record": Code(_ERROR, "the schema of a port is no record"),
        "schema-bad-type": Code(_ERROR, "something stands where a type should"),
        "schema-unknown-type": Code(_ERROR, "a schema uses a type that it does not define"),
        "schema-wrong-file": Code(_ERROR, "the file called like a type does not define it"),
        "schema-bad-name": Code(_ERROR, "a name in a schema is not allowed"),
        "schema-duplicate-name": Code(_ERROR, "a schema defines a name twice"),
        "schema-duplicate-field": Code(_ERROR, "a record has two fields of one name"),
        "schema-ambiguous-alias": Code(_ERROR, "an alias of a field is the name or alias of another"),
        "schema-missing-attribute": Code(_ERROR, "a part of a schema lacks an attribute it must have"),
        "schema-bad-attribute": Code(_ERROR, "an attribute in a schema has a value it cannot have"),
        "schema-bad-union": Code(_ERROR, "a union has no branch, one kind of branch twice, or a union in it"),
        "schema-bad-default": Code(_ERROR, "a default is no value of its type"),
        "schema-logical-type-ignored": Code(_WARNING, "a logical type is wrong and counts for nothing"),
        "schema-unsupported-hint": Code(_ERROR, "Avro has nothing for a type hint or default of a dataclass"),
        "schema-unsupported-by-spark": Code(_ERROR, "Spark cannot carry a type of a schema"),
    },
    "Parameters and volume mounts": {
        "parameter-key": Code(_ERROR, "a config parameter's key is not allowed"),
        "parameter-declared-twice": Code(_ERROR, "two config parameters of a streamlet have one key"),
        "parameter-pattern": Code(_ERROR, "the pattern of a config parameter is no regular expression"),
        "parameter-default": Code(_ERROR, "the default of a config parameter does not fit its type"),
        "parameter-value": Code(_ERROR, "the value of a config parameter does not fit it, or what its streamlet wants"),
        "folder-shared": Code(_ERROR, "two streamlets write one folder"),
        "parameter-check-raises": Code(_ERROR, "a streamlet raises as it checks the values of its config parameters"),
        "parameter-missing": Code(_ERROR, "a config parameter has neither value nor default"),
        "unknown-parameter": Code(_ERROR, "a value is given for a config parameter that does not exist"),
        "volume-mount": Code(_ERROR, "a volume mount is declared wrongly"),
        "volume-mount-missing": Code(_ERROR, "no folder is given for a volume mount"),
        "unknown-volume-mount": Code(_ERROR, "a folder is given for a volume mount that does not exist"),
    },
    "Texts: HOCON, JSON, YAML": {
        "file-not-found": Code(_ERROR, "there is no such file"),
        "file-unreadable": Code(_ERROR, "a file is a folder, not UTF-8 text, too large, or not readable"),
        "file-empty": Code(_ERROR, "a file that must say something is empty"),
        "syntax": Code(_ERROR, "a text breaks the grammar of its format"),
        "too-deep": Code(_ERROR, "values nest, or refer to each other, deeper than any real file does"),
        "too-large": Code(_ERROR, "a text stands for more values than any real file does"),
        "duplicate-key": Code(_ERROR, "a key stands twice in one object of a JSON or YAML text"),
        "concatenation": Code(_ERROR, "values of different kinds stand side by side as one value"),
        "unresolved-substitution": Code(_ERROR, "`${...}` names a value that exists nowhere"),
        "substitution-cycle": Code(_ERROR, "substitutions lead back to themselves"),
        "include-not-found": Code(_ERROR, "a required include names a file that does not exist"),
        "include-cycle": Code(_ERROR, "a file includes itself"),
        "include-unsupported": Code(_ERROR, "an include of a URL, a classpath resource or a properties file"),
    },
    "Settings": {
        "unknown-setting": Code(_ERROR, "a setting that does not exist"),
        "setting-type": Code(_ERROR, "a setting's value is of another type than it wants"),
        "real-time-channel": Code(_ERROR, "a real-time trigger on a channel that cannot do it"),
        "retry-settings": Code(_ERROR, "retry settings contradict each other"),
    },
    "Logic: with `--plans`": {
        "unknown-column": Code(_ERROR, "the logic names a column that is not there"),
        "watermark-column": Code(_ERROR, "a watermark stands on a column that is no timestamp"),
        "plan-refused": Code(_ERROR, "Spark refuses an expression, a function or a source of the logic"),
        "output-mode": Code(_ERROR, "a query cannot be written in its output mode"),
        "unsupported-operator": Code(_ERROR, "Spark refuses an operator in a stream"),
        "unbounded-state": Code(_WARNING, "the state of an operator grows for ever"),
        "real-time-plan": Code(_ERROR, "a query has a real-time trigger and cannot run in real time"),
        "python-udf": Code(_NOTE, "a Python function runs for each record"),
        "outlet-schema": Code(_ERROR, "the rows for an outlet do not fit its schema"),
        "outlet-unwritten": Code(_WARNING, "no query writes an outlet"),
        "outlet-written-twice": Code(_ERROR, "two queries write one outlet"),
        "inlet-unread": Code(_WARNING, "an inlet is never read, or no query uses its records"),
        "not-a-stream": Code(_ERROR, "a query is to write what is no stream"),
        "source-name": Code(_ERROR, "a name cannot be a source's"),
        "source-unnamed": Code(_ERROR, "a source has no name to keep its position by"),
        "source-used-twice": Code(_ERROR, "one query uses a source twice under one name"),
        "query-name": Code(_ERROR, "a name cannot be a query's"),
        "query-name-clash": Code(_ERROR, "two queries of a streamlet have one name"),
        "query-without-sink": Code(_ERROR, "a query does not say where its rows go"),
        "query-started": Code(_WARNING, "the logic starts a query itself"),
        "query-lost": Code(_ERROR, "a query is made or started, and not returned"),
        "no-queries": Code(_WARNING, "the logic gives no query"),
        "logic-result": Code(_ERROR, "the logic gives something else than queries"),
        "logic-impure": Code(_ERROR, "the logic gives something else when it is built again"),
        "logic-misuse": Code(_ERROR, "the logic asks the framework for what cannot be"),
        "logic-raises": Code(_ERROR, "the logic raises while it is built"),
        "action-in-logic": Code(_ERROR, "the logic runs a job, writes or waits while it is built"),
        "spark-setting": Code(_ERROR, "Spark refuses a setting for a single streamlet"),
    },
    "Changes: with `--against`": {
        "descriptor": Code(_ERROR, "a file to compare with is no descriptor that `flow describe` wrote"),
        "change-application": Code(_ERROR, "the application has another name, and so another state folder"),
        "change-streamlet-added": Code(_ERROR, "a streamlet is new"),
        "change-streamlet-removed": Code(_ERROR, "a streamlet is gone"),
        "change-streamlet-renamed": Code(_ERROR, "a streamlet seems to have another name"),
        "change-class": Code(_ERROR, "a streamlet is of another class"),
        "change-port-added": Code(_ERROR, "a streamlet has a new inlet or outlet"),
        "change-port-removed": Code(_ERROR, "an inlet or outlet is gone"),
        "change-port-renamed": Code(_ERROR, "an inlet or outlet seems to have another name"),
        "change-inlet-rewired": Code(_ERROR, "an inlet reads another topic"),
        "change-outlet-rewired": Code(_NOTE, "an outlet writes another topic"),
        "change-schema": Code(_ERROR, "a port has another schema"),
        "change-topic-moved": Code(_ERROR, "a topic has another id, name, cluster or channel"),
        "change-topic-settings": Code(_ERROR, "a setting of a topic has another value"),
        "change-query-added": Code(_NOTE, "the logic has a new query"),
        "change-query-removed": Code(_ERROR, "a query of the logic is gone"),
        "change-query-renamed": Code(_ERROR, "a query seems to have another name"),
        "change-query-sources": Code(_ERROR, "a query reads other sources"),
        "change-query-state": Code(_ERROR, "a query keeps another state"),
        "change-source-evolution": Code(_ERROR, "the sources of a streamlet get or lose their names in checkpoints"),
        "change-parameter": Code(_NOTE, "a config parameter has another value"),
        "change-port-settings": Code(_NOTE, "a port reads, checks or lays out records otherwise"),
        "change-trigger": Code(_NOTE, "a streamlet or query has another trigger"),
        "change-retry": Code(_NOTE, "a streamlet is restarted otherwise"),
        "change-spark-setting": Code(_NOTE, "a setting of Spark has another value"),
        "change-volume-mount": Code(_NOTE, "a volume mount is found in another folder"),
    },
    "Levels and silencing": {
        "unknown-code": Code(_WARNING, "a level or a comment is about a code that does not exist"),
        "level-refused": Code(_ERROR, "a finding that leaves nothing to run is to be lowered or silenced"),
        "allow-unused": Code(_WARNING, "a comment allows a finding that is not there"),
    },
}
"""The codes by family, in the order in which they are listed."""

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
) -> Diagnostic:
    """A finding of a registered code.

    Arguments:
        code: one of `CODES`; KeyError otherwise.
        headline: one sentence that can be read alone.
        at: the place to look at first; `label` says what is to be said there (when `at` is a span).
        also: further places; causes, help, frames, fix: as in `Diagnostic`.
        severity: when it is not the code's usual one.
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
    )
