"""Answers as files: CSV, charts, a notebook. Released values only."""

import csv
import io
import json
import tempfile
from pathlib import Path
from urllib.parse import quote

from starlette.responses import Response

from discreet.curator.answer import Answer
from discreet.errors import Unavailable
from discreet.plan.parts.remarks import Note
from discreet.query.readers.naming import free_name

__all__ = ["attachment", "csv_of", "notebook_of", "picture_of"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_of(answer: Answer) -> Response:
    """The rows with their 95% errors, and the notes in a last column of the first row."""
    text = io.StringIO()
    writer = csv.writer(text)
    errors = answer.errors()
    told = free_name("notes", [*answer.columns, *errors]) if answer.notes else None
    header = [*answer.columns, *errors, *([] if told is None else [told])]
    writer.writerow([_cell(name) for name in header])
    notes = "\n".join(map(str, answer.notes))
    for place, row in enumerate(answer.to_dicts()):
        ends = [error[place] for error in errors.values()]
        last = [] if told is None else [_cell(notes) if place == 0 else ""]
        writer.writerow([*(_cell(row[name]) for name in answer.columns), *ends, *last])
    return _file(text.getvalue().encode(), "text/csv; charset=utf-8", answer, "csv")


def _cell(value: object) -> object:
    """A text that a spreadsheet would take for a formula is quoted."""
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def picture_of(answer: Answer, form: str) -> Response:
    """The chart with error bars, as SVG or PNG."""
    kinds = {"svg": "image/svg+xml", "png": "image/png"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"chart.{form}"
        answer.plot(str(file))
        if not file.is_file():
            raise Unavailable("the chart could not be drawn.")
        return _file(file.read_bytes(), kinds[form], answer, form)


def notebook_of(answer: Answer) -> Response:
    """A notebook that fetches this answer again and shows it; server and token are the reader's."""
    receipt = answer.receipt
    lines = [
        "import os",
        "import discreet",
        "client = discreet.Client(os.environ['DISCREET_URL'], os.environ['DISCREET_TOKEN'])",
        f"answer = client.answer({receipt.id!r})",
        "answer",
    ]
    said = [
        f"# Answer {receipt.id}\n",
        "\n",
        f"Asked by {receipt.analyst} at {receipt.time} about {receipt.table}: cost "
        f"{receipt.cost}, protecting each {receipt.unit} (neighbours: {receipt.neighbours}).\n",
        *(f"\n- {_markdown(note)}\n" for note in answer.notes),
    ]
    cells = [
        {"cell_type": "markdown", "id": "about", "metadata": {}, "source": said},
        {
            "cell_type": "code",
            "id": "answer",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": [f"{line}\n" for line in lines[:-1]] + [lines[-1]],
        },
    ]
    body = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return _file(json.dumps(body).encode(), "application/x-ipynb+json", answer, "ipynb")


def _markdown(note: Note) -> str:
    return f"{note.text} To ask how many: `{note.ask}`" if note.ask else note.text


def _file(body: bytes, kind: str, answer: Answer, ending: str) -> Response:
    name = f"answer-{answer.receipt.id}.{ending}"
    return Response(body, media_type=kind, headers=attachment(name))


def attachment(name: str) -> dict[str, str]:
    """The header that gives a file its name; letters beyond ASCII as RFC 8187 writes them.

    >>> attachment("größe.zip")
    {'Content-Disposition': "attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe.zip"}
    """
    said = f'filename="{name}"' if name.isascii() else f"filename*=UTF-8''{quote(name, safe='')}"
    return {"Content-Disposition": f"attachment; {said}"}
