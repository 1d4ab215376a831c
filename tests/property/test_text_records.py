"""The reader of text records: what a writer wrote is read back, and a line that is no record costs
itself and nothing else, wherever it stands.
"""

import csv
import io
import tempfile
from pathlib import Path

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.files import source_files
from discreet.engines.texts import records
from discreet.engines.tidying import tidy
from discreet.schema.format import Format

signs = st.sampled_from(list("ab1 ,;|\t\"'\n\r\x00é€"))
cells = st.text(signs, max_size=6)
plain = st.text(st.sampled_from(list("ab1 é€.-")), min_size=1, max_size=6).filter(str.strip)
delimiters = st.sampled_from([",", ";", "\t", "|"])
# None of these is a record of three cells, alone or with what follows it.
junk = st.sampled_from(
    ["x", "1,2", "1,2,3,4", '"never closed', '"a"b,2,3', '1,"2,3', "bad \udcff,2,3"]
)


def written(rows, given, ends):
    target = io.StringIO()
    writer = csv.writer(
        target,
        delimiter=given[0],
        quotechar=given[1],
        lineterminator=ends,
        quoting=csv.QUOTE_ALL,  # the writer leaves a lone carriage return without quotes
    )
    writer.writerows(rows)
    return target.getvalue()


def lines_of(text):
    return iter(io.StringIO(text, newline=""))


@given(
    rows=st.lists(st.lists(cells, min_size=2, max_size=2), max_size=8),
    delimiter=delimiters,
    quote=st.sampled_from(['"', "'"]),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_was_written_is_read(rows, delimiter, quote, ends):
    text = written(rows, (delimiter, quote), ends)
    found = list(records(lines_of(text), Format(quote=quote), delimiter, 2))
    assert [each.cells for each in found] == rows
    starts = [each.line for each in found]
    assert starts == sorted(set(starts))
    for record in found:
        rest = "".join(list(lines_of(text))[record.line - 1 :])
        assert (
            next(records(lines_of(rest), Format(quote=quote), delimiter, 2)).cells == record.cells
        )


@settings(max_examples=25)
@given(rows=st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=8))
def test_a_copy_holds_every_cell(rows):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        file.write_bytes(("a,b\n" + written(rows, (",", '"'), "\n")).encode("cp1252"))
        copy = tidy(source_files(str(file)), Format(encoding="cp1252"), Path(folder))
        assert copy.left_out == 0
        names = "{'$file': 'VARCHAR', '$line': 'VARCHAR', a: 'VARCHAR', b: 'VARCHAR'}"
        with duckdb.connect() as connection:
            read = f"read_csv('{copy.path}', header = true, delim = ',', quote = '\"', "
            read += f"escape = '\"', auto_detect = false, columns = {names})"
            found = connection.sql(f"SELECT a, b FROM {read}").fetchall()
    assert found == [tuple(cell or None for cell in row) for row in rows]


@given(
    rows=st.lists(st.one_of(junk, st.lists(plain, min_size=3, max_size=3).map(tuple)), max_size=12),
    ends=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_a_line_that_is_no_record_costs_itself_alone(rows, ends):
    text = ends.join(row if isinstance(row, str) else ",".join(row) for row in rows) + ends
    found = list(records(lines_of(text), Format(), ",", 3))
    assert [(each.line, each.cells) for each in found] == [
        (line, None if isinstance(row, str) else list(row)) for line, row in enumerate(rows, 1)
    ]
