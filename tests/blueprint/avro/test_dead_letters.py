"""The contract of dead letters, which is written to disk and must stay what it is."""

from __future__ import annotations

from blueprint.avro.dead_letters import dead_letter_contract
from blueprint.avro.spark_problems import spark_problems
from blueprint.avro.spark_types import spark_ddl


def test_the_contract_is_fixed() -> None:
    """Its fields and fingerprint are those of the tables that exist; a new field comes last and with a default."""
    contract = dead_letter_contract()
    assert spark_ddl(contract) == (
        "record string NOT NULL, port string NOT NULL, coordinates string NOT NULL, reason string NOT NULL, "
        "time timestamp NOT NULL, version string NOT NULL"
    )
    assert contract.fingerprint == "669d253651f1d76b"
    assert spark_problems(contract) == ()
