"""Every type of Spark is either proved as a unit, against Spark's own GROUP BY on the raw column,
or refused. The same for char(n) and varchar(n), whose files other programs may have written.
"""

from collections.abc import Iterable

import duckdb
import pytest

from discreet.engines.spark.engine import Spark
from discreet.engines.spark.session import new_session
from discreet.errors import SchemaError
from discreet.plan.sql.dialects import SPARK
from discreet.plan.sql.preparation.statement import lattice_rows
from support.loaded_engines import INTERPRETED
from support.unit_values import SPELLINGS, check_units, column, proved, table_of

KINDS = {
    "ArrayType": "array<double>",
    "BinaryType": "binary",
    "BooleanType": "boolean",
    "ByteType": "tinyint",
    "CalendarIntervalType": "interval",
    "CharType": None,  # of tables only, below
    "DateType": "date",
    "DayTimeIntervalType": "interval day to second",
    "DecimalType": "decimal(20,2)",
    "DoubleType": "double",
    "FloatType": "float",
    "GeographyType": None,
    "GeometryType": None,
    "IntegerType": "int",
    "LongType": "bigint",
    "MapType": "map<string, double>",
    "NullType": "void",
    "ShortType": "smallint",
    "StringType": "string",
    "StructType": "struct<a: double>",
    "TimeType": None,
    "TimestampNTZType": "timestamp_ntz",
    "TimestampType": "timestamp",
    "UserDefinedType": None,
    "VarcharType": None,
    "VariantType": "variant",
    "YearMonthIntervalType": "interval year to month",
}
"""How each class of types is written; None where a value cannot be made by a cast."""

NO_TYPES = {
    "AnsiIntervalType", "AnyTimeType", "AtomicType", "DataType", "DatetimeType", "FractionalType",
    "IntegralType", "NumericType", "SpatialType", "StructField",
}  # fmt: skip
BY_NAME = ("time(6)", "geometry(4326)", "geography(4326)", "udt", "char(5) collate UTF8_LCASE")
ACCEPTED = {"bigint", "boolean", "date", "int", "smallint", "string", "text_UTF8_BINARY", "tinyint"}


def columns() -> dict[str, str]:
    """A column for every class of types and for the collations that are no language's."""
    from pyspark.sql import types

    known = {
        name
        for name, value in vars(types).items()
        if isinstance(value, type) and issubclass(value, types.DataType)
    }
    assert known - NO_TYPES <= set(KINDS), "a type of Spark that is neither proved nor refused"
    made = {column(kind): kind for name, kind in KINDS.items() if kind and name in known}
    listed = new_session().sql("SHOW COLLATIONS").collect()
    names = [row["NAME"] for row in listed if row["NAME"].startswith(("UTF8", "UNICODE"))]
    return made | {f"text_{name}": f"string collate {name}" for name in names}


def types_of(source: str) -> dict[str, str]:
    with Spark({"source": source}, time_limit_seconds=300) as engine:
        return dict(engine.describe("source"))


def checked(source: str, types: dict[str, str], names: Iterable[str]) -> list[str]:
    """Those of the columns whose types are accepted, after their proof."""
    with Spark({"source": source}, time_limit_seconds=300) as engine:
        session = engine._open()
        for name, value in INTERPRETED.items():
            session.conf.set(f"spark.sql.{name}", value)

        def rows(sql):
            return [tuple(row) for row in session.sql(sql).collect()]

        return proved(
            names, types, lambda name: check_units(rows, "source", "source", types, "spark", name)
        )


def is_accepted(types: dict[str, str], name: str) -> bool:
    try:
        lattice_rows(table_of(name, 1), "source", types, "spark")
    except SchemaError:
        return False
    return True


@pytest.mark.parametrize("kind", BY_NAME)
def test_types_without_values_are_refused(kind):
    with pytest.raises(SchemaError, match="a unit of the type"):
        lattice_rows(table_of("id", 1), "source", {"n": "int", "id": kind}, "spark")


@pytest.mark.usefixtures("spark_present")
def test_every_spark_type_is_proved_or_refused(tmp_path):
    session = new_session()
    made = columns()
    spelt = ", ".join(
        f"({number}, {SPARK.literal(text)})" for number, text in enumerate(SPELLINGS * 2)
    )
    casts = []
    for name, kind in made.items():
        cast = f"try_cast(s AS {kind})"
        if "collate" in kind:
            cast = f"collate(s, '{kind.split()[-1]}')"
        elif kind == "binary":
            cast = "CAST(s AS BINARY)"
        elif kind.partition("<")[0] in ("array", "map", "struct", "variant", "interval", "void"):
            cast = f"CAST(NULL AS {kind})"  # made of others, each of which is tried itself
        casts.append(f'{cast} AS "{name}"')
    session.sql(
        f"CREATE OR REPLACE GLOBAL TEMP VIEW every AS SELECT n, {', '.join(casts)} "
        f"FROM VALUES {spelt} AS t(n, s)"
    )
    try:
        types = types_of("spark:global_temp.every")
        accepted = [name for name in made if is_accepted(types, name)]
        assert set(accepted) == ACCEPTED
        kept = session.table("global_temp.every").select("n", *accepted).coalesce(1)
        kept.write.parquet(str(tmp_path / "kept"))
    finally:
        session.catalog.dropGlobalTempView("every")
    source = f"spark:{tmp_path}/kept"
    assert types_of(source) == {name: types[name] for name in ("n", *accepted)}
    assert checked(source, types, accepted) == accepted


@pytest.mark.usefixtures("spark_present")
def test_padded_and_short_texts_of_spark_tables(tmp_path):
    session = new_session()
    raw = [text for text in SPELLINGS if len(text) <= 9] * 2
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE raw (n INTEGER, p VARCHAR, s VARCHAR, c VARCHAR)")
        rows = [(number, text, text, text) for number, text in enumerate(raw)]
        connection.executemany("INSERT INTO raw VALUES (?, ?, ?, ?)", rows)
        (tmp_path / "padded").mkdir()
        connection.execute(f"COPY raw TO '{tmp_path}/padded/rows.parquet'")
    session.sql("DROP TABLE IF EXISTS padded")
    session.sql(
        "CREATE TABLE padded (n INT, p CHAR(9), s VARCHAR(9), c CHAR(9) COLLATE UTF8_LCASE) "
        f"USING parquet LOCATION '{tmp_path}/padded'"
    )
    try:
        types = types_of("spark:padded")
        assert checked("spark:padded", types, ("p", "s", "c")) == ["p", "s"]
    finally:
        session.sql("DROP TABLE padded")
