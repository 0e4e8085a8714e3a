"""Which models are converted, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import _linear_models, _tree_models
from ._model import Converted, EncryptedModel
from ._scaling import SCALERS, Scaling

#: What makes a converted model of a fitted one, its features, the scalers before it and a precision.
Convert = Callable[[Any, list[str], Scaling, "float | None"], Converted]

LINEAR_REGRESSIONS = (
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "Lasso",
    "LassoCV",
    "ElasticNet",
    "ElasticNetCV",
    "Lars",
    "LassoLars",
    "BayesianRidge",
    "HuberRegressor",
    "SGDRegressor",
    "LinearSVR",
)
LINEAR_CLASSIFIERS = (
    "LogisticRegression",
    "LogisticRegressionCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "LinearSVC",
    "Perceptron",
)

#: Searches for the best of several models.
SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")

_CONVERSIONS: dict[str, Convert] = {
    **dict.fromkeys(LINEAR_REGRESSIONS, _linear_models.regression),
    **dict.fromkeys(LINEAR_CLASSIFIERS, _linear_models.classifier),
    **dict.fromkeys(("DecisionTreeRegressor", "ExtraTreeRegressor"), _tree_models.tree_regressor),
    **dict.fromkeys(
        ("DecisionTreeClassifier", "ExtraTreeClassifier"), _tree_models.tree_classifier
    ),
    **dict.fromkeys(
        ("RandomForestRegressor", "ExtraTreesRegressor"), _tree_models.forest_regressor
    ),
    **dict.fromkeys(
        ("RandomForestClassifier", "ExtraTreesClassifier"), _tree_models.forest_classifier
    ),
    **dict.fromkeys(
        ("GradientBoostingRegressor", "GradientBoostingClassifier"), _tree_models.boosting
    ),
    **dict.fromkeys(
        ("HistGradientBoostingRegressor", "HistGradientBoostingClassifier"),
        _tree_models.histogram_boosting,
    ),
    **dict.fromkeys(("KMeans", "MiniBatchKMeans"), _linear_models.nearest_centre),
}


def from_model(
    model: object, *, features: Sequence[str] | None = None, precision: float | None = None
) -> EncryptedModel:
    """Converts a fitted scikit-learn model to one that predicts on encrypted rows.

    Args:
        model: a fitted linear or logistic regression, decision tree, random forest, gradient boosting or k-means, or a
            pipeline of scalers and one of these, or a search that found one.
        features: the names of the table's columns in the order of the model's features; those that the model was
            fitted with if not given.
        precision: the most that rounding of weights may change a prediction (of classifiers and clusters, a score)
            by. If not given, no more than the rounding of readings to the columns' steps may. Trees have no weights.

    Raises:
        TypeError: models of other kinds.
        ValueError: a model that is not fitted, or whose features have no names.
    """
    scalers, final = _steps(model)
    kind = _kind(final)
    convert = _CONVERSIONS.get(kind)
    if convert is None:
        raise TypeError(
            f"a {type(final).__name__} is not converted: models that are, are {', '.join(_CONVERSIONS)}, alone or in a Pipeline after "
            f"{', '.join(SCALERS)}"
        )
    for step in [*scalers, final]:
        _check_fitted(step)
    _check_scalers(scalers)
    if precision is not None and not precision > 0:
        raise ValueError(
            f"precision={precision!r}: give a positive number in the unit of what is predicted"
        )
    names = _features(scalers, final, features)
    return EncryptedModel(convert(final, names, Scaling(scalers, len(names)), precision))


def _steps(model: Any) -> tuple[list[Any], Any]:
    """The scalers of a pipeline and its model; those that a search found best."""
    if _kind(model) in SEARCHES:
        _check_fitted(model)
        return _steps(model.best_estimator_)
    if _kind(model) != "Pipeline":
        return [], model
    steps = [step for _, step in model.steps if step is not None and step != "passthrough"]
    if not steps:
        raise TypeError("a Pipeline without a model predicts nothing: add one as its last step")
    return steps[:-1], steps[-1]


def _kind(model: object) -> str:
    """The class of a model of scikit-learn, or of the nearest one that it inherits from."""
    for one in type(model).__mro__:
        if one.__module__.split(".")[0] == "sklearn":
            return one.__name__
    raise TypeError(
        f"a {type(model).__name__} is no model of scikit-learn: give a fitted one, such as LogisticRegression().fit(X, y)"
    )


def _check_fitted(step: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(step)
    except NotFittedError:
        raise ValueError(
            f"this {type(step).__name__} is not fitted: call fit(X, y) before from_model"
        ) from None


def _check_scalers(scalers: Sequence[Any]) -> None:
    for scaler in scalers:
        kind = type(scaler).__name__
        if kind not in SCALERS:
            raise TypeError(
                f"a pipeline with a {kind} is not converted, only with {', '.join(SCALERS)}: do on boards what else is done "
                "to readings, before they are encrypted"
            )
        if getattr(scaler, "clip", False):
            raise ValueError(
                f"a {kind} with clip=True is not converted: fit it with clip=False, and let the range of the columns limit "
                "readings"
            )


def _features(scalers: Sequence[Any], model: Any, given: Sequence[str] | None) -> list[str]:
    first = scalers[0] if scalers else model
    count = int(first.n_features_in_)
    if given is not None:
        names = [given] if isinstance(given, str) else list(given)
        if len(names) != count or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"features={given!r}: give {count} names, one for each feature of the model"
            )
    else:
        fitted = getattr(first, "feature_names_in_", None)
        if fitted is None:
            raise ValueError(
                f"the model was fitted without names of its {count} features: fit it with a DataFrame, or give from_model "
                "the names of the table's columns in the same order: features=[...]"
            )
        names = [str(name) for name in fitted]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is not None:
        raise ValueError(f"two features are called {doubled!r}: give each its own column")
    return names
