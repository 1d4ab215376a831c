"""Templates into pages; everything that is filled in is escaped. Never decides what is shown."""

from functools import lru_cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

__all__ = ["page", "static_file"]

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_STATIC = ("app.css", "app.js")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("discreet.web"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    return environment


def _number(value: object) -> str:
    """A number for people: six digits, thousands apart."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def page(template: str, **values: Any) -> str:
    """The HTML of a page.

    >>> none = {"login": None, "paused": False, "typed": [], "again": ""}
    >>> "&lt;img" in page("message.html", title="<img src=x>", text="", **none)
    True
    """
    return _environment().get_template(template).render(**values)


def static_file(name: str) -> tuple[bytes, str] | None:
    """The style or the script, with its type; None for any other name.

    >>> static_file("../rendering.py") is None
    True
    """
    if name not in _STATIC:
        return None
    file = resources.files("discreet.web").joinpath("static", name)
    return file.read_bytes(), _KINDS[name.rpartition(".")[2]]
