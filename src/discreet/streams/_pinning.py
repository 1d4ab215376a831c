"""Which tables a service can stay with: those whose changes the curator notices."""

from discreet.errors import UnprovableRequest
from discreet.plan.draft import Plan


def seen_to_change(plan: Plan) -> None:
    """Refuse tables that are read in place in a database: their rows change unseen."""
    if plan.dialect != "duckdb":
        raise UnprovableRequest(
            f"{plan.tables[0].name} is read where it lies, and its rows may change without a new "
            "version; this service stays with one. Add a prepared copy. Nothing was run or charged."
        )
