"""Avro schemas: loading, schema resolution with reasons, fingerprints, and the corresponding Spark types.

Modules that only some commands need are imported directly, which keeps the start of a command short:
`planner.resolve_plan` with the nodes of `reading`, `changes.apply_edit`, `spark_types`, `spark_problems`.
"""

from blueprint.avro.canonical import canonical_form, fingerprint
from blueprint.avro.checking import check
from blueprint.avro.loading import Loaded, load_contract, parse_contract
from blueprint.avro.model import Contract
from blueprint.avro.reasons import Place, Reason, Resolution, Rule

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
