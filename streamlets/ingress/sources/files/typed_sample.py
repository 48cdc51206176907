"""Samples of files that have the types of their columns: Avro and Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from streamlets.ingress.sources.files.sample import FileRows, nullable
from streamlets.ingress.sources.sample import SampleError

if TYPE_CHECKING:
    import pyarrow as pa


def avro_sample(file: IO[bytes]) -> FileRows:
    """Return the first records of an Avro container file, with the types of its schema.

    Raises:
        SampleError: it is not one, or does not have records.
    """
    import fastavro

    try:
        reader: Any = fastavro.reader(file)
        schema = reader.writer_schema
    except Exception as error:  # noqa: BLE001 - fastavro raises many types for damaged files
        raise SampleError(f"is not an Avro container file: {type(error).__name__}: {error}") from None
    if not isinstance(schema, Mapping) or schema.get("type") != "record":
        raise SampleError("has values of another type, expected records")
    types = {field["name"]: field["type"] for field in schema["fields"]}
    return FileRows(_avro_rows(reader), list(types), types=types)


def _avro_rows(reader: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    try:
        for number, record in enumerate(reader, 1):
            yield record, f"record {number}"
    except GeneratorExit:
        raise
    except Exception as error:  # noqa: BLE001 - as above
        raise SampleError(f"is damaged: {type(error).__name__}: {error}") from None


def parquet_sample(file: IO[bytes]) -> FileRows:
    """Return the first rows of a Parquet file, with the types of its schema.

    Raises:
        SampleError: it is not one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        parquet = pq.ParquetFile(file)
    except (pa.ArrowException, EOFError) as error:
        raise SampleError(f"is not a Parquet file: {str(error).splitlines()[0]}") from None
    types, doubts = {}, []
    for field in parquet.schema_arrow:
        known = avro_type(field.type, field.name)
        if known is None:
            doubts.append((field.name, f"`{field.type}` has no equivalent in Avro"))
        types[field.name] = known if known is None or not field.nullable else nullable(known)
    return FileRows(_parquet_rows(parquet), list(types), types=types, doubts=doubts)


def _parquet_rows(parquet: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    number = 0
    for batch in parquet.iter_batches(200):
        for row in batch.to_pylist(maps_as_pydicts="lossy"):
            number += 1
            yield row, f"record {number}"


def avro_type(type: pa.DataType, path: str) -> Any:
    """Return a type of Arrow as Avro in JSON; None if Avro has none for it.

    Arguments:
        type: the type.
        path: the path of the column, from which records in it are named.
    """
    import pyarrow as pa

    is_type = pa.types
    if is_type.is_decimal(type):
        return {"type": "bytes", "logicalType": "decimal", "precision": type.precision, "scale": type.scale}
    if is_type.is_timestamp(type):
        return {"type": "long", "logicalType": "timestamp-micros" if type.tz else "local-timestamp-micros"}
    if is_type.is_dictionary(type):
        return avro_type(type.value_type, path)
    if is_type.is_struct(type):
        fields = [(field, avro_type(field.type, f"{path}.{field.name}")) for field in type]
        if any(inner is None for _, inner in fields):
            return None
        name = "".join(part[:1].upper() + part[1:] for part in re.split(r"\W+|_", path))
        inner = [{"name": f.name, "type": nullable(t) if f.nullable else t} for f, t in fields]
        return {"type": "record", "name": name, "fields": inner}
    if is_type.is_list(type) or is_type.is_large_list(type):
        items = avro_type(type.value_type, path)
        return None if items is None else {"type": "array", "items": nullable(items)}
    if is_type.is_map(type):
        values = avro_type(type.item_type, path) if is_type.is_string(type.key_type) else None
        return None if values is None else {"type": "map", "values": nullable(values)}
    return _LEAVES.get(str(type))


_LEAVES: Mapping[str, object] = {
    "bool": "boolean",
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), "int"),
    **dict.fromkeys(("int64", "uint32"), "long"),
    **dict.fromkeys(("float", "halffloat"), "float"),
    "double": "double",
    **dict.fromkeys(("string", "large_string", "string_view", "null"), "string"),
    **dict.fromkeys(("binary", "large_binary"), "bytes"),
    "date32[day]": {"type": "int", "logicalType": "date"},
    "time64[us]": {"type": "long", "logicalType": "time-micros"},
    "time32[ms]": {"type": "int", "logicalType": "time-millis"},
}
