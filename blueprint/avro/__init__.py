"""Avro schemas: loading, resolution with reasons, fingerprints, and their Spark type names."""

from blueprint.avro.canonical import canonical_form, fingerprint
from blueprint.avro.loading import Loaded, load_contract, parse_contract
from blueprint.avro.model import Contract

__all__ = ["Contract", "Loaded", "canonical_form", "fingerprint", "load_contract", "parse_contract"]
