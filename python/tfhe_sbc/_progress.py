"""Reports of long work to the caller that waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

#: ``True`` for a bar of tqdm, or a function that is called with how much is done, and how much
#: there is to do, 0 until that is known.
Progress = Union[bool, None, Callable[[int, int], object]]


@contextmanager
def telling(
    progress: Progress, doing: str, unit: str
) -> Iterator[Callable[[int, int], object] | None]:
    """A callback for the extension module."""
    if progress is None or progress is False:
        yield None
        return
    if callable(progress):
        yield progress
        return
    if progress is not True:
        raise TypeError(
            "progress is True, or a function of two numbers: how much is done, and how much there "
            f"is to do; not a {type(progress).__name__}"
        )
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(
            "progress=True shows a bar of tqdm, which is not installed: install it with "
            "`pip install tqdm`, or give a function of two numbers"
        ) from None
    bar: Any = tqdm(desc=doing, unit=unit, unit_scale=True)

    def show(done: int, total: int) -> None:
        if total:
            bar.total = total
        bar.n = done
        bar.refresh()

    try:
        yield show
    finally:
        bar.close()
