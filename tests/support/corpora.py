"""What becomes of the statements in tests/corpora: the SQL that people and their tools write.

A corpus is a file of statements, each under `-- kind: ...`. One that no private answer can have,
such as rows of people, says so in `-- forbidden: ...`. Run this file to list what is refused:

    PYTHONPATH=src:tests .venv/bin/python tests/support/corpora.py [--reasons] [corpus ...]
"""

import argparse
import re
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from discreet.curator.session import Session
from discreet.errors import DiscreetError
from discreet.schema.table import Budget
from support.twin_vaults import make_vault_with

FOLDER = Path(__file__).resolve().parents[1] / "corpora"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of a corpus; `forbidden` is empty unless privacy rules it out."""

    corpus: str
    line: int
    kind: str
    forbidden: str
    sql: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What explain says to a statement: nothing where it is taken."""

    statement: Statement
    refusal: BaseException | None

    @property
    def reason(self) -> str:
        """The refusal on one line, or nothing."""
        return " ".join(f"{self.refusal}".split()) if self.refusal is not None else ""

    @property
    def fault(self) -> str:
        """What is wrong whatever the curator supports: an internal error, a forbidden answer."""
        where = f"{self.statement.corpus}.sql:{self.statement.line}"
        if self.refusal is None:
            return f"{where} is forbidden and taken" if self.statement.forbidden else ""
        if isinstance(self.refusal, DiscreetError):
            return ""
        return f"{where} raises {type(self.refusal).__name__}: {self.reason}"


def read_corpus(name: str, text: str) -> list[Statement]:
    """The statements of a file, in order.

    >>> read_corpus("x", "-- kind: rows\\n-- forbidden: people\\nSELECT *\\nFROM t\\n")
    [Statement(corpus='x', line=1, kind='rows', forbidden='people', sql='SELECT *\\nFROM t')]
    """
    entries = list(re.finditer(r"^-- kind: (.+)\n(?:-- forbidden: (.+)\n)?", text, re.MULTILINE))
    ends = [*(entry.start() for entry in entries[1:]), len(text)]
    return [
        Statement(
            name,
            text.count("\n", 0, entry.start()) + 1,
            entry[1],
            entry[2] or "",
            text[entry.end() : end].strip(),
        )
        for entry, end in zip(entries, ends, strict=True)
    ]


@cache
def read_corpora() -> dict[str, list[Statement]]:
    """All statements by corpus."""
    files = sorted(FOLDER.glob("*.sql"))
    return {path.stem: read_corpus(path.stem, path.read_text()) for path in files}


def ask(session: Session, statement: Statement) -> Reply:
    """What explain says at the price in the statement, or at epsilon 1."""
    own_price = re.search(r"\bOPTIONS\s*\(", statement.sql)
    try:
        session.explain(statement.sql, epsilon=None if own_price else 1)
    except Exception as refusal:  # noqa: BLE001 - the internal errors are what is looked for
        return Reply(statement, refusal)
    return Reply(statement, None)


@cache
def ask_all() -> dict[str, list[Reply]]:
    """What becomes of every statement, asked of one vault with the tables and no rows."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-corpora-"))
    try:
        budget = Budget(epsilon=100, delta=1e-6)
        with make_vault_with(folder / "tables", {}, "prepared", budget) as curator:
            session = curator.session("ana")
            corpora = read_corpora().items()
            return {name: [ask(session, each) for each in corpus] for name, corpus in corpora}
    finally:
        shutil.rmtree(folder)


def counts(replies: list[Reply]) -> tuple[int, int, int]:
    """How many statements there are, how many are forbidden, how many of the others are taken."""
    forbidden = sum(bool(reply.statement.forbidden) for reply in replies)
    taken = sum(not reply.statement.forbidden and reply.refusal is None for reply in replies)
    return len(replies), forbidden, taken


def table_of_counts() -> list[str]:
    """The counts as a table of Markdown."""
    rows = {f"`{name}`": counts(replies) for name, replies in ask_all().items()}
    rows["all"] = counts([reply for replies in ask_all().values() for reply in replies])
    lines = ["| corpus | statements | forbidden by privacy | taken |", "|---|---|---|---|"]
    return lines + [f"| {name} | {' | '.join(map(str, row))} |" for name, row in rows.items()]


def general(reason: str) -> str:
    """A refusal without the names, lines and capitals in it, so that alike ones can be counted.

    >>> general("'x' (line 3) is not a column. Nothing.")
    '... is not a column.'
    """
    first = re.split(r"(?<=[.:?])\s", re.sub(r" ?\(line \d+[^)]*\)", "", reason).lower())[0]
    return re.sub(r"'[^']*'|\"[^\"]*\"", "...", first)


def report(names: list[str], *, reasons: bool) -> list[str]:
    """The lines of a report on some corpora: each refusal, or how often each reason was given."""
    chosen = [reply for name in names for reply in ask_all()[name] if not reply.statement.forbidden]
    refused = [reply for reply in chosen if reply.refusal is not None]
    if reasons:
        tally = Counter(general(reply.reason) for reply in refused).most_common()
        return [f"{count:4} {reason}" for reason, count in tally]
    return [
        f"{reply.statement.corpus}.sql:{reply.statement.line} {reply.statement.kind}\n"
        f"    {reply.fault or reply.reason}"
        for reply in refused
    ]


def main() -> None:
    """Print the report, the faults and the counts."""
    parser = argparse.ArgumentParser(description="What is refused of the SQL in tests/corpora.")
    parser.add_argument("corpora", nargs="*", default=list(read_corpora()))
    parser.add_argument("--reasons", action="store_true", help="count the reasons instead")
    options = parser.parse_args()
    print(*report(options.corpora, reasons=options.reasons), sep="\n")
    faults = [reply.fault for name in options.corpora for reply in ask_all()[name] if reply.fault]
    print("", *table_of_counts(), "", *faults, sep="\n")


if __name__ == "__main__":
    main()
