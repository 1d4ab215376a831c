"""HTML pages without scripts, one file each: their frame, and sections of words, tables and
drawings. Escapes every text it is given; drawings are SVG that this project made.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from discreet.drawing.chart import LIGHT, printable

__all__ = ["Section", "document", "figure", "html_table", "items", "page"]

_STYLE = f"""<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem;
  color: #1b1b1b; background: #fff; }}
h1 {{ font-size: 1.7rem; }} h2 {{ font-size: 1.25rem; margin-top: 2.5rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; }}
th, td {{ text-align: left; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd;
  vertical-align: top; }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; }}
pre {{ white-space: pre-wrap; background: #f5f5f5; padding: .6rem; }}
.note {{ border-left: 4px solid {LIGHT}; padding-left: .8rem; }}
.warning {{ background: #8b1a1a; color: #fff; padding: .6rem; position: sticky; top: 0; }}
figure {{ margin: 1rem 0; }} figure svg {{ max-width: 100%; height: auto; }}
figure.small {{ display: inline-block; margin: .5rem 1rem .5rem 0; vertical-align: top; }}
figcaption {{ font-size: .8rem; }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #16181b; color: #e8e8e8; }} th, td {{ border-color: #444; }}
  pre {{ background: #24272b; }} figure svg {{ background: #fff; }}
  a[href] {{ color: #9cc3e6; }} }}
</style>"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading, paragraphs, drawings, a table, a text as it is typed, and what to learn from it.

    `drawings` are SVG texts, put in as they are.
    """

    title: str
    words: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    drawings: Sequence[str] = ()
    lesson: str = ""
    text: str = ""


def page(title: str, words: Sequence[str], sections: Sequence[Section]) -> str:
    """A page of sections as HTML text.

    >>> "&lt;b&gt;" in page("<b>", [], [])
    True
    """
    body = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(paragraph)}</p>" for paragraph in words)]
    return document(title, [*body, *(_section(section) for section in sections)])


def document(title: str, body: Iterable[str], head: str = _STYLE) -> str:
    """The frame of a page around the lines of its body, which are put in as they are.

    `head` is what stands in the head below the title.
    >>> print(document("a & b", ["<p>c</p>"], head="").partition("<title>")[2])
    a &amp; b</title>
    <BLANKLINE>
    </head>
    <body>
    <p>c</p>
    </body>
    </html>
    <BLANKLINE>
    """
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        head,
        "</head>",
        "<body>",
        *body,
        "</body>",
        "</html>",
        "",
    ]
    return "\n".join(lines)


def html_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; numbers stand to the right.

    Columns without names have no heading.
    >>> html_table(("<n>",), [[1]])
    '<table>\\n<tr><th class="number">&lt;n&gt;</th></tr>\\n<tr><td class="number">1</td></tr>\\n\
</table>'
    """
    first = rows[0] if rows else [""] * len(columns)
    heads = "".join(
        f"<th{_mark(value)}>{escape(name)}</th>" for name, value in zip(columns, first, strict=True)
    )
    lines = ["".join(f"<td{_mark(value)}>{_text(value)}</td>" for value in row) for row in rows]
    listed = [heads, *lines] if any(columns) else lines
    return "<table>\n" + "".join(f"<tr>{line}</tr>\n" for line in listed) + "</table>"


def _mark(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return ' class="number"' if number else ""


def _text(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else escape(printable(str(value)))


def items(texts: Iterable[str]) -> str:
    """A list of texts; nothing if there are none.

    >>> items(["a < b"]), items([])
    ('<ul>\\n<li>a &lt; b</li>\\n</ul>', '')
    """
    lines = "\n".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>\n{lines}\n</ul>" if lines else ""


def figure(drawing: str, caption: str = "") -> str:
    """A drawing, put in as it is; with a caption it is a small one among others.

    >>> figure("<svg/>", "a & b")
    '<figure class="small"><svg/><figcaption>a &amp; b</figcaption></figure>'
    """
    if not caption:
        return f"<figure>{drawing}</figure>"
    return f'<figure class="small">{drawing}<figcaption>{escape(caption)}</figcaption></figure>'


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    parts += [f"<p>{escape(paragraph)}</p>" for paragraph in section.words]
    parts += [figure(drawing) for drawing in section.drawings]
    if section.rows:
        parts.append(html_table(section.columns, section.rows))
    if section.text:
        parts.append(f"<pre>{escape(section.text)}</pre>")
    if section.lesson:
        parts.append(f'<p class="note">{escape(section.lesson)}</p>')
    return "\n".join(parts)
