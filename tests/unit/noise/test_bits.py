"""The bit source: fresh after a fork, rekeyed by volume, safe between threads, never seedable."""

import copy
import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from discreet.errors import InvalidValue
from discreet.noise import SeededBits, SystemBits, bits, system
from support.fit import check_rate, rejects


def _report(pipe, source):
    pipe.send(source.bits(256))
    pipe.close()


def _from_forks(source, count):
    context = multiprocessing.get_context("fork")
    values = []
    for _ in range(count):
        receive, send = context.Pipe(duplex=False)
        worker = context.Process(target=_report, args=(send, source))
        worker.start()
        values.append(receive.recv())
        worker.join()
    return values


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_workers_draw_different_bits():
    system.bits(64)  # a stream exists before the fork
    values = [*_from_forks(system, 3), system.bits(256)]
    assert len(set(values)) == 4


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_source_that_survives_the_fork_unchanged_would_be_caught():
    shared = SeededBits(5)
    values = _from_forks(shared, 3)
    assert len(set(values)) == 1


def test_a_fork_without_the_hook_is_noticed(monkeypatch):
    source = SystemBits()
    source.bits(8)
    keys = []
    original = os.urandom
    monkeypatch.setattr(bits.os, "urandom", lambda n: keys.append(n) or original(n))
    monkeypatch.setattr(bits.os, "getpid", lambda: -7)
    source.bits(8)
    assert keys == [32]


def test_rekeyed_after_a_bounded_amount_of_output(monkeypatch):
    keys = []
    original = os.urandom
    monkeypatch.setattr(bits, "_BYTES_PER_KEY", 1000)
    monkeypatch.setattr(bits.os, "urandom", lambda n: keys.append(n) or original(n))
    buffer = np.zeros(10_000, dtype=np.uint8)
    SystemBits().fill(buffer)
    assert keys == [32] * 10
    # Blocks under different keys differ; under one key counter mode never repeats a block.
    assert len({buffer[i : i + 16].tobytes() for i in range(0, 9984, 16)}) == 624


def test_threads_never_see_the_same_output():
    source = SystemBits()

    def draws(_):
        return [source.bits(128) for _ in range(200)]

    with ThreadPoolExecutor(8) as pool:
        values = [value for part in pool.map(draws, range(16)) for value in part]
    assert len(set(values)) == len(values)


def test_large_and_unaligned_requests_are_filled():
    buffer = np.zeros(200_003, dtype=np.uint8)
    SystemBits().fill(buffer)
    for part in (buffer[:1000], buffer[-1000:], buffer[65_000:66_000]):
        assert len(set(part.tolist())) > 200


def test_bits_are_balanced_and_uncorrelated_with_their_neighbours():
    words = np.empty(1 << 18, dtype=np.uint8)
    SystemBits().fill(words)
    stream = np.unpackbits(words)
    check_rate(int(stream.sum()), len(stream), 0.5, name="ones among system bits")
    same = int((stream[1:] == stream[:-1]).sum())
    check_rate(same, len(stream) - 1, 0.5, name="equal neighbours among system bits")


def test_the_balance_check_catches_a_stuck_bit():
    words = np.empty(1 << 16, dtype=np.uint8)
    SystemBits().fill(words)
    stream = np.unpackbits(words | 1)
    assert rejects(check_rate, int(stream.sum()), len(stream), 0.5, name="stuck bit")


def test_counts_of_bits():
    for count in (1, 3, 7, 8, 9, 64, 65, 1000):
        drawn = [system.bits(count) for _ in range(64)]
        assert all(0 <= value < 1 << count for value in drawn)
        assert len(set(drawn)) > 1
    assert system.bits(0) == 0
    with pytest.raises(InvalidValue, match="must not be negative"):
        system.bits(-1)


@pytest.mark.parametrize("leak", [pickle.dumps, copy.copy, copy.deepcopy])
def test_the_state_cannot_be_copied(leak):
    with pytest.raises(InvalidValue, match="cannot be pickled or copied"):
        leak(SystemBits())


def test_a_seed_reproduces_and_different_seeds_differ():
    first, again, other = SeededBits(1), SeededBits(1), SeededBits(2)
    assert [first.bits(70) for _ in range(5)] == [again.bits(70) for _ in range(5)]
    assert SeededBits(1).bits(70) != other.bits(70)


def test_the_system_source_takes_no_seed():
    with pytest.raises(TypeError):
        SystemBits(7)  # type: ignore[call-arg]
