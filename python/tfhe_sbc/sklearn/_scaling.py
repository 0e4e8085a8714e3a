"""Scalers before a model: what they do to each feature."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The scalers that are folded into models: each feature by itself, in order, by a straight line.
SCALERS = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")


class Scaling:
    """The scalers of a pipeline, one after another; none leaves readings as they are."""

    def __init__(self, scalers: Sequence[Any], count: int) -> None:
        self._scalers = [without_names(scaler) for scaler in scalers]
        self._count = count

    def transform(self, readings: NDArray[np.float64]) -> NDArray[np.float64]:
        """What the model gets of readings, rounded as scikit-learn rounds it."""
        for scaler in self._scalers:
            readings = scaler.transform(readings)
        return readings

    def line(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The factor and the summand of each feature."""
        factor, summand = np.ones(self._count), np.zeros(self._count)
        for scaler in self._scalers:
            times, plus = _line(scaler, self._count)
            factor, summand = factor * times, summand * times + plus
        return factor, summand


def _line(scaler: Any, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ones, zeros = np.ones(count), np.zeros(count)

    def given(name: str, default: NDArray[np.float64]) -> NDArray[np.float64]:
        value = getattr(scaler, name, None)
        return default if value is None else np.asarray(value, dtype=np.float64)

    kind = type(scaler).__name__
    if kind == "MinMaxScaler":
        return given("scale_", ones), given("min_", zeros)
    times = 1.0 / given("scale_", ones)
    centre = "mean_" if kind == "StandardScaler" else "center_"
    return times, -given(centre, zeros) * times


def without_names(fitted: Any) -> Any:
    """A scaler or model that takes arrays and gives them: one that was fitted with names of features warns of arrays."""
    plain = copy.copy(fitted)
    plain.__dict__.pop("feature_names_in_", None)
    if hasattr(plain, "set_output"):
        plain.set_output(transform="default")
    return plain
