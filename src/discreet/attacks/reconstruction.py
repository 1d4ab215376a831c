"""Linear reconstruction: many rough counts of random subsets give everybody's secret away, by
least squares or by linear programming [DN03]. Owns the questions and the solvers.
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from discreet.attacks import _draws
from discreet.attacks.interfaces import Answers, Interface, Questions
from discreet.attacks.outcome import Outcome, value_bound
from discreet.attacks.people import People
from discreet.errors import DiscreetError, InvalidValue

__all__ = [
    "Solver",
    "random_subsets",
    "reconstruct",
    "reconstruction",
    "secrets_outcome",
    "table_attack",
]


_RIDGES = (1e-6, 4.0, 64.0, 1024.0, 16384.0)  # four times the variance of the noise


class Solver(StrEnum):
    """How answers are turned into secrets."""

    LEAST_SQUARES = "least squares"
    LINEAR_PROGRAM = "linear program"


def random_subsets(people: int, questions: int) -> Questions:
    """Counts over subsets that hold each person with probability one half.

    >>> random_subsets(10, 4).members.shape
    (4, 10)
    """
    if questions < 1:
        raise InvalidValue(f"questions is {questions}; ask at least one.")
    return Questions(_draws.coins(questions, people))


def reconstruct(
    questions: Questions, answers: Answers, *, solver: Solver = Solver.LEAST_SQUARES
) -> NDArray[np.bool_]:
    """The secrets that fit the answers best, rounded to bits; refused answers are left out.

    The linear program minimises the sum of absolute errors over numbers from 0 to 1 [DMT07].
    >>> asked = Questions(np.array([[True, False], [True, True]]))
    >>> reconstruct(asked, np.array([1.0, 1.0])).tolist()
    [True, False]
    """
    answered = ~np.isnan(answers)
    people = questions.members.shape[1]
    if not answered.any():
        return _draws.coins(people)
    matrix = questions.members[answered].astype(np.float64)
    if solver is Solver.LEAST_SQUARES:
        # Around one half, so that what the answers leave open stays undecided.
        shares = 0.5 + _least_squares(matrix, answers[answered] - matrix.sum(axis=1) / 2)
    else:
        shares = _linear_program(matrix, answers[answered])
    return shares > 0.5


def _least_squares(matrix: Answers, answers: Answers) -> Answers:
    """Least squares with a ridge, without which noise would be blown up near as many answers as
    people. For fair secrets the best ridge is four times the variance of the noise.
    """
    rows, columns = matrix.shape
    gram, moments = matrix.T @ matrix, matrix.T @ answers
    if rows >= 1.5 * columns:
        plain = _ridge(gram, moments, _RIDGES[0])
        variance = float(((matrix @ plain - answers) ** 2).sum()) / (rows - columns)
        return _ridge(gram, moments, max(_RIDGES[0], 4 * variance))
    return _ridge(gram, moments, _best_ridge(matrix, answers))


def _best_ridge(matrix: Answers, answers: Answers) -> float:
    """The ridge that predicts a fifth of the answers best from the others."""
    held = len(matrix) // 5
    if not held:
        return _RIDGES[0]
    known = matrix[held:]
    gram, moments = known.T @ known, known.T @ answers[held:]
    errors = [
        float(((matrix[:held] @ _ridge(gram, moments, ridge) - answers[:held]) ** 2).sum())
        for ridge in _RIDGES
    ]
    return _RIDGES[errors.index(min(errors))]


def _ridge(gram: Answers, moments: Answers, ridge: float) -> Answers:
    return np.asarray(np.linalg.solve(gram + ridge * np.eye(len(gram)), moments))


def _linear_program(matrix: Answers, answers: Answers) -> Answers:
    """The dual of the least sum of absolute errors: as many rows as people, however many answers.

    Maximise -answers y - sum z over -1 <= y <= 1 and z >= 0 with z >= -matrix' y; the secrets are
    the multipliers of these rows.
    """
    try:
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, identity
    except ImportError:
        raise DiscreetError("the linear program needs scipy; run: pip install scipy") from None
    rows, columns = matrix.shape
    limits = hstack([csr_array(-matrix.T), -identity(columns, format="csr")], format="csr")
    solved = linprog(
        np.concatenate([answers, np.ones(columns)]),
        A_ub=limits,
        b_ub=np.zeros(columns),
        bounds=[(-1.0, 1.0)] * rows + [(0.0, None)] * columns,
        method="highs-ipm",
    )
    if solved.x is None:
        raise DiscreetError(f"the linear program was not solved: {solved.message}")
    return -np.asarray(solved.ineqlin.marginals, dtype=np.float64)


def secrets_outcome(
    attack: str,
    interface: Interface,
    people: People,
    guesses: NDArray[np.bool_],
    *,
    targets: NDArray[np.int64] | None = None,
    at: float | None = None,
    **parameters: object,
) -> Outcome:
    """How many of the targets' first secrets were guessed; all people are targets by default."""
    listed = {"people": len(people), **parameters}
    secrets = people.secrets[:, 0] if targets is None else people.secrets[targets, 0]
    epsilon, relation = interface.epsilon, people.table.neighbours
    return Outcome(
        attack=attack,
        interface=interface.name,
        right=int((guesses == secrets).sum()),
        attempts=len(secrets),
        baseline=0.5,
        bound=None if epsilon is None else value_bound(epsilon=epsilon, relation=relation),
        at=None if at is None else float(at),
        parameters=tuple((name, str(value)) for name, value in listed.items()),
    )


def reconstruction(
    people: People, interface: Interface, *, questions: int, solver: Solver = Solver.LEAST_SQUARES
) -> Outcome:
    """Ask for counts over random subsets and solve for the secrets.

    >>> from discreet.attacks.interfaces import exact
    >>> from discreet.attacks.people import made_up
    >>> reconstruction(made_up(40), exact(), questions=160).accuracy
    1.0
    """
    asked = random_subsets(len(people), questions)
    with interface.open(people) as answerer:
        answers = answerer.counts(asked)
    guesses = reconstruct(asked, answers, solver=solver)
    return secrets_outcome(
        "reconstruction",
        interface,
        people,
        guesses,
        at=questions,
        questions=questions,
        answered=int((~np.isnan(answers)).sum()),
        solver=solver.value,
    )


def table_attack(people: People, interface: Interface) -> Outcome:
    """Ask for everybody's own cell at once and round it: the best use of a curator's budget.

    >>> from discreet.attacks.interfaces import exact
    >>> from discreet.attacks.people import made_up
    >>> table_attack(made_up(40), exact()).accuracy
    1.0
    """
    asked = Questions(np.eye(len(people), dtype=np.bool_))
    with interface.open(people) as answerer:
        answers = answerer.counts(asked)
    guesses = np.where(np.isnan(answers), _draws.coins(len(people)), answers > 0.5)
    at = None if interface.epsilon is None else float(interface.epsilon)
    return secrets_outcome("one cell for each person", interface, people, guesses, at=at)
