"""The secure bit source: the operating system's generator expanded by AES-CTR.
The only place that draws randomness. Never seeds itself from anything but the operating system.
"""

import os
import threading
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from discreet.errors import InvalidValue

__all__ = ["BitSource", "SeededBits", "SystemBits", "system"]

_BYTES_PER_KEY = 1 << 26  # far below the 2**64 blocks at which CTR output departs from uniform
_ZEROS = bytes(1 << 16)


class BitSource(Protocol):
    """Independent uniform bits.

    Privacy: mechanisms are proved for perfect bits; AES-CTR under a secret key is
    indistinguishable from them if AES is a pseudorandom permutation.
    """

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """Overwrite a contiguous byte array with uniform bytes."""

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits."""

    def fresh(self) -> "BitSource":
        """A source for one release, which shares no key with what was drawn before."""


class _Stream:
    """One AES-CTR key and how much of its output is left."""

    __slots__ = ("_encryptor", "_left")

    def __init__(self, key: bytes, length: int) -> None:
        self._encryptor: CipherContext = Cipher(
            algorithms.AES(key), modes.CTR(bytes(16))
        ).encryptor()
        self._left = length

    def fill(self, buffer: NDArray[np.uint8]) -> int:
        """Fill as much of the buffer as this key may; return the number of bytes written."""
        length = min(len(buffer), self._left)
        for start in range(0, length, len(_ZEROS)):
            stop = min(start + len(_ZEROS), length)
            self._encryptor.update_into(_ZEROS[: stop - start], buffer.data[start:stop])
        self._left -= length
        return length


def _draw_integer(source: BitSource, count: int) -> int:
    if count < 1:
        if count == 0:
            return 0
        raise InvalidValue(f"count is {count}; it must not be negative.")
    buffer = np.empty((count + 7) // 8, dtype=np.uint8)
    source.fill(buffer)
    return int.from_bytes(buffer.tobytes(), "little") >> (-count % 8)


class SystemBits:
    """The source for everything that is released: thread-safe, rekeyed on fork and by volume.

    The state cannot be set, copied or pickled.
    >>> SystemBits().bits(128) != SystemBits().bits(128)
    True
    """

    __slots__ = ("_lock", "_process", "_stream")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = -1
        self._stream: _Stream | None = None
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        self._lock = threading.Lock()  # the parent's may be held by a thread that is not here
        self._stream = None

    def __reduce__(self) -> str:
        raise InvalidValue("a SystemBits cannot be pickled or copied; make a new one.")

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """Overwrite a contiguous byte array with uniform bytes."""
        with self._lock:
            done = 0
            while done < len(buffer):
                # The process number guards against forks that skip the registered hook.
                if self._stream is None or self._process != os.getpid():
                    self._stream = _Stream(os.urandom(32), _BYTES_PER_KEY)
                    self._process = os.getpid()
                written = self._stream.fill(buffer[done:])
                done += written
                if written == 0:
                    self._stream = None

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits."""
        return _draw_integer(self, count)

    def fresh(self) -> "SystemBits":
        """A source with a key of its own, taken from the operating system with its first bits.

        Two machines resumed from one snapshot hold the same keys. The operating system learns of
        that from the hypervisor; this process does not, so no key outlives a release.
        >>> SystemBits().fresh().bits(128) != SystemBits().fresh().bits(128)
        True
        """
        own = SystemBits.__new__(SystemBits)  # no hook for forks: the process number guards it
        own._lock, own._process, own._stream = threading.Lock(), -1, None
        return own


class SeededBits:
    """A reproducible source, for tests only: passed explicitly, never a default.

    Whoever knows the seed knows the noise.
    >>> SeededBits(7).bits(64) == SeededBits(7).bits(64)
    True
    """

    __slots__ = ("_stream",)

    def __init__(self, seed: int) -> None:
        self._stream = _Stream(seed.to_bytes(32, "little"), 1 << 62)

    def fill(self, buffer: NDArray[np.uint8]) -> None:
        """Overwrite a contiguous byte array with the next bytes of the seed's stream."""
        self._stream.fill(buffer)

    def bits(self, count: int) -> int:
        """The next integer of `count` bits."""
        return _draw_integer(self, count)

    def fresh(self) -> "SeededBits":
        """The same source: the stream of a seed goes on."""
        return self


system = SystemBits()
"""The source that releases use unless a test passes another."""
