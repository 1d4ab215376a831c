"""Beyond global sensitivity: errors of medians, means and graph statistics, and the time they take.

Medians: the median absolute error of smooth Cauchy noise and of the ladder, on five shapes of data
and three epsilons, against Laplace noise at the global sensitivity and against the exponential
mechanism, all at the same epsilon, held within the same bounds, on the same rows. An error below
half a lattice step counts as half a step. Means: the smooth trimmed mean against Laplace noise for
the whole range, where that is far too wide. Triangles: against Laplace noise at the n - 2 that one
edge can change in the worst graph. SELECT MEDIAN: the mean distance from the nearest right value,
by the way the plan takes when the number of rows is supposed, against the other ways. Edges under
node privacy: against the n - 1 of one node. The peers are the mechanisms of this package, at the
price that the sensitivity they know costs.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.loss import Pure, Relation, Sensitivity
from discreet.mechanisms.additive.laplace import DiscreteLaplace
from discreet.mechanisms.selection.quantiles import Quantiles
from discreet.noise.bits import system
from discreet.plan.parts.candidates import QuantileMethod
from discreet.plan.pipeline import Draft, Plan, plan
from discreet.query.parse import parse
from discreet.robust import (
    BoundedEdges,
    CauchyShape,
    Graph,
    LadderMechanism,
    LaplaceShape,
    LogNormalShape,
    SmoothQuantile,
    SmoothTriangles,
    SmoothTrimmedMean,
    StudentShape,
    count_triangles,
)
from discreet.schema.column import Column
from discreet.schema.table import Table
from harness import Report, cpu_seconds

ROWS, UPPER, DRAWS, DATA_SETS = 2000, 100_000, 40, 5
EPSILONS = (0.1, 0.5, 2.0)
GRAPH_NODES, GRAPH_EDGES = 30_000, 100_000

Integers = NDArray[np.int64]


def rows_of(shape: str, count: int, seed: int) -> Integers:
    """Made-up rows on the lattice 0 to UPPER."""
    generator = np.random.default_rng(seed)
    drawn = {
        "normal": lambda: generator.normal(50_000, 10_000, count),
        "uniform": lambda: generator.uniform(0, UPPER, count),
        "incomes (log-normal)": lambda: np.exp(generator.normal(10, 0.7, count)),
        "two far groups": lambda: np.where(
            generator.random(count) < 0.5,
            generator.normal(20_000, 2000, count),
            generator.normal(80_000, 2000, count),
        ),
        "one value, few others": lambda: np.where(
            generator.random(count) < 0.7, 30_000, generator.uniform(0, UPPER, count)
        ),
    }[shape]()
    return np.clip(np.rint(drawn), 0, UPPER).astype(np.int64)


SHAPES = (
    "normal",
    "uniform",
    "incomes (log-normal)",
    "two far groups",
    "one value, few others",
)


def query() -> SmoothQuantile:
    """The median on the benchmark's lattice."""
    return SmoothQuantile(fraction=0.5, lower=0, upper=UPPER)


def smooth_draws(rows: Integers, mechanism: object, draws: int) -> Iterator[int]:
    """Medians released by smooth noise or by the ladder."""
    growth = query().growth(rows)
    for _ in range(draws):
        yield query().clamp(mechanism.release(growth))  # type: ignore[attr-defined]


def laplace_draws(rows: Integers, epsilon: float, draws: int) -> Iterator[int]:
    """Medians with noise for the whole range."""
    exact = int(query().growth(rows).exact)
    noise = DiscreteLaplace(scale=UPPER / epsilon)
    yield from (query().clamp(noise.release(exact)) for _ in range(draws))


def exponential_draws(rows: Integers, epsilon: float, draws: int) -> Iterator[int]:
    """Medians by the exponential mechanism on ranks."""
    counts = np.bincount(rows, minlength=UPPER + 1)
    mechanism = Quantiles.of_price(
        fractions=(0.5,), sensitivity=Sensitivity.single(1), price=Pure(epsilon=epsilon)
    )
    yield from (mechanism.release(counts)[0] for _ in range(draws))


MECHANISMS: dict[str, Callable[[Integers, float, int], Iterator[int]]] = {
    "smooth Cauchy": lambda rows, epsilon, draws: smooth_draws(
        rows, CauchyShape.priced(epsilon=epsilon), draws
    ),
    "ladder": lambda rows, epsilon, draws: smooth_draws(
        rows, LadderMechanism(epsilon=epsilon), draws
    ),
    "global Laplace": laplace_draws,
    "exponential quantile": exponential_draws,
}


def error(name: str, shape: str, epsilon: float, rows: int = ROWS, sets: int = DATA_SETS) -> float:
    """The median absolute error over several data sets, at least half a step."""
    errors: list[int] = []
    for seed in range(sets):
        data = rows_of(shape, rows, seed)
        exact = int(query().growth(data).exact)
        errors += [abs(noisy - exact) for noisy in MECHANISMS[name](data, epsilon, DRAWS)]
    return max(0.5, float(np.median(errors)))


def power_law_graph(nodes: int, edges: int, exponent: float, seed: int) -> Graph:
    """Edges between nodes drawn in proportion to power-law weights, and some closed triangles."""
    generator = np.random.default_rng(seed)
    weights = (np.arange(nodes) + 10.0) ** (-1 / (exponent - 1))
    found = np.zeros((0, 2), dtype=np.int64)
    while len(found) < edges:
        fresh = generator.choice(nodes, (edges // 2, 2), p=weights / weights.sum())
        if len(found):  # friends of friends: the ends of two edges with a common node
            one = found[generator.integers(0, len(found), edges // 10)]
            partners = dict(found[generator.permutation(len(found))].tolist())
            closing = [(a, partners[b]) for a, b in one.tolist() if b in partners]
            fresh = np.concatenate([fresh, np.array(closing, dtype=np.int64).reshape(-1, 2)])
        fresh = np.sort(fresh[fresh[:, 0] != fresh[:, 1]], axis=1)
        found = np.unique(np.concatenate([found, fresh]), axis=0)
    return Graph.from_edges(generator.permutation(found)[:edges], nodes=range(nodes))


def medians(report: Report) -> None:
    for shape in SHAPES:
        for epsilon in EPSILONS:
            errors = {name: error(name, shape, epsilon) for name in MECHANISMS}
            for ours in ("smooth Cauchy", "ladder"):
                for peer in ("global Laplace", "exponential quantile"):
                    case = f"median of {shape}, epsilon {epsilon}: {ours}"
                    report.faster(case, errors[ours], errors[peer], peer)


def sql_plan(rows_per_unit: int, epsilon: float, count: int | None, *ways: QuantileMethod) -> Plan:
    """SELECT MEDIAN on ten times the benchmark's lattice, by the plan's own way or a given one."""
    column = Column("x", "integer", lower=0, upper=10 * UPPER)
    table = Table("t", unit="who", rows_per_unit=rows_per_unit, columns=(column,))
    text = "SELECT MEDIAN(x) AS m FROM t"
    return plan(
        Draft(
            query=parse(text, {"t": table}),
            table=table,
            price=Pure(epsilon=epsilon),
            question=text,
            assumed_rows=count,
            ways=ways,
        )
    )


def sql_error(made: Plan, shape: str, count: int) -> float:
    """The mean distance from the nearest value of the right rank, over several data sets."""
    [pick], [choice] = made.picks, made.choices
    errors = []
    for seed in range(2 * DATA_SETS):  # odd and even numbers of rows in turn
        size = count + seed % 2
        ordered = np.sort(10 * rows_of(shape, size, seed))
        low, high = ordered[(size - 1) // 2], ordered[size // 2]
        codes = ordered // pick.width - pick.first
        counts = np.bincount(codes, minlength=pick.candidates)
        for _ in range(DRAWS // 2):
            found = pick.lattice(pick.release(choice, counts, system)[0])
            errors.append(max(0, low - found, found - high))
    return max(0.5, float(np.mean(errors)))


def sql_medians(report: Report) -> None:
    """What the plan's rule takes where a count is supposed, and what it leaves."""
    for rows_per_unit, epsilon, count in ((1, 1.0, 30_000), (1, 20.0, 3000), (100, 20.0, 30_000)):
        taken = sql_plan(rows_per_unit, epsilon, count)
        others = [way for way in QuantileMethod if (way,) != taken.ways]
        for shape in SHAPES:
            ours = sql_error(taken, shape, count)
            case = f"MEDIAN of {count:,} rows, {shape}, {rows_per_unit} a unit, epsilon {epsilon:g}"
            for way in others:
                peer = sql_error(sql_plan(rows_per_unit, epsilon, None, way), shape, count)
                report.faster(f"{case}: {taken.ways[0].value}", ours, peer, way.value)


def means(report: Report) -> None:
    """Rows of spread 1,000 in a declared range a hundred times as wide."""
    trimmed = SmoothTrimmedMean(share=0.1, lower=0, upper=UPPER, relation=Relation.REPLACE)
    for epsilon in EPSILONS:
        errors: dict[str, list[float]] = {"Cauchy": [], "Student 3": []}
        for seed in range(DATA_SETS):
            generator = np.random.default_rng(seed)
            rows = np.rint(generator.normal(50_000, 1000, ROWS)).astype(np.int64)
            growth, mean = trimmed.growth(rows), float(rows.mean())
            for name, noise in (
                ("Cauchy", CauchyShape.priced(epsilon=epsilon)),
                ("Student 3", StudentShape.priced(epsilon=epsilon)),
            ):
                errors[name] += [abs(noise.release(growth) - mean) for _ in range(DRAWS)]
        for name, found in errors.items():
            case = f"mean, bounds a hundred times too wide, epsilon {epsilon}: trimmed, {name}"
            naive = UPPER / ROWS / epsilon * np.log(2)
            report.faster(case, float(np.median(found)), float(naive), "global Laplace mean")


def graphs(report: Report) -> None:
    for exponent in (2.2, 2.5, 3.0):
        graph = power_law_graph(GRAPH_NODES, GRAPH_EDGES, exponent, 1)
        growth = SmoothTriangles(nodes=GRAPH_NODES).growth(graph)
        for epsilon in EPSILONS:
            naive = (GRAPH_NODES - 2) / epsilon * np.log(2)
            for name, mechanism in (
                ("smooth Cauchy", CauchyShape.priced(epsilon=epsilon)),
                ("ladder", LadderMechanism(epsilon=epsilon)),
            ):
                exact = int(growth.exact)
                draws = [abs(mechanism.release(growth) - exact) for _ in range(2 * DRAWS)]
                ours = max(0.5, float(np.median(draws)))
                case = f"triangles, power law {exponent}, epsilon {epsilon}: {name}"
                report.faster(case, ours, float(naive), "edge sensitivity n - 2")
        bounded = BoundedEdges(degree=300)
        noise = 300 * np.log(2)
        ours = len(graph.edges) - bounded.measure(graph) + noise
        case = f"edges under node privacy, power law {exponent}, epsilon 1"
        report.faster(case, float(ours), GRAPH_NODES * np.log(2), "node sensitivity n - 1")


def times(report: Report) -> None:
    rows = rows_of("normal", 1_000_000, 0)
    cauchy = CauchyShape.priced(epsilon=1)
    for fraction in (0.5, 0.9):
        asked = SmoothQuantile(fraction=fraction, lower=0, upper=UPPER)
        ours = cpu_seconds(lambda asked=asked: cauchy.release(asked.growth(rows)))
        report.faster(f"CPU s, quantile {fraction} of a million values", ours, None, "-")
    graph = power_law_graph(GRAPH_NODES, GRAPH_EDGES, 2.5, 1)
    ours = cpu_seconds(lambda: SmoothTriangles(nodes=GRAPH_NODES).growth(graph), 1)
    report.faster("CPU s, growth of triangles, 100,000 edges", ours, None, "-")
    report.faster(
        "CPU s, triangles, 100,000 edges", cpu_seconds(lambda: count_triangles(graph)), None, "-"
    )
    growth = query().growth(rows[:1000])
    for name, noise in (
        ("Cauchy", cauchy),
        ("Student 3", StudentShape.priced(epsilon=1)),
        ("Laplace", LaplaceShape.priced(epsilon=1, delta=1e-6)),
        ("Laplace-log-normal", LogNormalShape.priced(rho=0.5)),
        ("ladder", LadderMechanism(epsilon=1)),
    ):
        ours = cpu_seconds(lambda noise=noise: [noise.release(growth) for _ in range(100)])
        report.faster(f"CPU ms for one exact draw, {name}", ours * 10, None, "-")


def main() -> None:
    report = Report("Beyond global sensitivity")
    medians(report)
    sql_medians(report)
    means(report)
    graphs(report)
    times(report)


if __name__ == "__main__":
    main()
