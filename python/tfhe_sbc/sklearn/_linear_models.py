"""Linear models: regressions, classifiers and the assignment to the nearest centre."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ._inputs import Inputs
from ._linear import WeightedSums
from ._model import Converted, Method, classes_of, filled
from ._prediction import Finish
from ._scaling import Scaling, without_names

Values = Sequence["NDArray[np.float64] | None"]


def regression(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """A linear regression, with one output or several."""
    weights = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    constants = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(weights))
    sums = WeightedSums(weights, constants, scaling, precision)
    is_one = np.ndim(model.coef_) == 1

    def finish(values: Values, rows: int) -> NDArray[np.float64]:
        predicted = filled(values, sums.constants, rows)
        return predicted[:, 0] if is_one else predicted

    predict = of_scaled(model, "predict", scaling)
    return Converted(
        type(model).__name__,
        features,
        {"predict": Method(sums, finish)},
        "predict",
        predict,
        predict,
        False,
        column=sums if len(weights) == 1 else None,
    )


def classifier(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """A linear classifier: one score for two classes, or one for each of more."""
    weights = np.asarray(model.coef_, dtype=np.float64)
    constants = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), len(weights))
    sums = WeightedSums(weights, constants, scaling, precision)
    is_binary, classes = len(weights) == 1, model.classes_
    clear = of_scaled(model, "predict", scaling)
    if clear(np.zeros((1, len(features)))).ndim != 1:
        raise TypeError(
            f"a {type(model).__name__} of several targets is not converted: fit one model for each"
        )

    def scores(values: Values, rows: int) -> NDArray[np.float64]:
        found = filled(values, sums.constants, rows)
        return found[:, 0] if is_binary else found

    def predict(values: Values, rows: int) -> NDArray[Any]:
        found = scores(values, rows)
        places = (found > 0).astype(int) if is_binary else found.argmax(axis=1)
        return classes_of(classes, places)

    def probabilities(values: Values, rows: int) -> NDArray[np.float64]:
        return link(scores(values, rows))

    link = _link(model, is_binary)
    finishes: dict[str, Finish] = {"predict": predict, "decision_function": scores}
    if hasattr(model, "predict_proba"):
        finishes["predict_proba"] = probabilities
    measured = "predict_proba" if "predict_proba" in finishes else "decision_function"
    return Converted(
        type(model).__name__,
        features,
        {name: Method(sums, finish) for name, finish in finishes.items()},
        measured,
        of_scaled(model, measured, scaling),
        clear,
        True,
        classes,
        _of_class(weights, constants, scaling, precision),
        sums if is_binary else None,
    )


def nearest_centre(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """The assignment to the nearest centre. Of ``|x - c|²``, ``|x|²`` is the same for all centres, and the rest is linear in ``x``."""
    centres = np.asarray(model.cluster_centers_, dtype=np.float64)
    squares = (centres**2).sum(axis=1)
    sums = WeightedSums(-2 * centres, squares, scaling, precision)

    def scores(values: Values, rows: int) -> NDArray[np.float64]:
        return filled(values, sums.constants, rows)

    def predict(values: Values, rows: int) -> NDArray[Any]:
        nearest: NDArray[np.int32] = scores(values, rows).argmin(axis=1).astype(np.int32)
        return nearest

    def clear_scores(readings: NDArray[np.float64]) -> NDArray[np.float64]:
        products: NDArray[np.float64] = scaling.transform(readings) @ centres.T
        found: NDArray[np.float64] = squares - 2 * products
        return found

    return Converted(
        type(model).__name__,
        features,
        {"predict": Method(sums, predict), "decision_function": Method(sums, scores)},
        "decision_function",
        clear_scores,
        of_scaled(model, "predict", scaling),
        True,
        np.arange(len(centres)),
        _of_class(2 * centres, -squares, scaling, precision),
    )


def _of_class(
    weights: NDArray[np.float64],
    constants: NDArray[np.float64],
    scaling: Scaling,
    precision: float | None,
) -> Callable[[Inputs, int], _native.Mask]:
    """The rows whose largest score is that of a class, or, of one score, those in which it is above 0 or not."""
    if len(weights) == 1:
        score = WeightedSums(weights, constants, scaling, precision)

        def of_two(inputs: Inputs, place: int) -> _native.Mask:
            second = score.compare(inputs, 0, ">")
            return second if place == 1 else second.logical_not()

        return of_two

    def of_several(inputs: Inputs, place: int) -> _native.Mask:
        leads = WeightedSums(
            weights[place] - weights, constants[place] - constants, scaling, precision
        )
        # Of equal scores, the first class is predicted.
        others = [other for other in range(len(weights)) if other != place]
        ahead = [leads.compare(inputs, other, ">" if other < place else ">=") for other in others]
        return functools.reduce(_native.Mask.logical_and, ahead)

    return of_several


def logistic(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """``1 / (1 + e^-score)``, without overflow."""
    small = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0, small) / (1.0 + small)


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares of the exponentials of a row's scores."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _link(model: Any, is_binary: bool) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """What makes probabilities of scores. Before scikit-learn 1.8, models could be fitted for one class against the others."""
    several = getattr(model, "multi_class", "auto")
    if is_binary:
        return lambda scores: _two(2 * scores if several == "multinomial" else scores)
    if several == "ovr" or (several == "auto" and getattr(model, "solver", "") == "liblinear"):
        return _shares
    return softmax


def _shares(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The shares of the classes' own probabilities."""
    each = logistic(scores)
    shares: NDArray[np.float64] = each / each.sum(axis=1, keepdims=True)
    return shares


def _two(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    second = logistic(scores)
    return np.column_stack([1 - second, second])


def of_scaled(
    model: Any, method: str, scaling: Scaling
) -> Callable[[NDArray[np.float64]], NDArray[Any]]:
    """A method of the clear model on readings."""
    call = getattr(without_names(model), method)

    def of(readings: NDArray[np.float64]) -> NDArray[Any]:
        return np.asarray(call(scaling.transform(readings)))

    return of
