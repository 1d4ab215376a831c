"""What a text file is taken for: marks of numbers, codes, times, lines above a table, a first line
that holds no names. Each case is a file that was taken for something else before."""

import gzip
import re

import pytest

from discreet.engines.files.preview import preview
from discreet.errors import SchemaError
from discreet.schema.format import Format
from support.command_line import run


def guessed(folder, text, name="t.csv", **declared):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return preview(str(folder / name), declared).guess


def column(cells, delimiter=","):
    quoted = [f'"{cell}"' if delimiter in cell else cell for cell in cells]
    return f"id{delimiter}what\n" + "".join(
        f"p{place}{delimiter}{cell}\n" for place, cell in enumerate(quoted)
    )


@pytest.mark.parametrize(
    ("cells", "delimiter", "marks", "kind", "checked"),
    [
        (["39,576", "1,200", "800"], ",", (".", ","), "BIGINT", True),
        (["39,576", "1,200,000"], ",", (".", ","), "BIGINT", False),
        (["39,57", "1,200"], ",", (",", ""), "DOUBLE", False),
        (["0,576", "1,200"], ",", (",", ""), "DOUBLE", False),
        (["39,576", "1,200"], ";", (".", ","), "BIGINT", True),
        (["12.345", "1.200"], ",", (".", ""), "DOUBLE", True),
        (["12.345", "1.200"], ";", (".", ""), "DOUBLE", True),
        (["12.345", "1.200,5"], ";", (",", "."), "DOUBLE", False),
        (["12.345", "0.5"], ";", (".", ""), "DOUBLE", False),
    ],
)
def test_marks_before_three_digits(tmp_path, cells, delimiter, marks, kind, checked):
    guess = guessed(tmp_path, column(cells, delimiter))
    assert (guess.format.decimal, guess.format.thousands) == marks
    assert dict(guess.columns)["what"] == kind
    assert checked == any("before three digits" in doubt for doubt in guess.doubts)


@pytest.mark.parametrize("evidence", ["31.12.2024", "0,5"])
def test_other_german_marks_make_points_thousands(tmp_path, evidence):
    rows = "".join(f"{number}.345;{evidence}\n" for number in range(1, 20))
    guess = guessed(tmp_path, f"pop;other\n{rows}")
    assert (guess.format.decimal, guess.format.thousands) == (",", ".")
    assert guess.columns[0] == ("pop", "BIGINT")


@pytest.mark.parametrize(
    "cells",
    [["00123", "45678"], ["01", "12"], ["+491711234567", "+491711234568"], ["0171123", "0171124"]],
)
def test_codes_are_no_numbers(tmp_path, cells):
    guess = guessed(tmp_path, column(cells))
    assert dict(guess.columns)["what"] == "VARCHAR"
    assert any("taken as codes" in doubt for doubt in guess.doubts)
    plain = guessed(tmp_path, column(["0", "10", "-5"]))
    assert dict(plain.columns)["what"] == "BIGINT"
    assert plain.doubts == ()


@pytest.mark.parametrize(
    ("cell", "pattern"),
    [
        ("23.02.2024 14:30", "%d.%m.%Y %H:%M"),
        ("2024-01-01T10:00:00Z", None),
        ("2024-01-01 10:00:00+01:00", None),
        ("2024-01-01 10:00", None),
        ("02/23/2024 2:30 PM", "%m/%d/%Y %I:%M %p"),
    ],
)
def test_times_are_datetimes(tmp_path, cell, pattern):
    guess = guessed(tmp_path, column([cell, cell]))
    assert dict(guess.columns)["what"] == "DATETIME"
    patterns = () if pattern is None else (pattern,)
    assert guess.format.datetime == guess.format.date == patterns


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["24%", "7.5 %"], "percentages such as 24%"),
        (["(120)", "30", "(1,200)"], r"numbers such as \(120\)"),
        (["39,50 €", "4 €"], "the sign of a currency"),
        (["$39.50", "USD 4"], "the sign of a currency"),
        (["ja", "nein"], r'keys = \["ja", "nein"\]'),
        (["Ja", "Nein", "Ja"], r'keys = \["Ja", "Nein"\]'),
        (["wahr", "falsch"], r'keys = \["wahr", "falsch"\]'),
        (["oui"], r'keys = \["oui", "non"\]'),
    ],
)
def test_what_texts_look_like_is_said(tmp_path, cells, said):
    guess = guessed(tmp_path, column(cells, ";"))
    assert dict(guess.columns)["what"] == "VARCHAR"
    assert [doubt for doubt in guess.doubts if re.search(f"what: .*{said}", doubt)], guess.doubts


@pytest.mark.parametrize("cells", [["yes", "no", "Y", "N"], ["TRUE", "false"], ["t", "f"]])
def test_words_that_are_read_as_truths_are_booleans(tmp_path, cells):
    assert dict(guessed(tmp_path, column(cells)).columns)["what"] == "BOOLEAN"


@pytest.mark.parametrize("cells", [["north", "abc123", "ICD 10"], ["a-1", "b-2"], ["DE1", "FR22"]])
def test_of_plain_words_nothing_is_said(tmp_path, cells):
    assert guessed(tmp_path, column(cells)).doubts == ()


ROWS = [
    f"p{n},{n % 7 + 20},2024-01-{n % 28 + 1:02},{'north' if n % 2 else 'south'}" for n in range(20)
]


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ("id,age,day,region", True),
        ("p99,39,2024-01-01,north", False),
        ("p99,39,,", False),
        ("p99,NA,2024-01-01,north", False),
        ("id,2019,2020,region", True),  # a word that is no number, over numbers
        (",age,day,", True),
        ("id,y,day,region", True),
    ],
)
def test_whether_the_first_line_holds_names(tmp_path, first, is_header):
    guess = guessed(tmp_path, "\n".join([first, *ROWS]) + "\n")
    assert guess.format.header is is_header
    if not is_header:
        assert [name for name, _ in guess.columns] == [f"column_{n}" for n in range(1, 5)]
        assert (guess.format.columns, guess.format.delimiter) == (4, ",")
        assert any("line 1 looks like a row" in doubt for doubt in guess.doubts)


@pytest.mark.parametrize("first", ["country,2019,2020,2021", "who,1,2,3"])
def test_a_series_of_numbers_may_be_names(tmp_path, first):
    rows = [f"c{n},{n + 7},{n * 3},{n + 1}" for n in range(20)]
    guess = guessed(tmp_path, "\n".join([first, *rows]) + "\n")
    assert guess.format.header
    assert [name for name, _ in guess.columns] == first.split(",")
    assert any("are numbers; if that line is a row" in doubt for doubt in guess.doubts)
    assert not guessed(tmp_path, "\n".join([first, *rows]) + "\n", header=False).format.header


def test_a_file_of_words_without_names(tmp_path):
    rows = [f"{'north' if n % 2 else 'south'},{'red' if n % 3 else 'blue'}" for n in range(20)]
    assert not guessed(tmp_path, "\n".join(rows)).format.header
    assert guessed(tmp_path, "\n".join(["place,colour", *rows])).format.header
    assert guessed(
        tmp_path, "\n".join(["place,colour", *rows, "place,colour", *rows])
    ).format.header


@pytest.mark.parametrize(
    ("above", "line"),
    [
        ("A title\n", 2),
        ("A title\n\n\n", 4),
        ("A title,,,\n", 2),
        ("A title, with a comma\nmade by hand\n", 3),
        ("# a comment\n# another, longer, one\n", 3),
        ("\n\n", 1),
        ("", 1),
    ],
)
def test_lines_above_a_table(tmp_path, above, line):
    text = above + "\n".join(["id,age,day,region,a,b", *(f"{row},1,2" for row in ROWS)])
    guess = guessed(tmp_path, text)
    assert guess.format.first_line == line
    assert guess.format.header
    assert [name for name, _ in guess.columns][:2] == ["id", "age"]
    assert (line > 1) == any(f"first_line = {line}" in doubt for doubt in guess.doubts)


@pytest.mark.parametrize(
    "text",
    [
        "comment\nhello, world\nyes, of course\nno\n",
        "id,a,b,c\n1,2,3\n4,5,6\n",
        "name,x\na,1\n",
        "v\n1,5\n2,75\n",
    ],
)
def test_what_is_no_title(tmp_path, text):
    guess = guessed(tmp_path, text)
    assert guess.format.first_line == 1
    assert guess.columns[0][0] == text.partition("\n")[0].partition(",")[0]


def test_one_column_of_decimal_commas(tmp_path):
    guess = guessed(tmp_path, "paid\n1,50\n2,75\n12,5\n")
    assert guess.columns == (("paid", "DOUBLE"),)
    assert guess.format == Format(delimiter=";", decimal=",")


def test_what_most_cells_say_and_add_would_refuse_is_said(tmp_path):
    guess = guessed(tmp_path, column(["1"] * 18 + ["many", "few"]))
    assert dict(guess.columns)["what"] == "BIGINT"
    assert any("`discreet add` refuses" in doubt for doubt in guess.doubts)


def test_a_declared_format_is_kept(tmp_path):
    text = column(["39,576", "1,200"])
    guess = guessed(tmp_path, text, decimal=",", thousands="")
    assert (guess.format.decimal, guess.format.thousands) == (",", "")
    assert dict(guess.columns)["what"] == "DOUBLE"


def test_init_speaks_of_files_without_rows_and_of_one_column(tmp_path):
    (tmp_path / "t t.csv").write_text("age\n")
    said = run("init", tmp_path / "t t.csv").out
    assert "types of 1 column." in said
    assert "No row below the header can be read" in said
    assert f"Then: discreet add '{tmp_path / 't t.toml'}'" in said


def test_an_archive_that_ends_early_is_named(tmp_path):
    text = "id,what\n" + "".join(f"{n},{n * 7919 % 1000003}\n" for n in range(50_000))
    packed = gzip.compress(text.encode())
    for share in (0.001, 0.01, 0.5):
        (tmp_path / "t.csv.gz").write_bytes(packed[: int(len(packed) * share)])
        try:
            preview(str(tmp_path / "t.csv.gz"))
        except SchemaError as error:
            message = str(error)
        else:
            message = "t.csv.gz"  # the first rows were whole
        assert "t.csv.gz" in message


def two_days(first, second, *, rows=60):
    lines = [f"{n},{first.format(n % 28 + 1)},{second.format(n % 28 + 1)}" for n in range(rows)]
    return "id,one,two\n" + "\n".join(lines) + "\n"


def test_days_and_months_in_two_orders_are_told(tmp_path):
    """No list of patterns reads both; the first one that fits would read the other wrongly."""
    guess = guessed(tmp_path, two_days("{:02d}/03/2024", "04/{:02d}/2024"))
    assert guess.format.date == ("%d/%m/%Y",)
    assert any(doubt.startswith("two: ") and "another order" in doubt for doubt in guess.doubts)


def test_a_column_of_either_order_is_read_as_the_other_columns_are(tmp_path):
    text = two_days("{:02d}/{:02d}/2024".replace("{:02d}/{:02d}", "05/06"), "04/{:02d}/2024")
    guess = guessed(tmp_path, text)
    assert guess.format.date == ("%m/%d/%Y",)
    assert not any("distinguished" in doubt for doubt in guess.doubts)


def test_years_of_two_digits_are_told(tmp_path):
    for text in ("16.04.45", "20/01/02", "12/31/99"):
        guess = guessed(tmp_path, column([text] * 20))
        assert any("years have two digits" in doubt for doubt in guess.doubts), text


@pytest.mark.parametrize("name", ["t", "n", "y", "f", "T", "no", "yes"])
@pytest.mark.parametrize("cell", ["17", "2.5", "2024-03-01", "2024-03-01 10:00:00"])
def test_a_name_that_could_be_a_truth_is_a_name(tmp_path, name, cell):
    guess = guessed(tmp_path, f"ward,{name}\n" + f"north,{cell}\n" * 60)
    assert guess.format.header
    assert [each for each, _ in guess.columns] == ["ward", name]


def test_cells_with_ends_of_lines_are_told(tmp_path):
    guess = guessed(tmp_path, "id,note\n" + '1,"a\nb"\n' * 30)
    assert guess.format.multiline
    assert any("multiline = true is proposed" in doubt for doubt in guess.doubts)


@pytest.mark.parametrize("row", ['1,5" tube', "1,'O''Neil, J'", '1,"a \\" b"'])
def test_lines_that_are_no_records_are_told(tmp_path, row):
    guess = guessed(tmp_path, "id,what\n" + f"{row}\n" * 60)
    assert any("no records" in doubt for doubt in guess.doubts)


def test_numbers_of_any_length_in_the_first_line(tmp_path):
    guess = guessed(tmp_path, f"{'9' * 5000},{'8' * 5000}\n" + "1,2\n" * 20)
    assert len(guess.columns) == 2


def test_ends_of_lines_are_a_matter_of_text_files_alone(tmp_path):
    guess = guessed(tmp_path, '{"id": 1, "a": 2}\n{"id": 2, "a": 2}\n', "t.jsonl")
    assert guess.doubts == ()
    assert not guess.format.multiline
