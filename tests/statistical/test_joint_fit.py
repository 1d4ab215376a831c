"""Joint questions through a curator: the noise on every number is the discrete Laplace of the
theorem, whatever the lattice of the question; widths are missed as often as they say.
"""

from collections import Counter as Tally

import numpy as np
import pytest

from discreet.streams.joint.joint import Joint
from support.fit import check_fit, check_rate_at_most, rejects
from support.vaults import copied_curator, people

CELLS = "SELECT age, region, COUNT(*) AS n, SUM(income) AS s FROM visits GROUP BY age, region"
ROWS, EPSILON, SENSITIVITY = people(60), 1000, 2 * 200_001


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    """Four times 444 groups, each with a count and a sum of incomes in halves."""
    folder = tmp_path_factory.mktemp("joint") / "c"
    with copied_curator(folder, ROWS, budget="epsilon = 100000") as curator:
        curator.grant("ana", epsilon=90_000)
        session = curator.session("ana")
        return [
            Joint.open(
                session,
                table="visits",
                name=f"fit{place}",
                epsilon=EPSILON,
                sensitivity=SENSITIVITY,
                columns=("age", "region"),
            ).ask(CELLS)
            for place in range(4)
        ]


def errors(readings, name, steps):
    """Noise in lattice steps."""
    exact = Tally()
    for row in ROWS:
        exact[row[1], row[3]] += 1 if name == "n" else row[2] or 0
    rows = [row for reading in readings for row in reading.rows]
    return np.array([round((row[name] - exact[row["age"], row["region"]]) * steps) for row in rows])


def law(scale, reach=60):
    values = np.arange(-reach * round(scale), reach * round(scale) + 1)
    weights = np.exp(-np.abs(values) / scale)
    return dict(zip(values.tolist(), (weights / weights.sum()).tolist(), strict=True))


@pytest.mark.parametrize(("name", "steps"), [("n", 1), ("s", 2)])
def test_noise_is_the_one_of_the_theorem(readings, name, steps):
    scale = SENSITIVITY * steps / EPSILON
    found = errors(readings, name, steps)
    assert len(found) == 4 * 444
    check_fit(found, law(scale), name=f"noise of joint questions, {name}")
    assert rejects(check_fit, found // 4, law(scale), name="a quarter of it")


def test_widths_are_missed_as_often_as_they_say(readings):
    width = readings[0].half_widths["s"]
    found = np.abs(errors(readings, "s", 2)) / 2
    check_rate_at_most(int((found > width).sum()), len(found), 0.05, name="widths of joint sums")
    assert rejects(
        check_rate_at_most, int((found > width / 3).sum()), len(found), 0.05, name="a third"
    )
