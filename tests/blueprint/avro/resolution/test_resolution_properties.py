"""The checker compared with two others on random pairs; benchmarks/avro_resolution.py does so ten thousand times."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.blueprint.avro.claims import Claims
from tests.blueprint.avro.schemas import Generator
from tests.random_examples import examples

EXAMPLES = settings(max_examples=examples(300), deadline=None, suppress_health_check=list(HealthCheck), database=None)
seeds = st.integers(0, 2**63)


@EXAMPLES
@given(seeds)
def test_compatible_records_decode_and_incompatible_ones_do_not(seed: int) -> None:
    """fastavro and Apache Avro decode records of compatible pairs, and fail on some record of every other pair."""
    Claims(Generator(random.Random(seed))).decoders_agree()


@EXAMPLES
@given(seeds)
def test_another_checker_agrees(seed: int) -> None:
    """Apache Avro's checker finds the same pairs compatible."""
    Claims(Generator(random.Random(seed))).checkers_agree()


@EXAMPLES
@given(seeds)
def test_every_reason_names_a_place_that_exists(seed: int) -> None:
    """The path of every reason leads to a field of the reader, and its places to types of both schemas."""
    Claims(Generator(random.Random(seed))).paths_exist()


@EXAMPLES
@given(seeds)
def test_every_change_takes_its_reason_away(seed: int) -> None:
    """The change of an only reason makes the pair compatible; for several reasons, all changes together do."""
    Claims(Generator(random.Random(seed))).changes_work()


@EXAMPLES
@given(seeds)
def test_the_read_plan_gives_what_fastavro_reads(seed: int) -> None:
    """Executing a plan on a writer's record gives the same record as fastavro."""
    Claims(Generator(random.Random(seed))).plan_reads()


@EXAMPLES
@given(seeds)
def test_the_json_that_travels_is_the_whole_contract(seed: int) -> None:
    """The JSON text parses to an equal contract with the same fingerprint, and the canonical form is fastavro's."""
    Claims(Generator(random.Random(seed))).json_is_whole()
