"""Converted models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._encrypted import Cost, EncryptedColumn, EncryptedMask
from ._inputs import Inputs, inputs_of, readings_of
from ._prediction import EncryptedPrediction, Finish, outputs_of


class Outputs(Protocol):
    """What is computed of a model: scores, or leaves of trees."""

    @property
    def count(self) -> int:
        """The number of outputs."""
        ...

    def record(self, inputs: Inputs) -> list[list[_native.Number]]:
        """The numbers that are added up, after decryption, to each output."""
        ...

    def clear(self, inputs: Inputs, codes: NDArray[np.int64]) -> list[NDArray[np.float64] | None]:
        """The same outputs of clear codes."""
        ...


class Column(Protocol):
    """An output that can be computed on."""

    def single(self, inputs: Inputs) -> _native.Number:
        """The only output as one number."""
        ...


@dataclass(frozen=True)
class Method:
    """A method of a model, such as ``predict``."""

    outputs: Outputs
    finish: Finish


@dataclass(frozen=True)
class Converted:
    """What :class:`EncryptedModel` needs of a model."""

    #: The name of the model's class, for people.
    name: str
    features: list[str]
    #: The methods by their names.
    methods: Mapping[str, Method]
    #: The method whose numbers are compared with those of the clear model.
    measured: str
    #: What the clear model gives for that method of clear rows.
    measure: Callable[[NDArray[np.float64]], NDArray[Any]]
    #: What the clear model predicts of clear rows.
    predict: Callable[[NDArray[np.float64]], NDArray[Any]]
    #: Whether predictions are classes or clusters, which are the same or not.
    is_discrete: bool
    #: The classes or clusters in the order of their scores.
    classes: NDArray[Any] | None = None
    #: The rows that are of the class at a place, if that can be computed.
    of_class: Callable[[Inputs, int], _native.Mask] | None = None
    #: The prediction of a regression, or the score of a class, as a number to compute on.
    column: Column | None = None


@dataclass(frozen=True)
class Loss:
    """How far predictions on encrypted rows are from those of the clear model on the same readings."""

    #: The number of clear rows.
    rows: int
    #: The largest difference: of the predictions of a regression, the probabilities (or scores) of classes, or the
    #: scores of clusters.
    largest: float
    #: The mean difference.
    mean: float
    #: The number of rows whose class or cluster is another one; 0 for regressions.
    differing: int


class EncryptedModel:
    """A scikit-learn model that predicts on encrypted rows. :func:`from_model` makes it.

    It has the methods that the model has, of ``predict``, ``predict_proba`` and ``decision_function``. They take an
    encrypted table and give an :class:`EncryptedPrediction`, which ``keys.secret.decrypt`` makes a numpy array of.
    """

    def __init__(self, converted: Converted) -> None:
        self._converted = converted

    @property
    def features(self) -> list[str]:
        """The names of the columns that it predicts from, in the model's order."""
        return list(self._converted.features)

    def predict(self, table: object) -> EncryptedPrediction:
        """The predictions: numbers, classes or clusters.

        Args:
            table: an :class:`EncryptedTable` of ``Server.load``, or a mapping from names to encrypted columns. It has the
                model's :attr:`features`; names with other characters than letters and digits stand for those with underscores.
        """
        return self._predicted("predict", table)

    def predict_proba(self, table: object) -> EncryptedPrediction:
        """The probabilities of the classes. See :meth:`predict`."""
        return self._predicted("predict_proba", table)

    def decision_function(self, table: object) -> EncryptedPrediction:
        """The scores of the classes. See :meth:`predict`."""
        return self._predicted("decision_function", table)

    def column(self, table: object) -> EncryptedColumn:
        """The predictions of a linear regression, or the score of a linear classifier's second class, as a column to
        compute on: ``model.column(table).mean()``. It may take bootstraps where :meth:`predict` takes none."""
        converted = self._converted
        if converted.column is None:
            raise TypeError(
                f"a {converted.name} has no prediction to compute on: regressions with one output and classifiers of two "
                "classes that are linear have; decrypt what predict() gives"
            )
        inputs = inputs_of(table, converted.features)
        number = converted.column.single(inputs)
        return EncryptedColumn(number, f"column({converted.name})", "", inputs.rows)

    def is_class(self, table: object, label: object) -> EncryptedMask:
        """The rows that are predicted to be of a class or cluster, to count or to compute on: ``model.is_class(table, "on").sum()``.

        Linear classifiers, k-means and single decision trees have it. Whoever decrypts what is computed of it learns nothing else.

        Args:
            table: as for :meth:`predict`.
            label: one of the model's classes, or the number of a cluster.
        """
        converted = self._converted
        if converted.of_class is None or converted.classes is None:
            raise TypeError(
                f"classes of a {converted.name} are only known when they are decrypted: linear classifiers, k-means and single "
                "decision trees have is_class(); decrypt what predict() gives"
            )
        places = np.flatnonzero(converted.classes == label)
        if len(places) != 1:
            raise ValueError(
                f"the model has no class {label!r}: it has {', '.join(map(repr, converted.classes.tolist()))}"
            )
        inputs = inputs_of(table, converted.features)
        mask = converted.of_class(inputs, int(places[0]))
        return EncryptedMask(mask, f"({converted.name} == {label})", inputs.rows)

    def read(self, answers: object, method: str = "predict") -> NDArray[Any]:
        """The predictions of a result that another process has sent.

        Args:
            answers: what ``SecretKey.decrypt`` gives of the bytes of a prediction of this model.
            method: the method that gave the prediction.
        """
        one = self._method(method)
        if isinstance(answers, np.ndarray):
            answers = {"0.0: ": answers}
        if not isinstance(answers, Mapping):
            raise TypeError(
                f"a {type(answers).__name__} is no decrypted prediction: give what keys.secret.decrypt() gives of its bytes"
            )
        return one.finish(*outputs_of(answers, one.outputs.count))

    def loss(self, rows: object, table: object) -> Loss:
        """How far its predictions are from those of the clear model on clear rows.

        Rounding of readings to the columns' steps and rounding of weights both count. Nothing is encrypted.

        Args:
            rows: clear rows, as the clear model takes them.
            table: the encrypted table to be predicted from, or one like it: its columns say how readings are rounded.
        """
        converted = self._converted
        readings = readings_of(rows, converted.features)
        inputs = inputs_of(table, converted.features)
        codes = inputs.codes(readings)

        def ours(method: str) -> NDArray[Any]:
            one = converted.methods[method]
            return one.finish(one.outputs.clear(inputs, codes), len(codes))

        differences = np.abs(ours(converted.measured) - converted.measure(readings))
        differing = 0
        if converted.is_discrete:
            differing = int(np.count_nonzero(ours("predict") != converted.predict(readings)))
        return Loss(len(codes), float(differences.max()), float(differences.mean()), differing)

    def cost_per_row(self, table: object, method: str = "predict", measure: bool = False) -> Cost:
        """The cost of the prediction of one row of a table. ``Cost.bootstraps`` times the number of rows is the cost of all.

        Args:
            table: the encrypted table; its columns' widths and forms matter, its number of rows does not.
            method: the method.
            measure: whether to say how many seconds it takes on this machine, one row by itself.
        """
        one = self._method(method)
        inputs = inputs_of(table, self._converted.features).first()
        parts = [part for parts in one.outputs.record(inputs) for part in parts]
        return Cost(*_native.cost(list(parts), measure))

    def _method(self, method: str) -> Method:
        found = self._converted.methods.get(method)
        if found is None:
            raise TypeError(
                f"a {self._converted.name} has no method {method}() on encrypted rows: it has "
                f"{', '.join(self._converted.methods)}"
            )
        return found

    def _predicted(self, method: str, table: object) -> EncryptedPrediction:
        one = self._method(method)
        inputs = inputs_of(table, self._converted.features)
        name = f"{method}({self._converted.name})"
        return EncryptedPrediction(one.outputs.record(inputs), one.finish, name, inputs.rows)

    def __repr__(self) -> str:
        return f"<EncryptedModel {self._converted.name} of {', '.join(self.features)}>"


def classes_of(classes: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """The classes at places."""
    found: NDArray[Any] = np.asarray(classes)[places]
    return found


def filled(
    values: Sequence[NDArray[np.float64] | None], constants: NDArray[np.float64], rows: int
) -> NDArray[np.float64]:
    """Outputs, one a column, of which those that are the same for all rows are constants."""
    columns = [
        np.full(rows, constant) if value is None else value
        for value, constant in zip(values, constants)
    ]
    return np.column_stack(columns)
