"""Decision trees on codes.

A tree asks whether a reading is at most a threshold, which is between two codes of the reading's column or at one. So it becomes a
comparison of codes that goes the same way for every reading that has a code, and the leaf of a row is exactly that of the clear model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np
from numpy.typing import NDArray

from .. import _native
from ._inputs import Inputs
from ._scaling import Scaling

#: A branch: whether it goes to a leaf, and that leaf's answer or the place of a node.
Turn = tuple[bool, int]

#: The most branches on the way to a leaf.
MOST_DEPTH = 64


@dataclass(frozen=True)
class ClearTree:
    """A tree as scikit-learn has it. Rows whose feature is at most the threshold go left."""

    features: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    #: The nodes to the left and to the right.
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    is_leaf: NDArray[np.bool_]
    #: The answer of each leaf: a place in a table of values. Any number elsewhere.
    answers: NDArray[np.int64]


@dataclass(frozen=True)
class Branch:
    """A node of a tree on codes: rows whose code is below ``limit`` take the first branch."""

    feature: int
    limit: int
    below: Turn
    otherwise: Turn


@dataclass(frozen=True)
class CodeTree:
    """A tree on codes, without branches that no code takes. A tree of one leaf has its answer alone."""

    branches: list[Branch]
    root: Turn

    def clear(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The answer for each row of clear codes."""
        answers = np.zeros(len(codes))
        left: list[tuple[Turn, NDArray[np.int64]]] = [(self.root, np.arange(len(codes)))]
        while left:
            (is_leaf, to), rows = left.pop()
            if is_leaf:
                answers[rows] = to
                continue
            branch = self.branches[to]
            is_below = codes[rows, branch.feature] < branch.limit
            left.append((branch.below, rows[is_below]))
            left.append((branch.otherwise, rows[~is_below]))
        return answers


class Trees:
    """The leaves that rows come to in trees.

    Args:
        trees: the clear trees.
        scaling: the scalers before the model.
        precise: the type that the model compares readings in.
    """

    def __init__(
        self,
        trees: Sequence[ClearTree],
        scaling: Scaling,
        precise: Union[type[np.float32], type[np.float64]],
    ) -> None:
        self._trees = list(trees)
        self._scaling = scaling
        self._type = precise

    @property
    def count(self) -> int:
        """The number of trees."""
        return len(self._trees)

    def record(self, inputs: Inputs) -> list[list[_native.Number]]:
        """The answer of each tree. Trees that ask the same share it."""
        asked: dict[tuple[int, int], _native.Mask] = {}
        numbers = inputs.numbers

        def mask(branch: Branch) -> _native.Mask:
            key = (branch.feature, branch.limit)
            if key not in asked:
                asked[key] = numbers[branch.feature].compare_code("<", branch.limit)
            return asked[key]

        def decided(tree: CodeTree) -> _native.Number:
            nodes = [(mask(branch), branch.below, branch.otherwise) for branch in tree.branches]
            if not nodes:
                # The same leaf for all rows: on both sides of a condition that always holds.
                always = numbers[0].compare_code("<", 1).constant(True)
                rows = always if numbers[0].rows is None else _for_rows(always, numbers[0].rows)
                nodes = [(rows, tree.root, tree.root)]
            return _native.decide(nodes)

        return [[decided(tree)] for tree in self._on_codes(inputs)]

    def clear(self, inputs: Inputs, codes: NDArray[np.int64]) -> list[NDArray[np.float64] | None]:
        """The same answers for clear codes."""
        return [tree.clear(codes) for tree in self._on_codes(inputs)]

    def _on_codes(self, inputs: Inputs) -> list[CodeTree]:
        limits = self._limits(inputs)
        highest = [1 << number.bits for number in inputs.numbers]
        return [_on_codes(tree, limits, highest) for tree in self._trees]

    def _limits(self, inputs: Inputs) -> list[dict[float, int]]:
        """For each feature and threshold, the number of codes whose readings are at most the threshold."""
        wanted: list[set[float]] = [set() for _ in inputs.numbers]
        for tree in self._trees:
            inner = ~tree.is_leaf
            for feature, threshold in zip(tree.features[inner], tree.thresholds[inner]):
                wanted[feature].add(float(threshold))
        return [
            self._limits_of(feature, number, np.array(sorted(thresholds)), len(wanted))
            for feature, (number, thresholds) in enumerate(zip(inputs.numbers, wanted))
        ]

    def _limits_of(
        self, feature: int, number: _native.Number, thresholds: NDArray[np.float64], count: int
    ) -> dict[float, int]:
        low = np.zeros(len(thresholds), dtype=np.int64)
        high = np.full(len(thresholds), 1 << number.bits, dtype=np.int64)
        while (low < high).any():
            middle = np.minimum((low + high) // 2, (1 << number.bits) - 1)
            readings = np.zeros((len(middle), count))
            readings[:, feature] = number.decoded(middle.tolist())
            seen = self._scaling.transform(readings)[:, feature]
            seen = seen.astype(self._type).astype(np.float64)
            is_left = (seen <= thresholds) & (low < high)
            low, high = np.where(is_left, middle + 1, low), np.where(is_left, high, middle)
            high = np.maximum(low, high)
        return dict(zip(thresholds.tolist(), low.tolist()))


def _on_codes(
    tree: ClearTree, limits: Sequence[dict[float, int]], highest: Sequence[int]
) -> CodeTree:
    branches: list[Branch] = []

    def turn(node: int, ranges: dict[int, tuple[int, int]], depth: int) -> Turn:
        """The branch to a node, which codes of these ranges take."""
        if tree.is_leaf[node]:
            return (True, int(tree.answers[node]))
        feature = int(tree.features[node])
        limit = limits[feature][float(tree.thresholds[node])]
        low, high = ranges.get(feature, (0, highest[feature]))
        if limit <= low:
            return turn(int(tree.right[node]), ranges, depth)
        if limit >= high:
            return turn(int(tree.left[node]), ranges, depth)
        if depth == MOST_DEPTH:
            raise ValueError(
                f"a tree has leaves behind more than {MOST_DEPTH} branches: fit the model with max_depth={MOST_DEPTH}, or, as every "
                "branch costs bootstraps, far fewer"
            )
        place = len(branches)
        branches.append(Branch(feature, limit, (True, 0), (True, 0)))
        below = turn(int(tree.left[node]), {**ranges, feature: (low, limit)}, depth + 1)
        otherwise = turn(int(tree.right[node]), {**ranges, feature: (limit, high)}, depth + 1)
        if below[0] and below == otherwise:
            branches.pop()
            return below
        branches[place] = Branch(feature, limit, below, otherwise)
        return (False, place)

    return CodeTree(branches, turn(0, {}, 0))


def _for_rows(single: _native.Mask, rows: int) -> _native.Mask:
    """A truth value for each of as many rows."""
    return single.public([True] * rows) if single.rows is None else single


def of_tree(tree: Any, values: NDArray[Any]) -> tuple[ClearTree, NDArray[Any]]:
    """A tree of scikit-learn, and the values of its answers.

    Args:
        tree: the ``tree_`` of a fitted model.
        values: the value of each node: a number or a list of numbers. Only those of leaves matter.
    """
    is_leaf = tree.children_left == -1
    answers, table = _answers(values, is_leaf)
    clear = ClearTree(
        np.asarray(tree.feature, dtype=np.int64),
        np.asarray(tree.threshold, dtype=np.float64),
        np.asarray(tree.children_left, dtype=np.int64),
        np.asarray(tree.children_right, dtype=np.int64),
        np.asarray(is_leaf, dtype=np.bool_),
        answers,
    )
    return clear, table


def of_predictor(nodes: Any) -> tuple[ClearTree, NDArray[Any]]:
    """A tree of a histogram-based model, from its nodes, and the values of its answers."""
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    answers, table = _answers(nodes["value"], is_leaf)
    clear = ClearTree(
        nodes["feature_idx"].astype(np.int64),
        nodes["num_threshold"].astype(np.float64),
        nodes["left"].astype(np.int64),
        nodes["right"].astype(np.int64),
        is_leaf,
        answers,
    )
    return clear, table


def _answers(
    values: NDArray[Any], is_leaf: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The place of each leaf's value among the different ones, and these."""
    table, places = np.unique(values[is_leaf], axis=0, return_inverse=True)
    answers = np.zeros(len(values), dtype=np.int64)
    answers[is_leaf] = places.reshape(-1)
    return answers, table
