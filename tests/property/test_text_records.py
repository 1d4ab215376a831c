"""The reader of text records: what a writer wrote is read back, and a line that is no record costs
itself and nothing else, wherever it stands.
"""

import csv
import io
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.files.names import source_files
from discreet.engines.files.sources import relation
from discreet.engines.files.texts import records
from discreet.engines.files.tidying import needs_tidying, tidy
from discreet.schema.format import Format
from support.databases import Scratch

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
    given = Format(quote=quote, multiline=True)
    found = list(records(lines_of(text), given, delimiter, 2))
    assert [each.cells for each in found] == rows
    starts = [each.line for each in found]
    assert starts == sorted(set(starts))
    for record in found:
        rest = "".join(list(lines_of(text))[record.line - 1 :])
        assert next(records(lines_of(rest), given, delimiter, 2)).cells == record.cells


@settings(max_examples=25)
@given(rows=st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=8))
def test_a_copy_holds_every_cell(rows):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        file.write_bytes(("a,b\n" + written(rows, (",", '"'), "\n")).encode("cp1252"))
        copy = tidy(
            source_files(str(file)), Format(encoding="cp1252", multiline=True), Path(folder)
        )
        assert copy.left_out == 0
        names = "{'$file': 'VARCHAR', '$line': 'VARCHAR', a: 'VARCHAR', b: 'VARCHAR'}"
        with closing(Scratch()) as database:
            read = f"read_csv('{copy.path}', header = true, delim = ',', quote = '\"', "
            read += f"escape = '\"', auto_detect = false, columns = {names})"
            found = database.rows(f"SELECT a, b FROM {read}")
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


LINES = st.text(st.sampled_from(list("ab1 ,;\t\"'\x00é€\r")), max_size=12)


def alone(line, quote, delimiter):
    found = list(records(iter([f"{line}\n"]), Format(quote=quote), delimiter, 2))
    return [each.cells for each in found]


@given(
    lines=st.lists(LINES, max_size=10),
    quote=st.sampled_from(['"', "'", ""]),
    delimiter=st.sampled_from([",", ";", "\t"]),
)
def test_every_line_is_read_as_if_it_stood_alone(lines, quote, delimiter):
    text = (f"{line}\n" for line in lines)
    found = [each.cells for each in records(text, Format(quote=quote), delimiter, 2)]
    assert found == [cells for line in lines for cells in alone(line, quote, delimiter)]


@settings(max_examples=150)
@given(
    lines=st.lists(LINES, min_size=1, max_size=8),
    quote=st.sampled_from(['"', "'", ""]),
    ends=st.sampled_from(["\n", "\r\n"]),
    last=st.booleans(),
)
def test_the_engine_reads_a_clean_file_as_we_do(lines, quote, ends, last):
    kept = [line for line in lines if alone(line, quote, ",") not in ([], [None])]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        text = ends.join(["a,b", *kept]) + (ends if last else "")
        file.write_bytes(text.encode())
        form = Format(quote=quote)
        if needs_tidying(source_files(str(file)), form):
            return
        with closing(Scratch()) as database:
            found = database.rows(f"SELECT a, b FROM {relation(str(file), form)}")
    read = [alone(line, quote, ",")[0] for line in kept]
    assert found == [tuple(cell or None for cell in row) for row in read]


def test_clean_files_are_left_to_the_engine_and_others_are_not(tmp_path):
    file = tmp_path / "rows.csv"
    clean = ["1,x", '"1","x ""y"" , z"', "1,", ",", " 1 , x ", "1,é", "1,'"]
    other = ['1, "x"', '"1" ,x', '1,"x', "1", "1,2,3", "", "1,\rx", "1,\udcff", "1,\0", '1,x"y']
    for lines, wanted in ((clean, False), *(([*clean, line], True) for line in other)):
        data = "\n".join(["a,b", *lines, ""]).encode("utf-8", "surrogateescape")
        file.write_bytes(data)
        assert needs_tidying(source_files(str(file)), Format()) is wanted, lines[-1]
