"""Sums and products over boxes of cells on a GPU, each one pass over memory and one start.
Imported only when the weights lie on a GPU; holds released numbers only.

A box is read in tiles of its two innermost dimensions, so that no cell's place is worked out by
division. Each program adds the sum of its tiles to one of many; the last one to end adds those up.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]
import triton  # type: ignore[import-not-found,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,unused-ignore]

from discreet.linear.boxes import Box

DIMENSIONS = 4  # of a box, at most
_WIDEST = 1024  # cells of one row of a tile of several
_READ, _READERS = 8192, 4  # cells of a tile and its warps, where cells are only read
_WRITTEN, _WRITERS = 4096, 8  # and where they are written too
_EACH = 8  # reading programs for each processor of the GPU
_ROOM = 1024  # sums for each box, so that programs do not wait for one another

_reserved: dict[Any, tuple[Any, Any]] = {}  # by device: room for sums, and how many have ended


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def _sum_boxes_kernel(  # type: ignore[no-untyped-def]
    cells, sums, ended, out, offsets, factor, first,
    d1, d2, d3, s0, s1, s2, s3, across, down, tiles,
    WRITES: tl.constexpr, EVEN: tl.constexpr, ROWS: tl.constexpr,  # noqa: N803
    COLUMNS: tl.constexpr, ROOM: tl.constexpr,  # noqa: N803
):  # fmt: skip
    program, programs, box = tl.program_id(0), tl.num_programs(0), tl.program_id(1)
    rows, columns = tl.arange(0, ROWS).to(tl.int64), tl.arange(0, COLUMNS).to(tl.int64)
    if EVEN:
        first += tl.multiple_of(tl.load(offsets + box), EVEN)
    subtotals = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for tile in range(program, tiles, programs):
        column = (tile % across).to(tl.int64) * COLUMNS
        rest = tile // across
        row = (rest % down).to(tl.int64) * ROWS
        rest = (rest // down).to(tl.int64)
        start = first + (rest // d1) * s0 + (rest % d1) * s1 + row * s2 + column * s3
        places = cells + start + rows[:, None] * s2 + columns[None, :] * s3
        inside = (row + rows < d2)[:, None] & (column + columns < d3)[None, :]
        values = tl.load(places, mask=inside, other=0.0)
        subtotals += values
        if WRITES:
            tl.store(places, values * factor, mask=inside)
    here = sums + box * ROOM + program % ROOM
    tl.atomic_add(here, tl.sum(tl.sum(subtotals, axis=1).to(tl.float64), axis=0), sem="relaxed")
    if tl.atomic_add(ended + box, 1, sem="acq_rel") == programs - 1:
        slots = sums + box * ROOM + tl.arange(0, ROOM)
        parts = tl.load(slots, cache_modifier=".cg")
        tl.store(slots, tl.zeros((ROOM,), dtype=tl.float64))
        whole = tl.sum(parts, axis=0)
        if WRITES:
            whole = tl.load(out) + (factor - 1.0) * whole
        tl.store(out + box, whole)
        tl.store(ended + box, 0)


def _reserve_sums(device: Any, boxes: int) -> tuple[Any, Any]:
    room = _reserved.get(device)
    if room is None or room[1].numel() < boxes:
        room = (
            torch.zeros(boxes * _ROOM, dtype=torch.float64, device=device),
            torch.zeros(boxes, dtype=torch.int32, device=device),
        )
        _reserved[device] = room
    return room


def _launch(cells: Any, boxes: Sequence[Box], out: Any, factor: float | None) -> None:
    _, shape, strides = boxes[0]
    starts = [box.start for box in boxes]
    lacking = DIMENSIONS - len(shape)
    d0, d1, d2, d3 = (*(1,) * lacking, *shape)
    s0, s1, s2, s3 = (*(0,) * lacking, *strides)
    writes = factor is not None
    size, warps = (_WRITTEN, _WRITERS) if writes else (_READ, _READERS)
    columns = min(_WIDEST if d2 > 1 else size, 1 << (d3 - 1).bit_length())
    rows = min(size // columns, 1 << (d2 - 1).bit_length())
    across, down = -(-d3 // columns), -(-d2 // rows)
    tiles = programs = across * down * d0 * d1
    if not writes:
        processors = torch.cuda.get_device_properties(cells.device).multi_processor_count
        programs = min(tiles, _EACH * processors)
    sums, ended = _reserve_sums(cells.device, len(starts))
    first, even, offsets = min(starts), 0, sums  # one box needs none
    if len(starts) > 1:
        apart = [start - first for start in starts]
        even, offsets = math.gcd(16, *apart), torch.tensor(apart, device=cells.device)
    _sum_boxes_kernel[(programs, len(starts))](
        cells, sums, ended, out, offsets, 1.0 if factor is None else factor, first,
        d1, d2, d3, s0, s1, s2, s3, across, down, tiles,
        WRITES=writes, EVEN=even, ROWS=rows, COLUMNS=columns, ROOM=_ROOM,
        num_warps=warps,
    )  # fmt: skip


def sum_boxes(cells: Any, boxes: Sequence[Box]) -> Any:
    """The sums over boxes of one shape, as 64-bit floats on the device."""
    out = torch.empty(len(boxes), dtype=torch.float64, device=cells.device)
    _launch(cells, boxes, out, None)
    return out


def scale_box(cells: Any, box: Box, factor: float, total: Any) -> None:
    """Multiply a box by a factor, and bring the total of all cells up to date, in place."""
    _launch(cells, [box], total, factor)
