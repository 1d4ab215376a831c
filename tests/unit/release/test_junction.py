"""Junction trees: every clique has a home, and shared attributes stay together along the tree."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidValue
from discreet.release.synth.model.junction import JunctionTree, junction_tree, tree_cells

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=8)


@st.composite
def graphs(draw):
    sizes = tuple(draw(SIZES))
    attributes = st.integers(0, len(sizes) - 1)
    cliques = draw(st.lists(st.frozensets(attributes, min_size=1, max_size=4), max_size=8))
    return sizes, [tuple(sorted(clique)) for clique in cliques]


@given(graphs())
def test_every_clique_and_every_attribute_has_a_home(graph):
    sizes, cliques = graph
    tree = junction_tree(sizes, cliques)
    assert all(tree.home(clique) is not None for clique in cliques)
    assert all(tree.home((at,)) is not None for at in range(len(sizes)))


@given(graphs())
def test_the_cliques_of_an_attribute_hang_together(graph):
    tree = junction_tree(*graph)
    for at in range(len(tree.sizes)):
        holders = [place for place, clique in enumerate(tree.cliques) if at in clique]
        tops = [
            place for place in holders if place == 0 or at not in tree.cliques[tree.parents[place]]
        ]
        assert len(tops) == 1


def test_the_check_above_finds_a_broken_tree():
    broken = JunctionTree((2, 2, 2), ((0, 1), (1, 2), (0, 2)), (0, 0, 1))
    holders = [place for place, clique in enumerate(broken.cliques) if 0 in clique]
    tops = [
        place for place in holders if place == 0 or 0 not in broken.cliques[broken.parents[place]]
    ]
    assert len(tops) == 2


@given(graphs())
def test_the_estimate_of_cells_is_the_tree_s(graph):
    assert math.isclose(tree_cells(*graph), junction_tree(*graph).cells, rel_tol=1e-9)


def test_a_chain_is_not_widened_and_a_cycle_is():
    chain = [(0, 1), (1, 2), (2, 3)]
    assert junction_tree((9, 9, 9, 9), chain).cells == 3 * 81
    assert junction_tree((9, 9, 9, 9), [*chain, (0, 3)]).cells == 2 * 729


def test_cheap_attributes_are_eliminated_first():
    star = [(0, at) for at in range(1, 5)]
    assert junction_tree((50, 2, 2, 2, 2), star).cells == 4 * 100


@pytest.mark.parametrize("sizes", [(), (2, 0)])
def test_sizes_are_checked(sizes):
    with pytest.raises(InvalidValue):
        junction_tree(sizes, [])


def test_a_tree_checks_itself():
    with pytest.raises(InvalidValue):
        JunctionTree((2,), ((0,),), ())
    with pytest.raises(InvalidValue):
        JunctionTree((2, 2), ((0,), (1,)), (1, 0))
