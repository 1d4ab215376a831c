"""The command that estimates bounds for a charge, and writes them into a schema file if asked."""

import shlex
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import Analyst, Json, Rho, TableName, VaultFolder, number_option
from discreet.cli.shared import (
    existing_vault,
    name_vault,
    print_json,
    print_refusals,
    tell_interrupts,
)
from discreet.errors import InvalidValue, SchemaError

if TYPE_CHECKING:
    from discreet.curator.bounds import Bounds, Buckets
    from discreet.ledger.account import Account

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Give the application the command that estimates bounds."""
    app.command(
        "bounds",
        help="Estimate the bounds of a column privately, paid from a budget; write them if asked.",
    )(_bounds)


@print_refusals
@tell_interrupts
def _bounds(
    table: TableName,
    column: Annotated[str, typer.Argument(metavar="COLUMN", help="An integer or a number.")],
    analyst: Analyst,
    epsilon: Annotated[Decimal | None, number_option("--epsilon", "E", "The price.")] = None,
    rho: Rho = None,
    failure: Annotated[
        Decimal,
        number_option("--failure", "P", "How probable it may be that noise alone sets a bound."),
    ] = Decimal("1e-9"),
    write: Annotated[
        Path | None,
        typer.Option(
            "--write", metavar="SCHEMA", help="Write the bounds into this schema file, too."
        ),
    ] = None,
    as_json: Json = False,
    folder: VaultFolder = Path("vault"),
) -> None:
    from discreet.curator.bounds import Buckets, failure_probability
    from discreet.ledger.account import Holder

    allowed = failure_probability(failure)
    with existing_vault(folder) as curator:
        buckets = Buckets.of(curator.tables, table, column)
        if write is not None:
            _check(write, buckets)
        session = curator.session(analyst)
        bounds = session.bounds(table, column, epsilon=epsilon, rho=rho).at(failure=allowed)
        account = curator.ledger.account(Holder.ANALYST, analyst)
    if as_json:
        print_json(bounds.to_dict())
    else:
        _print(bounds, account)
    if write is not None:
        _write(write, bounds)
        typer.echo(name_vault(_write_or_advise(write, bounds), folder), err=as_json)


def _check(schema: Path, buckets: "Buckets") -> None:
    """Everything that makes the file the wrong one, before the bounds are paid for."""
    from discreet.schema.toml.read import read_schema

    table, column = buckets.table, buckets.column
    written = read_schema(schema)
    if written.name != table.name or column not in written.columns:
        raise InvalidValue(
            f"{schema} does not declare {table.name}.{column.name} as it is registered. Name the "
            "table's own file, or `discreet add` it first. Nothing was charged or written."
        )


def _print(bounds: "Bounds", account: "Account") -> None:
    from discreet.report.words import left_text

    name = f"{bounds.buckets.table.name}.{bounds.buckets.column.name}"
    if bounds.share is None:
        typer.echo(
            f"{name}: no bounds found; no power of two holds more than {bounds.threshold:,} noisy "
            "rows, which noise alone could be. A higher price lowers that number."
        )
    else:
        typer.echo(
            f"{name}: {bounds.lower} to {bounds.upper}, with {100 * bounds.share:.4g}% of the "
            f"noisy rows inside. Confidence that both ends hold rows: {bounds.confidence:.12g}."
        )
        for end in bounds.declared:
            typer.echo(
                f"The {end} bound is the declared one: rows beyond it, if any, count as it. "
                "Declare wider bounds to look further."
            )
    for note in bounds.notes:
        typer.echo(f"Note: {note}")
    cost = ", ".join(f"{part} {paid}" for part, paid in bounds.cost.items())
    said = f"Free: asked before. It had cost {cost}." if bounds.free else f"Cost: {cost}."
    typer.echo(f"{said} Left of analyst {account.name}: {left_text(account)}.")


def _write(schema: Path, bounds: "Bounds") -> None:
    from discreet.schema.toml.amend import with_bounds
    from discreet.schema.toml.read import read_schema_text

    if bounds.ends is None:
        return
    column, advice = bounds.buckets.column.name, f"Write there: {bounds.declaration}"
    text = schema.read_bytes().decode()
    amended = with_bounds(text, column, *bounds.ends)
    if amended is None:
        raise InvalidValue(
            f"{schema} does not have {column} = {{ ... }} with both bounds on one line, so "
            f"nothing was written. {advice}"
        )
    try:
        read_schema_text(amended)
    except SchemaError as refusal:
        raise InvalidValue(
            f"{schema} would not be a schema any more ({refusal}) so nothing was written. {advice}"
        ) from None
    schema.write_bytes(amended.encode())


def _write_or_advise(schema: Path, bounds: "Bounds") -> str:
    if bounds.ends is None:
        return f"Nothing was written to {schema}."
    return (
        f"Wrote {bounds.declaration} into {schema}. The registered table is as it was; to use the "
        f"new bounds: discreet add {shlex.quote(str(schema))}"
    )
