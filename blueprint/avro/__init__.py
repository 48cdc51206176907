"""Avro schemas: loading, resolution with reasons, fingerprints, and their Spark type names."""

from blueprint.avro.canonical import canonical_form, fingerprint
from blueprint.avro.changes import Change, InapplicableError, apply_edit
from blueprint.avro.loading import Loaded, load_contract, parse_contract
from blueprint.avro.model import Contract
from blueprint.avro.planner import IncompatibleError, resolve_plan
from blueprint.avro.reasons import Place, Reason, Resolution, Rule
from blueprint.avro.resolution import check

__all__ = [
    "Change",
    "Contract",
    "InapplicableError",
    "IncompatibleError",
    "Loaded",
    "Place",
    "Reason",
    "Resolution",
    "Rule",
    "apply_edit",
    "canonical_form",
    "check",
    "fingerprint",
    "load_contract",
    "parse_contract",
    "resolve_plan",
]
