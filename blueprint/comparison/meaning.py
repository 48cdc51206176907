"""The Spark settings that change what expressions mean, and with it what is added to the state of a query."""

from __future__ import annotations

TIME_ZONE = "spark.sql.session.timeZone"

MEANINGS = (
    TIME_ZONE,
    "spark.sql.ansi.enabled",
    "spark.sql.ansi.strictIndexOperator",
    "spark.sql.avro.datetimeRebaseModeInRead",
    "spark.sql.caseSensitive",
    "spark.sql.charAsVarchar",
    "spark.sql.chunkBase64String.enabled",
    "spark.sql.columnNameOfCorruptRecord",
    "spark.sql.csv.parser.columnPruning.enabled",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.execution.pandas.convertToArrowArraySafely",
    "spark.sql.execution.pandas.inferPandasDictAsMap",
    "spark.sql.execution.pandas.structHandlingMode",
    "spark.sql.execution.pyspark.binaryAsBytes",
    "spark.sql.execution.pythonUDF.arrow.enabled",
    "spark.sql.execution.pythonUDF.pandas.intToDecimalCoercionEnabled",
    "spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype",
    "spark.sql.execution.pythonUDTF.arrow.enabled",
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.sql.files.ignoredPathSegmentRegex",
    "spark.sql.fromJsonForceNullableSchema",
    "spark.sql.icu.caseMappings.enabled",
    "spark.sql.json.enableExactStringParsing",
    "spark.sql.json.enablePartialResults",
    "spark.sql.jsonGenerator.ignoreNullFields",
    "spark.sql.jsonGenerator.writeNullIfWithDefaultValue",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orc.mergeSchema",
    "spark.sql.parquet.binaryAsString",
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.fieldId.read.enabled",
    "spark.sql.parquet.fieldId.read.ignoreMissing",
    "spark.sql.parquet.inferTimestampNTZ.enabled",
    "spark.sql.parquet.int96AsTimestamp",
    "spark.sql.parquet.int96RebaseModeInRead",
    "spark.sql.parquet.int96TimestampConversion",
    "spark.sql.parquet.mergeSchema",
    "spark.sql.readSideCharPadding",
    "spark.sql.sources.default",
    "spark.sql.sources.partitionColumnTypeInference.enabled",
    "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled",
    "spark.sql.timestampType",
    "spark.sql.variant.allowDuplicateKeys",
    "spark.sql.variant.validateUnicodeInJsonParsing",
)
"""Those outside of `LEGACY`."""

LEGACY = "spark.sql.legacy."
"""The beginning of the names of all settings that restore the meaning of an older Spark."""


def changes_meaning(setting: str) -> bool:
    """Return whether a Spark setting changes what expressions mean."""
    return setting in MEANINGS or setting.startswith(LEGACY)
