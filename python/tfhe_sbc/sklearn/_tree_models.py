"""Models of trees: single ones, forests and gradient boosting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ._inputs import Inputs
from ._linear_models import logistic, of_scaled, softmax
from ._model import Converted, Method, classes_of
from ._prediction import Finish
from ._scaling import Scaling
from ._trees import ClearTree, Leaves, Trees, of_predictor, of_tree

Values = Sequence["NDArray[np.float64] | None"]


def tree_regressor(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """A decision tree whose leaves have numbers."""
    return _regression(model, features, scaling, [model])


def forest_regressor(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """A forest, which gives the mean of its trees."""
    return _regression(model, features, scaling, model.estimators_)


def _regression(
    model: Any, features: list[str], scaling: Scaling, estimators: Sequence[Any]
) -> Converted:
    # Values have a row for each output and one number in it.
    trees = [of_tree(one.tree_, one.tree_.value[:, :, 0]) for one in estimators]
    outputs = Trees([tree for tree, _ in trees], scaling, np.float32)
    leaves = [each for _, each in trees]

    def finish(values: Values, rows: int) -> NDArray[np.float64]:
        mean = _summed(leaves, values) / len(leaves)
        return mean[:, 0] if mean.shape[1] == 1 else mean

    predict = of_scaled(model, "predict", scaling)
    methods = {"predict": Method(outputs, finish)}
    name = type(model).__name__
    return Converted(name, features, methods, "predict", predict, predict, False)


def tree_classifier(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """A decision tree whose leaves have shares of classes."""
    shares = _shares(model)
    # Leaves of one class are one answer, which takes fewer bootstraps than one for each leaf.
    to_class, leaves = of_tree(model.tree_, shares.argmax(axis=1))
    classes = Trees([to_class], scaling, np.float32)

    def predict(values: Values, rows: int) -> NDArray[Any]:
        return classes_of(model.classes_, leaves.chosen(values[0]))

    def of_class(inputs: Inputs, place: int) -> _native.Mask:
        is_it, yes = of_tree(model.tree_, shares.argmax(axis=1) == place)
        if not yes.values.any():
            return inputs.same_for_all(False)
        ((leaf,),) = Trees([is_it], scaling, np.float32).record(inputs)
        return leaf.compare_code("==", int(yes.codes[yes.values.argmax()]))

    return _classifier(model, features, scaling, [model], Method(classes, predict), of_class)


def forest_classifier(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """A forest, which gives the mean of its trees' shares of classes."""
    return _classifier(model, features, scaling, model.estimators_)


def _classifier(
    model: Any,
    features: list[str],
    scaling: Scaling,
    estimators: Sequence[Any],
    predict: Method | None = None,
    of_class: Callable[[Inputs, int], _native.Mask] | None = None,
) -> Converted:
    trees = [of_tree(one.tree_, _shares(one)) for one in estimators]
    outputs = Trees([tree for tree, _ in trees], scaling, np.float32)
    leaves = [each for _, each in trees]

    def probabilities(values: Values, rows: int) -> NDArray[np.float64]:
        return _summed(leaves, values) / len(leaves)

    def most(values: Values, rows: int) -> NDArray[Any]:
        return classes_of(model.classes_, probabilities(values, rows).argmax(axis=1))

    methods = {
        "predict": predict or Method(outputs, most),
        "predict_proba": Method(outputs, probabilities),
    }
    return Converted(
        type(model).__name__,
        features,
        methods,
        "predict_proba",
        of_scaled(model, "predict_proba", scaling),
        of_scaled(model, "predict", scaling),
        True,
        model.classes_,
        of_class,
    )


def boosting(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """Gradient boosting: the sum of trees for each class, or of a regression."""
    init = model.init_
    if init != "zero" and not type(init).__name__.startswith("Dummy"):
        raise TypeError(
            f"a {type(model).__name__} that starts from a {type(init).__name__} is not converted: fit it without init="
        )
    start = np.asarray(model._raw_predict_init(np.zeros((1, model.n_features_in_))))[0]
    stages = [
        [of_tree(one.tree_, one.tree_.value[:, 0, :1]) for one in stage]
        for stage in model.estimators_
    ]
    is_twice = getattr(model, "loss", "") == "exponential"
    rate = float(model.learning_rate)
    return _boosted(model, features, scaling, start, stages, rate, np.float32, _link(is_twice))


def histogram_boosting(
    model: Any, features: list[str], scaling: Scaling, precision: float | None
) -> Converted:
    """Gradient boosting on histograms, whose trees compare in double precision."""
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise TypeError(
            f"a {type(model).__name__} with categories is not converted: fit it on numbers, without categorical_features"
        )
    start = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    stages = [[of_predictor(one.nodes) for one in stage] for stage in model._predictors]
    if getattr(model, "loss", "") in ("poisson", "gamma"):
        return _boosted(model, features, scaling, start, stages, 1.0, np.float64, np.exp)
    return _boosted(model, features, scaling, start, stages, 1.0, np.float64, _link(False))


#: What makes probabilities of the sums of trees, or a prediction of a regression.
Link = Callable[["NDArray[np.float64]"], "NDArray[np.float64]"]


def _link(is_twice: bool) -> Link:
    return lambda sums: 2 * sums if is_twice else sums


def _boosted(
    model: Any,
    features: list[str],
    scaling: Scaling,
    start: NDArray[np.float64],
    stages: Sequence[Sequence[tuple[ClearTree, Leaves]]],
    rate: float,
    precise: type[np.float32] | type[np.float64],
    link: Link,
) -> Converted:
    flat = [one for stage in stages for one in stage]
    outputs = Trees([tree for tree, _ in flat], scaling, precise)
    each = len(stages[0]) if stages else 1
    is_hist = precise is np.float64

    def sums(values: Values, rows: int) -> NDArray[np.float64]:
        # In scikit-learn's order, so that rounding is the same.
        found = np.tile(start.astype(np.float64), (rows, 1))
        for place, ((_, leaves), value) in enumerate(zip(flat, values)):
            found[:, place % each] += rate * leaves.chosen(value)[:, 0]
        return found

    name = type(model).__name__
    if not hasattr(model, "classes_"):

        def predict(values: Values, rows: int) -> NDArray[np.float64]:
            return link(sums(values, rows)[:, 0])

        method = of_scaled(model, "predict", scaling)
        methods = {"predict": Method(outputs, predict)}
        return Converted(name, features, methods, "predict", method, method, False)

    def scores(values: Values, rows: int) -> NDArray[np.float64]:
        found = sums(values, rows)
        return found[:, 0] if each == 1 else found

    def classes(values: Values, rows: int) -> NDArray[Any]:
        found = scores(values, rows)
        if each > 1:
            return classes_of(model.classes_, found.argmax(axis=1))
        # The two kinds of models have a score of 0 on different sides.
        second = found > 0 if is_hist else found >= 0
        return classes_of(model.classes_, second.astype(int))

    def probabilities(values: Values, rows: int) -> NDArray[np.float64]:
        found = link(scores(values, rows))
        if each > 1:
            return softmax(found)
        second = logistic(found)
        return np.column_stack([1 - second, second])

    finishes: dict[str, Finish] = {
        "predict": classes,
        "predict_proba": probabilities,
        "decision_function": scores,
    }
    return Converted(
        name,
        features,
        {called: Method(outputs, finish) for called, finish in finishes.items()},
        "predict_proba",
        of_scaled(model, "predict_proba", scaling),
        of_scaled(model, "predict", scaling),
        True,
    )


def _shares(model: Any) -> NDArray[np.float64]:
    """The share of each class in the nodes of a tree, which has the counts in scikit-learn before 1.4."""
    if model.n_outputs_ != 1:
        raise TypeError(
            f"a {type(model).__name__} with {model.n_outputs_} targets is not converted: fit one model for each"
        )
    shares: NDArray[np.float64] = model.tree_.value[:, 0, :]
    sums = shares.sum(axis=1, keepdims=True)
    return shares if np.allclose(sums, 1.0) else shares / sums


def _summed(leaves: Sequence[Leaves], values: Values) -> NDArray[np.float64]:
    """The sum of the trees' values, in their order."""
    chosen = [each.chosen(value) for each, value in zip(leaves, values)]
    return sum(chosen[1:], chosen[0])
