"""Predictions that are finished when they are decrypted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._encrypted.base import Answer, Encrypted_, Part, Reader, named, state

#: What makes a prediction of what was computed for each row: a score or leaf for each output, or ``None`` of an output that
#: is the same for all rows, and the number of rows.
Finish = Callable[[Sequence["NDArray[np.float64] | None"], int], "NDArray[Any]"]


class EncryptedPrediction(Encrypted_):
    """Encrypted predictions: one a row.

    The server computes scores or leaves of trees. Whoever decrypts makes classes, probabilities or means of them,
    which is exact and free in the clear: ``keys.secret.decrypt(prediction)`` gives what the model's method gives.
    As bytes it is an answer for each score or tree, which :meth:`EncryptedModel.read` makes predictions of.
    """

    __slots__ = ("_outputs", "_finish", "rows")

    #: The rows' labels, in the clear.
    rows: Sequence[str]

    def __init__(
        self,
        outputs: Sequence[Sequence[_native.Number]],
        finish: Finish,
        name: str,
        rows: Sequence[str],
    ) -> None:
        self._outputs = [list(parts) for parts in outputs]
        self._finish = finish
        self.name = named(name)
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def _parts(self) -> list[Part]:
        return [part for parts in self._outputs for part in parts]

    def _read(self, reader: Reader) -> NDArray[Any]:
        values = [
            added([number.decoded(reader.codes(number)) for number in parts])
            for parts in self._outputs
        ]
        return self._finish(values, len(self))

    def _answers(self, name: str) -> list[Answer]:
        rows = list(self.rows)
        return [
            ("numbers", named(f"{output}.{place}: {name}"), [number], "", rows)
            for output, parts in enumerate(self._outputs)
            for place, number in enumerate(parts)
        ]

    def __repr__(self) -> str:
        return f"<EncryptedPrediction {self.name!r}, {len(self)} rows, {state(self)}>"


def added(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64] | None:
    """The sum of an output's parts; ``None`` if there are none."""
    return sum(parts[1:], parts[0]) if parts else None


def outputs_of(
    answers: Mapping[str, NDArray[np.float64]], count: int
) -> tuple[list[NDArray[np.float64] | None], int]:
    """The outputs of a prediction that was sent as bytes, and the number of rows.

    Args:
        answers: decrypted answers by their names.
        count: the number of outputs of the model.
    """
    parts: dict[int, list[NDArray[np.float64]]] = {}
    for name, values in answers.items():
        found = re.match(r"(\d+)\.\d+: ", name)
        if found is None or int(found[1]) >= count or np.ndim(values) != 1:
            raise ValueError(
                f"{name!r} is no answer of this model's prediction: give what the secret key decrypts of "
                "the prediction's to_bytes(), and nothing else"
            )
        parts.setdefault(int(found[1]), []).append(np.asarray(values, dtype=np.float64))
    lengths = {len(values) for listed in parts.values() for values in listed}
    if len(lengths) != 1:
        raise ValueError("there is no prediction, or there are several: give the answers of one")
    return [added(parts.get(output, [])) for output in range(count)], lengths.pop()
