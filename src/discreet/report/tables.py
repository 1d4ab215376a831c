"""Plans, answers and the ledger as tables for a terminal. Prints nothing itself."""

from collections.abc import Iterable, Mapping
from textwrap import shorten
from typing import Any

from rich.table import Table as Grid
from rich.text import Text

from discreet.curator.answer import Answer
from discreet.curator.answer_rows import off_text
from discreet.ledger.account import Account
from discreet.ledger.causes import Cause
from discreet.ledger.entry import Act, Entry, account_of
from discreet.ledger.history import Charged
from discreet.plan.pipeline import Plan
from discreet.plan.results.evaluate import find_ranked
from discreet.plan.results.explain import explain_plan
from discreet.plan.results.suggest import suggestions
from discreet.report.words import cost_text, left_text, respell, sensitivity_text
from discreet.schema.described import protected_text
from discreet.upper.plan import StatementPlan

__all__ = [
    "account_table",
    "answer_table",
    "cause_table",
    "charge_table",
    "entry_table",
    "inspection_table",
    "notes_table",
    "plan_table",
]

_OPTIONS = {
    name: f"--{name.replace('_', '-')} {{}}"
    for name in ("count", "max_groups_contributed", "max_rows_contributed")
}
_LONGEST_QUESTION = 200  # characters in a table of entries; the rest is in the ledger


def answer_table(answer: Answer, *, width: int = 80) -> Grid:
    """One row for each group: keys, noisy values, and the 95% interval of each.

    The interval stands beside its value, or below it where `width` characters are too few. A
    quantile or a mode has there how many ranks or rows it may be off, and the bucket for which
    that holds if it was chosen from buckets.
    """
    columns = answer.shown()
    noisy = {column.name for column in columns if column.noisy}
    cells: dict[str, list[str]] = {}
    headings = {f"{column.name} ": column.heading for column in columns}
    for column in columns:
        cells[column.name] = list(column.values)
        if column.beside:
            cells[f"{column.name} "] = list(column.beside)
    if sum(3 + max(map(len, [name, *texts])) for name, texts in cells.items()) > width:
        for name in [name for name in cells if f"{name} " in cells]:
            pairs = zip(cells[name], cells.pop(f"{name} "), strict=True)
            cells[name] = [f"{value}\n{interval}" for value, interval in pairs]
    grid = Grid()
    for name in cells:
        if name in noisy or name not in answer.columns:
            heading = name if name in answer.columns else headings[name]
            grid.add_column(Text(heading), justify="right", overflow="fold")
        else:
            grid.add_column(Text(name), overflow="fold")
    for row in zip(*cells.values(), strict=True):
        grid.add_row(*map(Text, row))
    return grid


def _pairs(rows: Iterable[tuple[str, str]]) -> Grid:
    grid = Grid(show_header=False, box=None, padding=(0, 2, 0, 0))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, Text(value))
    return grid


def _label_rows(label: str, texts: Iterable[str]) -> list[tuple[str, str]]:
    return [(label if place == 0 else "", text) for place, text in enumerate(texts)]


def notes_table(answer: Answer) -> Grid:
    """What an answer leaves out and bounds, and what its intervals are about."""
    return _pairs(_label_rows("note", map(str, answer.notes)))


def plan_table(plan: Plan | StatementPlan, analyst: Account, count: int | None = None) -> Grid:
    """The cost of a question and the errors of its answers; of a statement, block by block too."""
    if isinstance(plan, StatementPlan):
        return _statement_table(plan, analyst, count)
    facts = explain_plan(plan, count)
    rows = [
        ("cost", cost_text(plan.cost, analyst.conversion_delta)),
        ("protects", protected_text(plan.table)),
        ("groups", _groups(facts["groups"], facts["selection"])),
        ("work", f"at most {facts['work_per_unit']:,} rows for one {facts['unit']}"),
    ]
    outputs = {output.name: output.expression for output in plan.query.outputs}
    label = "error, 95%"
    for name, error in facts["error"].items():
        depends = plan.error[name] is None
        chosen = find_ranked(plan, outputs[name])
        reach_text = _error(error, count if depends else None)
        if chosen is not None and error is not None:
            reach_text = off_text(error, chosen.statistic)
        elif chosen is not None:
            reach_text = "in ranks: not promised for the middle of a bucket; see the note"
        rows.append((label, f"{name} {reach_text}"))
        label = ""
    label = "noise"
    for measure in facts["measures"]:
        reach = sensitivity_text(**measure["sensitivity"])
        unit = "" if measure["step"] == 1 else f", in steps of {measure['step']:g}"
        rows.append((label, f"{measure['name']}: {measure['mechanism']}; {reach}{unit}"))
        label = ""
    rows += _label_rows("note", [respell(warning, _OPTIONS) for warning in facts["warnings"]])
    rows += _label_rows(
        "suggestion",
        [respell(suggestion.words, _OPTIONS) for suggestion in suggestions(plan, count)],
    )
    return _pairs([*rows, ("SQL to be run", plan.sql)])


def _statement_table(plan: StatementPlan, analyst: Account, count: int | None) -> Grid:
    rows = [
        ("cost", f"{cost_text(plan.cost, analyst.conversion_delta)}, for all blocks together"),
        ("protects", protected_text(plan.table)),
    ]
    errors = [
        f"{name} {_error(error, None) if error is not None else 'is known with the answer'}"
        for name, error in plan.error.items()
    ]
    rows += _label_rows("error, 95%", errors)
    for at, block in enumerate(plan.charged, 1):
        facts = block.facts(count)
        known = [f"{name} {_error(error, count)}" for name, error in facts["error"].items()]
        told = [
            " ".join(block.question.split()),
            f"cost: {cost_text(block.cost, analyst.conversion_delta)}; "
            f"groups: {_groups(facts['groups'], facts['selection'])}",
            f"error, 95%: {', '.join(known)}",
            f"SQL to be run: {block.sql}",
        ]
        rows += _label_rows(f"block {at}", told)
    rows += _label_rows("note", [respell(str(note), _OPTIONS) for note in plan.notes])
    return _pairs([*rows, ("SQL above", plan.upper_sql)])


def _groups(count: int | None, selection: str | None) -> str:
    known = "private keys" if count is None else f"{count:,}"
    return known if selection is None else f"{known}; {selection}"


def _error(error: float | None, count: int | None) -> str:
    if error is None:
        return "depends on the rows of a group" + ("; assume --count N" if count is None else "")
    digits = f"{error:,.0f}" if error >= 100 else f"{error:,.3g}"
    return f"± {digits}" + ("" if count is None else f" where a group has {count:,} rows")


def account_table(accounts: Iterable[Account]) -> Grid:
    """Every account with its budget and what is left.

    >>> account_table([]).title
    'Budgets'
    """
    grid = Grid(title="Budgets", title_justify="left")
    for name in ("whose", "name", "left"):
        grid.add_column(name, overflow="fold")
    for account in accounts:
        grid.add_row(account.holder.value, Text(account.name), left_text(account))
    return grid


def entry_table(entries: Iterable[Entry]) -> Grid:
    """Every entry of the ledger: when, what, who, at which cost.

    >>> entry_table([]).title
    'Entries'
    """
    grid = Grid(title="Entries", title_justify="left")
    for name in ("#", "date", "act", "who", "cost or budget", "question"):
        grid.add_column(name, overflow="fold", no_wrap=name in ("#", "date", "act"))
    for entry in entries:
        who = ", ".join(name for name in (entry.analyst, entry.population) if name)
        asked = shorten(entry.said.get("question", ""), _LONGEST_QUESTION, placeholder=" ...")
        day, what = entry.time[:10], entry.act.value
        grid.add_row(str(entry.sequence), day, what, Text(who), _event(entry), Text(asked))
    return grid


def charge_table(charges: Iterable[Charged]) -> Grid:
    """Everything that an analyst paid for: when, what, at which cost, and what came of it.

    >>> charge_table([]).title
    'Charges'
    """
    grid = Grid(title="Charges", title_justify="left")
    for name in ("#", "date", "what", "cost", "outcome", "question"):
        grid.add_column(name, overflow="fold", no_wrap=name in ("#", "date"))
    for charge in charges:
        paid = charge.receipt
        asked = shorten(paid.memo.get("question", ""), _LONGEST_QUESTION, placeholder=" ...")
        cells = (charge.kind, cost_text(paid.loss), charge.outcome.value)
        grid.add_row(str(paid.sequence), paid.time[:10], *cells, Text(asked))
    return grid


def cause_table(causes: Iterable[Cause]) -> Grid:
    """The runs that failed, with reasons that only the custodian sees.

    May depend on data; for the custodian alone.
    >>> cause_table([]).title
    'Runs that failed'
    """
    grid = Grid(title="Runs that failed", title_justify="left")
    for name in ("date", "who", "what", "entry", "why"):
        grid.add_column(name, overflow="fold", no_wrap=name == "date")
    for failure in causes:
        entry = "" if failure.entry is None else str(failure.entry)
        grid.add_row(
            failure.time[:10],
            Text(failure.analyst),
            Text(failure.label),
            entry,
            Text(failure.cause),
        )
    return grid


def _event(entry: Entry) -> str:
    if entry.act is Act.CHARGE:
        return cost_text(entry.loss)
    if entry.act is Act.ADOPT:
        return "as it stood"
    account = account_of(entry)
    text = f"epsilon {float(account.epsilon):g}"
    return text if account.pure else f"{text}, delta {float(account.delta):g}"


def inspection_table(counts: Mapping[str, Any]) -> Grid:
    """What the bounds drop and clamp, for the custodian's eyes. Exact counts, not for release.

    >>> inspection_table({"rows kept": 3}).row_count
    1
    """
    grid = Grid(title="NOT FOR RELEASE", title_justify="left", title_style="bold red")
    grid.add_column("what", overflow="fold")
    grid.add_column("exact count", justify="right")
    for name, number in counts.items():
        grid.add_row(Text(name), f"{number:,}")
    return grid
