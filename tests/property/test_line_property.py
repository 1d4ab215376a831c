"""Who is next, against what fairness says, for every order of coming and going."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from discreet.curator.runs.line import Line

ASKERS = ("ana", "bob", "eve")
STEPS = st.lists(st.tuples(st.sampled_from(("come", "go", "give up")), st.sampled_from(ASKERS)))


@given(places=st.integers(1, 4), part=st.integers(1, 4), steps=STEPS)
def test_places_are_shared(places, part, steps):
    line, waiting = Line[tuple[str, int]](places=places, places_of_one=part), []
    held, served = Counter(), Counter()
    for number, (step, asker) in enumerate(steps):
        mine = [item for item in waiting if item[0] == asker]
        if step == "come":
            waiting.append((asker, number))
            line.join(asker, waiting[-1])
        elif step == "go" and held[asker]:
            held[asker] -= 1
            line.leave(asker)
        elif step == "give up" and mine:
            waiting.remove(mine[-1])
            assert line.withdraw(mine[-1])
            assert not line.withdraw(mine[-1])
        for item in line.admit():
            able = [each for each in waiting if held[each[0]] < part]
            fewest = min(held[each[0]] for each in able)
            able = [each for each in able if held[each[0]] == fewest]
            longest = min(served[each[0]] for each in able)
            assert held.total() < places
            assert held[item[0]] == fewest  # nobody who holds less is passed over
            assert item == next(each for each in able if served[each[0]] == longest)
            waiting.remove(item)
            held[item[0]] += 1
            served[item[0]] = max(served.values(), default=0) + 1
        full = held.total() == places or all(held[each[0]] == part for each in waiting)
        assert full  # no place stays empty while somebody could take it
        assert line.inside() == held.total() + len(waiting)
        for each in ASKERS:
            assert line.inside(each) == held[each] + sum(item[0] == each for item in waiting)
