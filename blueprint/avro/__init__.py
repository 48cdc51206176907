"""Avro schemas: loading, schema resolution with reasons, fingerprints, and the corresponding Spark types.

Modules that only some commands need are imported directly, which keeps the start of a command short:
`planner.resolve_plan` with the nodes of `reading`, `changes.apply_edit`, `spark_types`, `spark_problems`.
"""

from blueprint.avro.canonical import canonical_form, fingerprint
from blueprint.avro.model import Contract
from blueprint.avro.resolution.checking import check
from blueprint.avro.resolution.places import Place
from blueprint.avro.resolution.reasons import Reason, Resolution, Rule
from blueprint.avro.sources.loading import Loaded, load_contract, parse_contract

__all__ = [
    "Contract",
    "Loaded",
    "Place",
    "Reason",
    "Resolution",
    "Rule",
    "canonical_form",
    "check",
    "fingerprint",
    "load_contract",
    "parse_contract",
]
