"""Java's Avro, which Spark decodes with, as a third oracle; it comes with Spark."""

from __future__ import annotations

import io
import json
import random
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from blueprint.avro import check
from tests.blueprint.avro.claims import Claims
from tests.blueprint.avro.schemas import Generator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAIRS = 300


@pytest.mark.spark
def test_javas_checker_agrees_and_java_decodes(spark: SparkSession) -> None:
    """Java's checker agrees on every pair, and Java decodes the records of compatible pairs.

    Pairs with `name-and-alias` are excluded: Java rejects a field with both its name and an alias, and we warn.
    """
    jvm: Any = spark._jvm
    parser, factory = jvm.org.apache.avro.Schema, jvm.org.apache.avro.io.DecoderFactory.get()
    compared = 0
    for seed in range(PAIRS):
        claims = Claims(Generator(random.Random(seed)))
        if claims.divergence == "name-and-alias":
            continue
        writer, reader = (parser.Parser().parse(contract.json) for contract in (claims.writer, claims.reader))
        compatible = check(claims.writer, claims.reader, suggest=False).compatible
        result = jvm.org.apache.avro.SchemaCompatibility.checkReaderWriterCompatibility(reader, writer)
        assert (result.getType().toString() == "COMPATIBLE") == compatible, (claims.writer.json, claims.reader.json)
        if compatible:
            data = bytearray(_coded(claims))
            decoder = factory.binaryDecoder(data, None)
            assert jvm.org.apache.avro.generic.GenericDatumReader(writer, reader).read(None, decoder) is not None
        compared += 1
    assert compared > PAIRS * 0.9


def _coded(claims: Claims) -> bytes:
    """One random record of the writer."""
    coded = io.BytesIO()
    record = claims.generator.value(claims.flat_writer.root, claims.flat_writer)
    fastavro.schemaless_writer(coded, fastavro.parse_schema(json.loads(claims.writer.json), named_schemas={}), record)
    return coded.getvalue()
