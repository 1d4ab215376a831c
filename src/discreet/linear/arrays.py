"""Where the weights of a synopsis live: a numpy array, or a torch tensor on another device.
The same few operations serve both; torch is imported only when a device is asked for.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import InvalidValue
from discreet.linear.boxes import Box

__all__ = [
    "load_kernels",
    "make_uniform",
    "put_on_device",
    "scale",
    "to_numpy",
    "total",
    "view_box",
]


def _import_torch(device: str) -> Any:
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise InvalidValue(
            f"device is {device!r}, which needs torch, and it is not installed. Install it, or "
            "leave the device out."
        ) from None
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidValue(f"device is {device!r}, and torch sees none here. Leave it out.")
    return torch


def make_uniform(size: int, device: str) -> Any:
    """Equal weights that sum to one: 64-bit floats on the CPU, 32-bit ones elsewhere."""
    if device == "cpu":
        return np.full(size, 1 / size)
    torch = _import_torch(device)
    return torch.full((size,), 1 / size, dtype=torch.float32, device=_name_for_torch(device))


def put_on_device(values: NDArray[np.float64], device: str, like: Any = None) -> Any:
    """The values where the weights are; `like` names an array to lie beside."""
    if like is not None:
        return values if isinstance(like, np.ndarray) else like.new_tensor(values)
    if device == "cpu":
        return values
    torch = _import_torch(device)
    return torch.tensor(values, dtype=torch.float32, device=_name_for_torch(device))


def _name_for_torch(device: str) -> str:
    """torch's own name; its CPU is asked for as "torch", to run the same code without a GPU."""
    return "cpu" if device == "torch" else device


def to_numpy(array: Any) -> NDArray[np.float64]:
    """The values as 64-bit floats on the CPU."""
    if isinstance(array, np.ndarray):
        return array.astype(np.float64, copy=False)
    values: NDArray[np.float64] = array.detach().cpu().numpy().astype(np.float64)
    return values


def load_kernels(cells: Any) -> Any:
    """The kernels that serve an array on a GPU in one pass, or None: torch alone is used then."""
    if isinstance(cells, np.ndarray) or cells.device.type != "cuda":
        return None
    try:
        from discreet.linear import _kernels
    except ImportError:  # torch without triton
        return None
    return _kernels


def view_box(cells: Any, box: Box) -> Any:
    """A view of the cells in a box."""
    if not isinstance(cells, np.ndarray):
        return cells.as_strided(box.shape, box.strides, box.start)
    strides = [stride * cells.itemsize for stride in box.strides]
    return np.lib.stride_tricks.as_strided(cells[box.start :], box.shape, strides)


def total(part: Any) -> Any:
    """The sum of all values, where they are."""
    if not isinstance(part, np.ndarray) and part.ndim > 1 and not part.is_contiguous():
        # A sum along one long axis reads memory at full speed, one over all axes at half of it.
        axis = max(range(part.ndim - 1), key=lambda place: part.shape[place])
        part = part.sum(axis)
    return part.sum()


def scale(part: Any, factor: float) -> None:
    """Multiply all values, in place."""
    if not isinstance(part, np.ndarray) and part.ndim > 1 and not part.is_contiguous():
        *strides, last = part.stride()
        even = (part.shape[-1], part.storage_offset(), *strides)
        if last == 1 and not any(number % 2 for number in even):
            # Pairs as complex numbers: half as many places to work out.
            part = _import_torch("torch").view_as_complex(part.unflatten(-1, (-1, 2)))
    part *= factor
