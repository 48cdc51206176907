"""Enforcement of contracts at ports, for DataFrames and Arrow batches; independent of channels."""

from streamlets.contract.conform import Conformance, conform, conformance
from streamlets.contract.errors import ContractError, Misfit
from streamlets.contract.resolve import resolver
from streamlets.contract.types import arrow_schema, spark_schema

__all__ = [
    "Conformance",
    "ContractError",
    "Misfit",
    "arrow_schema",
    "conform",
    "conformance",
    "resolver",
    "spark_schema",
]
