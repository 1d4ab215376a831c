"""Published flaws of other libraries, looked for by the audit where the library is installed, each
beside a mechanism of the same library that keeps its word. A flaw that was mended is reported as
not found. Run: python benchmarks/attacks.py
"""

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from discreet.audit import audit
from discreet.audit.adapters import from_diffprivlib, from_opendp
from discreet.audit.claims import Claim
from discreet.errors import DiscreetError
from discreet.loss import ZCDP, Pure

SAMPLES = 4_000


@dataclass(frozen=True)
class Case:
    """One mechanism of a library, what it says of itself, and where that was put in doubt."""

    library: str
    name: str
    source: str
    make: Callable[[], tuple[Callable[..., Any], Claim, Any]]
    flawed: bool
    samples: int = SAMPLES


def _features() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp


def opendp_laplace() -> tuple[Any, Claim, Any]:
    dp = _features()
    made = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
    return from_opendp(made), Pure(epsilon=made.map(1)), (0, 1)


def opendp_tree() -> tuple[Any, Claim, Any]:
    """Sums of a tree wrap around at 2^31, so one step moves them by 2^32."""
    dp = _features()
    leaves = dp.vector_domain(dp.atom_domain(T=int), size=2), dp.l1_distance(T=int)
    tree = dp.t.make_b_ary_tree(*leaves, leaf_count=2, branching_factor=2)
    made = tree >> dp.m.then_laplace(scale=2.0)
    far = 2**31 - 1
    return from_opendp(made), Pure(epsilon=made.map(1)), ([far, 0], [far, 1])


def opendp_noisy_max() -> tuple[Any, Claim, Any]:
    """Permute-and-flip, priced as if it were of bounded range; 0.16 draws another law instead.

    The law of the issue, with P(0) = 1 - exp(-2)/2 on the second input, is contradicted here.
    """
    dp = _features()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    measure = dp.zero_concentrated_divergence()
    made = dp.m.make_noisy_max(*space, measure, scale=1.0)
    return from_opendp(made), ZCDP(rho=made.map(1)), ([0, 0], [1, -1])


def diffprivlib_geometric() -> tuple[Any, Claim, Any]:
    from diffprivlib.mechanisms import Geometric

    made = from_diffprivlib(Geometric(epsilon=1, sensitivity=1))
    return made, Pure(epsilon=1), (0, 1)


def diffprivlib_laplace() -> tuple[Any, Claim, Any]:
    """Several floats are combined, and what is added to them still shows in the last bits."""
    from diffprivlib.mechanisms import Laplace

    made = from_diffprivlib(Laplace(epsilon=1, sensitivity=1))
    return made, Pure(epsilon=1), (0.0, 1.0)


def diffprivlib_regression(lower: float) -> tuple[Any, Claim, Any]:
    """The sensitivity of squares is taken from the lower bound twice: from 0 to 10 it is 0.

    With bounds of the same size on both sides it comes out right.
    """
    from diffprivlib.models import LinearRegression

    def fitted(rows: Any) -> float:
        held = np.array(rows, dtype=np.float64)
        model = LinearRegression(
            epsilon=1, bounds_X=(lower, 10.0), bounds_y=(0.0, 1.0), fit_intercept=False
        )
        model.fit(held[:, :1], held[:, 1])
        return float(model.coef_.ravel()[0])

    others = ((1.0, 0.0),) * 3
    return fitted, Pure(epsilon=1), ((*others, (0.0, 0.0)), (*others, (10.0, 0.0)))


CASES = (
    Case("opendp", "discrete Laplace", "", opendp_laplace, False),
    Case("opendp", "b-ary tree", "issue 2925", opendp_tree, True),
    Case("opendp", "noisy max as zCDP", "issue 2911, mended", opendp_noisy_max, False, 40_000),
    Case("diffprivlib", "Geometric", "", diffprivlib_geometric, False),
    Case("diffprivlib", "Laplace", "issues 19 and 94; arXiv 2207.13793", diffprivlib_laplace, True),
    Case("diffprivlib", "regression, -10 to 10", "", partial(diffprivlib_regression, -10.0), False),
    Case(
        "diffprivlib",
        "regression, 0 to 10",
        "issue 105",
        partial(diffprivlib_regression, 0.0),
        True,
    ),
)


def verdicts(cases: tuple[Case, ...] = CASES) -> Iterator[tuple[Case, str]]:
    """For each case what the audit says, or why it could not be made."""
    for case in cases:
        if importlib.util.find_spec(case.library) is None:
            yield case, "not installed"
            continue
        start = time.process_time()
        try:
            mechanism, claim, pair = case.make()
            found = audit(mechanism, claim, pairs=[pair], samples=case.samples, false_alarm=1e-6)
        except (DiscreetError, ImportError, AttributeError, TypeError) as failure:
            yield case, f"could not be audited: {failure}"
            continue
        claimed = float(found.strongest.statement.epsilon)
        said = "FLAW FOUND" if found.violated else "nothing found"
        yield (
            case,
            f"{said}: epsilon at least {found.epsilon:.3f}, {claimed:.3f} claimed "
            f"({case.samples:,} samples, {time.process_time() - start:.1f} s)",
        )


def main() -> None:
    """Print a line for each case."""
    warnings.simplefilter("ignore")  # the libraries' own
    for case, said in verdicts():
        expected = "published" if case.flawed else "correct, for comparison"
        expected += f": {case.source}" if case.source else ""
        print(f"{case.library:12} {case.name:22} {said}  [{expected}]")


if __name__ == "__main__":
    main()
