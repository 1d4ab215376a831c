"""The tour: five questions to a made-up clinic, their cost, their answers, what is left.
Prints released values and refusals only; exact counts stay in the vault.
"""

import importlib.util
import shlex
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from discreet.curator.answer import Answer
from discreet.curator.curator import Curator
from discreet.curator.session import Session
from discreet.demo.clinic import PATIENTS, SCHEMA, write_clinic
from discreet.errors import BudgetExceeded, UnsafeQuery
from discreet.ledger.account import Holder
from discreet.report.tables import answer_table
from discreet.report.words import cost_text, left_text, refusal_text

__all__ = ["Question", "open_clinic", "tour"]

_ANALYST = "ana"
_BUDGET = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the tour asks: in words, in SQL, at a price or for an error.

    >>> Question(words="How many?", sql="SELECT COUNT(*) FROM visits", error=100).price
    'an error of at most 100'
    """

    words: str
    sql: str
    lesson: str = ""
    epsilon: Fraction | None = None
    error: int | None = None

    @property
    def price(self) -> str:
        """What is offered, in words.

        >>> Question(words="How many?", sql="SELECT 1", epsilon=Fraction(1, 10)).price
        'epsilon 0.1'
        """
        if self.epsilon is not None:
            return f"epsilon {float(self.epsilon):g}"
        return f"an error of at most {self.error:,}"


_QUESTIONS = (
    Question(
        words="How many visits were there in 2025?",
        sql="SELECT COUNT(*) AS visits FROM visits WHERE day >= DATE '2025-01-01'",
        epsilon=Fraction(1, 10),
        lesson="19 times out of 20 the interval holds the true count of the rows in use.",
    ),
    Question(
        words="What is the average bill, region by region?",
        sql="SELECT region, AVG(bill) AS bill, COUNT(bill) AS bills FROM visits GROUP BY region",
        epsilon=Fraction(4, 10),
        lesson="One price for the whole table; average and count share one noisy count.",
    ),
    Question(
        words="How many patients came with asthma? 100 more or less will do.",
        sql="SELECT COUNT(DISTINCT patient_id) AS patients FROM visits WHERE condition = 'asthma'",
        error=100,
        lesson="The price follows from the error: people are counted once, so this is cheap.",
    ),
    Question(
        words="How old are the patients, by condition, as exact as can be?",
        sql="SELECT condition, AVG(age) AS age FROM visits GROUP BY condition",
        epsilon=Fraction(9, 10),
        lesson="The budget decides, not the data: a refusal tells nothing and costs nothing.",
    ),
    Question(
        words="And what about patient 82?",
        sql="SELECT AVG(bill) AS bill FROM visits WHERE patient_id = 82",
        epsilon=Fraction(1, 10),
        lesson="Only questions about many are asked of the data; this one never gets there.",
    ),
)


def tour(folder: Path, *, patients: int = PATIENTS, program: str = "discreet") -> None:
    """Make the clinic and its vault in a folder unless they are there, and ask five questions.

    `program` is how the reader calls the command line. Three releases about people who do not
    exist, 1-DP together for adding or removing one of them [DMNS06, Prop. 3.3].
    """
    console = Console(highlight=False, emoji=False)
    start = time.perf_counter()
    with open_clinic(folder, patients=patients) as curator:
        console.print(
            f"The vault is open after {time.perf_counter() - start:.1f} s. Left of the budget of "
            f"all patients: {_remaining(curator, Holder.POPULATION, 'patients')}; of the analyst "
            f"{_ANALYST}: {_remaining(curator, Holder.ANALYST, _ANALYST)}. What follows is all "
            "that an analyst gets to see.\n",
            markup=False,
        )
        session = curator.session(_ANALYST)
        answers = [
            _ask(question, place, session, curator, console)
            for place, question in enumerate(_QUESTIONS, start=1)
        ]
    _draw_chart(answers, folder, console)
    _print_next_steps(folder, program, console)


def open_clinic(folder: Path, *, patients: int = PATIENTS) -> Curator:
    """The clinic's vault in a folder, made if needed."""
    console = Console(highlight=False, emoji=False)
    folder.mkdir(parents=True, exist_ok=True)
    _make_clinic(folder, patients, console)
    curator = Curator.open(folder / "vault")
    try:
        _register(curator, folder, console)
    except BaseException:
        curator.close()
        raise
    return curator


def _make_clinic(folder: Path, patients: int, console: Console) -> None:
    data, schema = folder / "visits.parquet", folder / "visits.toml"
    _print_line(console, f"A made-up clinic: {patients:,} patients, about {5 * patients:,} visits.")
    _print_line(console, f"The data: {data}. What is publicly known about it: {schema}.")
    if data.exists():
        console.print(
            "They are there from an earlier run, and so is what was spent: a question asked "
            "before is answered from the ledger, free."
        )
        _print_line(console, f"To begin afresh, delete {folder}.")
    else:
        write_clinic(data, patients=patients)
    if not schema.exists():
        schema.write_text(SCHEMA, encoding="utf-8")


def _register(curator: Curator, folder: Path, console: Console) -> None:
    if "visits" not in curator.tables:
        with console.status("preparing the table ..."):
            curator.add(folder / "visits.toml")
    known = {(account.holder, account.name) for account in curator.ledger.accounts()}
    if (Holder.ANALYST, _ANALYST) not in known:
        curator.grant(_ANALYST, epsilon=_BUDGET)


def _remaining(curator: Curator, holder: Holder, name: str) -> str:
    return left_text(curator.ledger.account(holder, name))


def _ask(
    question: Question, place: int, session: Session, curator: Curator, console: Console
) -> Answer | None:
    console.print(Text(f"{place}. {question.words}", style="bold"))
    _print_indented(console, question.sql)
    _print_indented(console, f"offered: {question.price}")
    answer = None
    try:
        answer = session.sql(question.sql, epsilon=question.epsilon, error=question.error)
    except (BudgetExceeded, UnsafeQuery) as refusal:
        _print_indented(console, f"REFUSED. {refusal_text(refusal)}")
    if answer is not None:
        console.print(
            Padding(answer_table(answer, width=console.width - 3), (0, 0, 0, 3), expand=False)
        )
        for note in answer.notes:
            _print_indented(console, f"note: {note.text}")
        paid = cost_text(answer.cost)
        _print_indented(console, f"free: it had cost {paid}" if answer.free else f"cost: {paid}")
    _print_indented(console, question.lesson)
    _print_indented(console, f"left of {_ANALYST}: {_remaining(curator, Holder.ANALYST, _ANALYST)}")
    console.print()
    return answer


def _print_line(console: Console, text: str) -> None:
    """A line that is not broken, so that paths and commands can be copied."""
    console.print(text, markup=False, soft_wrap=True)


def _print_indented(console: Console, text: str) -> None:
    console.print(Padding(Text(text), (0, 0, 0, 3), expand=False))


def _draw_chart(answers: list[Answer | None], folder: Path, console: Console) -> None:
    """Draw the first answer that has several rows, where the `plots` extra is installed."""
    chart = folder / "bill_by_region.svg"
    drawn = [answer for answer in answers if answer is not None and len(answer) > 1]
    if drawn and importlib.util.find_spec("vl_convert") is not None:
        drawn[0].plot(str(chart))
        _print_line(console, f"Chart of the second answer: {chart}")


def _print_next_steps(folder: Path, program: str, console: Console) -> None:
    """Commands that can be copied as they stand, in one line each."""
    vault = ("--vault", str(folder / "vault"))
    asked = (_QUESTIONS[1].sql, "--as", _ANALYST, "--epsilon", "0.4", *vault)
    new = "SELECT condition, COUNT(*) AS n FROM visits GROUP BY condition"
    offer = (new, "--as", _ANALYST, "--epsilon", "0.2", *vault)
    steps = {
        "what would another question cost, and how exact would it be?": ("explain", *offer),
        "ask it": ("query", *offer),
        "asked before, so it is free": ("query", *asked),
        "the custodian's ledger of all charges, and whether it is sound": ("ledger", *vault),
        "": ("verify", *vault),
        "all of it in a browser, for analyst and custodian": (
            *("demo", "--serve", "--output", str(folder)),
        ),
        "a table of your own: write its schema file, fill it in, add it": (
            *("init", str(folder / "visits.parquet"), "--unit", "patient_id"),
            *("--output", str(folder / "mine.toml")),
        ),
    }
    _print_line(console, f"The vault: {folder / 'vault'}. Type next:")
    for words, line in steps.items():
        if words:
            _print_line(console, f"  # {words}")
        _print_line(console, f"  {shlex.join((program, *line))}")
