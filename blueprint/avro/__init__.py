"""Avro schemas: loading, resolution with reasons, fingerprints, and their Spark type names.

What only some commands need is imported from its own module, to keep the start short: `planner.resolve_plan` with the
nodes of `reading`, `changes.apply_edit`, `spark_types`, `spark_problems`.
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
