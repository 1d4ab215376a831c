"""The made-up clinic: visits of people who do not exist, the same on every machine.
Seeded by a hash, in whole numbers; no licence question, and nothing here is noise.
"""

from pathlib import Path

from discreet.rationals import Number, positive

__all__ = ["PATIENTS", "SCHEMA", "write_clinic"]

PATIENTS = 100_000
"""How many patients the clinic has; they make about five visits each."""

SCHEMA = """\
# What is publicly known about the made-up clinic, and what may be spent on its patients.
[table]
name = "visits"
source = "visits.parquet"
population = "patients"
unit = "patient_id"
rows_per_unit = 20
answer_seconds = 0.25

[columns]
day       = { type = "date", lower = 2024-01-01, upper = 2025-12-31 }
region    = { type = "category", keys = ["north", "east", "south", "west", "coast", "hills"] }
condition = { type = "category", keys = ["cold", "injury", "asthma", "diabetes", "heart"], \
other = true }
age       = { type = "integer", lower = 0, upper = 110 }
smoker    = { type = "boolean" }
income    = { type = "number", lower = 0, upper = 200000, step = 1, null = "drop" }
bill      = { type = "number", lower = 0, upper = 500, step = 0.01 }

[budget]
epsilon = 3
"""
"""The schema file of the clinic."""

# A hash of the seed and a number is cut into whole numbers from 0 to 65535: a, b, c, ...
_PATIENTS_SQL = """
CREATE TEMP TABLE patients AS
WITH hashed AS (
    SELECT patient, md5_number_lower('{seed} patient ' || patient) AS low,
           md5_number_upper('{seed} patient ' || patient) AS high
    FROM range(1, {patients} + 1) AS people(patient)
), parts AS (
    SELECT patient, (low & 65535)::INTEGER AS a, ((low >> 16) & 65535)::INTEGER AS b,
           ((low >> 32) & 65535)::INTEGER AS c, (low >> 48)::INTEGER AS d,
           (high & 65535)::INTEGER AS e, ((high >> 16) & 65535)::INTEGER AS f,
           ((high >> 32) & 65535)::INTEGER AS g, (high >> 48)::INTEGER AS h
    FROM hashed
), placed AS (
    SELECT *, least(c, d) * 6 // 65536 AS place FROM parts
)
SELECT patient, place,
    1 + a % 4 + (a >> 2) % 4 + CASE WHEN b % 10 = 0 THEN e % 20 ELSE 0 END AS visits,
    ['north', 'east', 'south', 'west', 'coast', 'hills'][1 + place] AS region,
    a % 60 + e % 41 AS age,
    f % 100 < 18 AS smoker,
    CASE WHEN g % 20 = 0 THEN NULL
         ELSE 14000 + 3000 * place + g // 2 + CASE WHEN h % 50 = 0 THEN 4 * h ELSE 0 END
    END AS income
FROM placed
"""
_VISITS_SQL = """
CREATE TEMP TABLE visits AS
WITH numbered AS (
    SELECT *, unnest(range(visits)) AS visit FROM patients
), hashed AS (
    SELECT *, md5_number_lower('{seed} visit ' || patient || ' ' || visit) AS low FROM numbered
), parts AS (
    SELECT *, (low & 65535)::INTEGER AS a, ((low >> 16) & 65535)::INTEGER AS b,
           ((low >> 32) & 65535)::INTEGER AS c, (low >> 48)::INTEGER AS d
    FROM hashed
)
SELECT patient AS patient_id,
    DATE '2024-01-01' + a % 731 AS day,
    region,
    CASE WHEN smoker AND b % 100 >= 92 THEN 'asthma'
         WHEN b % 100 < 34 THEN 'cold' WHEN b % 100 < 52 THEN 'injury'
         WHEN b % 100 < 60 THEN 'asthma'
         WHEN b % 100 < 74 THEN 'diabetes' WHEN b % 100 < 76 + age // 6 THEN 'heart'
         ELSE 'checkup' END AS condition,
    age, smoker, income,
    (4000 + 900 * place + c % 9000 + CASE WHEN b % 100 >= 74 THEN d // 2 ELSE d // 8 END)
        ::DECIMAL(9, 2) / 100 AS bill
FROM parts
ORDER BY day, patient_id, visit
"""


def write_clinic(path: Path, *, patients: Number = PATIENTS, seed: str = "discreet") -> None:
    """Write the visits of the made-up clinic to a parquet file."""
    import duckdb

    words = {"seed": seed.replace("'", ""), "patients": int(positive(patients, "patients"))}
    with duckdb.connect(":memory:") as connection:
        for statement in (_PATIENTS_SQL, _VISITS_SQL):
            connection.execute(statement.format(**words))
        part = path.with_name(f".{path.name}.part")
        connection.table("visits").write_parquet(str(part))
    part.replace(path)
