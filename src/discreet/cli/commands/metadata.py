"""The command that takes over another system's metadata: import."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.shared import print_refusals
from discreet.errors import InvalidValue

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Give the application the command that imports metadata."""
    app.command("import", help="Write schema files to complete, from SmartNoise metadata (YAML).")(
        _import
    )


@print_refusals
def _import(
    metadata: Annotated[
        Path, typer.Argument(metavar="METADATA", help="A SmartNoise metadata file, YAML.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", metavar="FOLDER", help="Where the schema files go; made if need be."
        ),
    ] = Path(),
) -> None:
    from discreet.schema.smartnoise import read_metadata
    from discreet.schema.toml.read import FILL_IN, marks_in

    tables = read_metadata(metadata)
    files = {table.name: output / f"{table.name}.toml" for table in tables}
    for file in files.values():
        if file.exists():
            raise InvalidValue(f"{file} is there already; name another folder with --output.")
    output.mkdir(parents=True, exist_ok=True)
    for table in tables:
        files[table.name].write_text(table.text, encoding="utf-8")
        typer.echo(f"Wrote {files[table.name]}.")
        for note in table.notes:
            typer.echo(f"  {note}")
    marks = sum(marks_in(line) for table in tables for line in table.text.splitlines())
    typer.echo(f"Write a value in place of each {FILL_IN} ({marks} of them).")
    typer.echo("Choose from what is publicly known, not from the data.")
    typer.echo(f"Then: discreet add {files[tables[0].name]}")
