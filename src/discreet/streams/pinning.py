"""What services have in common when they begin: tables whose changes the curator notices, the table
that is meant when none is named, and names made from settings. Touches no data.
"""

import hashlib
from fractions import Fraction

from discreet.curator.session import Session
from discreet.encoding import LOSS_FORMS, Forms, encode
from discreet.errors import InvalidValue, UnprovableRequest
from discreet.plan.pipeline import Plan
from discreet.schema.names import any_name

__all__ = ["meant_table", "seen_to_change", "settings_name"]


def seen_to_change(plan: Plan) -> None:
    """Refuse tables that are read in place in a database: their rows change unseen."""
    if plan.dialect != "duckdb":
        raise UnprovableRequest(
            f"{plan.tables[0].name} is read where it lies, and its rows may change without a new "
            "version; this service stays with one. Add a prepared copy. Nothing was run or charged."
        )


def meant_table(session: Session, table: str | None) -> str:
    """The table of that name; without one, the only table that there is.

    Privacy: names of tables are public.
    """
    if table is not None:
        return any_name(table, "table")
    known = sorted(each.name for each in session.schemas.values() if each.kind != "public")
    if len(known) != 1:
        raise InvalidValue(
            f"table is not given, and there are {len(known)}: {', '.join(known[:20])}. Name one. "
            "Nothing was run or charged."
        )
    return known[0]


def settings_name(kind: str, *settings: object, forms: Forms = LOSS_FORMS) -> str:
    """A name for a service that was given none: the same program goes on where it stopped."""
    text = "\0".join(_text(setting, forms) for setting in settings)
    return f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _text(setting: object, forms: Forms) -> str:
    if isinstance(setting, Fraction):
        whole = f"{setting.numerator:d}"
        return whole if setting.denominator == 1 else f"{whole}/{setting.denominator:d}"
    return setting if isinstance(setting, str) else encode(setting, forms)
