"""Decision trees on codes.

A tree asks whether a reading is at most a threshold, which is between two codes of the reading's column or at one. So it becomes a
comparison of codes that goes the same way for every reading that has a code, and the leaf of a row is exactly that of the clear model.
"""

from __future__ import annotations

import itertools
import math
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
#: The number of values of a block of the shipped parameter set, whose digits have 2 bits. Under other sets trees only cost more.
BLOCK_VALUES = 16
#: The most digits of a code.
MOST_DIGITS = 26


@dataclass(frozen=True)
class ClearTree:
    """A tree as scikit-learn has it. Rows whose feature is at most the threshold go left."""

    features: NDArray[np.int64]
    thresholds: NDArray[np.float64]
    #: The nodes to the left and to the right.
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    is_leaf: NDArray[np.bool_]
    #: The answer of each leaf: a code of its :class:`Leaves`. Any number elsewhere.
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
                nodes = [(inputs.same_for_all(True), tree.root, tree.root)]
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


@dataclass(frozen=True)
class Leaves:
    """The values of a tree's leaves, and the codes that stand for them, in the order of the codes."""

    codes: NDArray[np.int64]
    values: NDArray[Any]

    def chosen(self, answers: NDArray[np.float64] | None) -> NDArray[Any]:
        """The value for each of the codes that were computed."""
        places = np.searchsorted(self.codes, np.rint(np.asarray(answers)).astype(np.int64))
        if (places >= len(self.codes)).any():
            raise ValueError(
                "these answers are not those of this model: read them with the model that predicted them"
            )
        chosen: NDArray[Any] = self.values[places]
        return chosen


def of_tree(tree: Any, values: NDArray[Any]) -> tuple[ClearTree, Leaves]:
    """A tree of scikit-learn, and its leaves.

    Args:
        tree: the ``tree_`` of a fitted model.
        values: the value of each node: a number or a list of numbers. Only those of leaves matter.
    """
    left, right = np.asarray(tree.children_left), np.asarray(tree.children_right)
    return _with_leaves(tree.feature, tree.threshold, left, right, left == -1, values)


def of_predictor(nodes: Any) -> tuple[ClearTree, Leaves]:
    """A tree of a histogram-based model, from its nodes, and its leaves."""
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    left, right, values = nodes["left"], nodes["right"], nodes["value"].reshape(-1, 1)
    return _with_leaves(nodes["feature_idx"], nodes["num_threshold"], left, right, is_leaf, values)


def _with_leaves(
    features: Any, thresholds: Any, left: Any, right: Any, is_leaf: Any, values: NDArray[Any]
) -> tuple[ClearTree, Leaves]:
    different, places, counts = np.unique(
        values[is_leaf], axis=0, return_inverse=True, return_counts=True
    )
    value = np.zeros(len(is_leaf), dtype=np.int64)
    value[is_leaf] = places.reshape(-1)
    # The value of the most leaves gets the code 0, and those of two leaves of one branch get codes with one digit at one place.
    first = int(counts.argmax())
    inner = np.flatnonzero(~is_leaf)
    last = inner[is_leaf[left[inner]] & is_leaf[right[inner]]]
    siblings = np.column_stack([value[left[last]], value[right[last]]])
    is_alone = (counts[siblings] == 1).all(axis=1) & (siblings != first).all(axis=1)
    pairs = siblings[is_alone]
    is_other = np.ones(len(different), dtype=np.bool_)
    is_other[[first, *pairs.reshape(-1)]] = False
    others = np.flatnonzero(is_other)
    others = others[np.argsort(-counts[others], kind="stable")]
    codes = np.empty(len(different), dtype=np.int64)
    codes[[first, *pairs.reshape(-1), *others]] = _codes(
        len(different), _depth(left, right, is_leaf), len(pairs)
    )
    answers = np.zeros(len(is_leaf), dtype=np.int64)
    answers[is_leaf] = codes[value[is_leaf]]
    clear = ClearTree(
        np.asarray(features, dtype=np.int64),
        np.asarray(thresholds, dtype=np.float64),
        np.asarray(left, dtype=np.int64),
        np.asarray(right, dtype=np.int64),
        np.asarray(is_leaf, dtype=np.bool_),
        answers,
    )
    order = np.argsort(codes)
    return clear, Leaves(codes[order], different[order])


def _depth(left: Any, right: Any, is_leaf: NDArray[np.bool_]) -> int:
    """The most branches on the way to a leaf."""
    depth, nodes = 0, np.array([0])
    while True:
        inner = nodes[~is_leaf[nodes]]
        if not len(inner):
            return depth
        nodes, depth = np.concatenate([left[inner], right[inner]]).astype(np.int64), depth + 1


def _codes(count: int, depth: int, pairs: int) -> list[int]:
    """As many codes for the leaves of a tree, those with the fewest digits other than 0 first: 0, then pairs with one digit at the
    same place, then others.

    One bootstrap looks up as many digits of a leaf, or of two leaves of a branch, as their number of branches leaves room for in a
    block. So codes have no more digits other than 0 than that, and rather more digits in all. The sum of the leaves is refreshed
    now and then if many leaves have a digit at the same place.
    """
    room = max(1, BLOCK_VALUES // (min(depth, BLOCK_VALUES - 1) + 1))
    # Two leaves have room for two digits if they have fewer branches.
    easy = -(-(count - 1) // 3) if 4 * depth <= BLOCK_VALUES else max(pairs, -(-(count - 1) // 3))
    while True:
        for places in range(min(max(1, easy), MOST_DIGITS), MOST_DIGITS + 1):
            weights = range(min(room, places) + 1)
            if sum(math.comb(places, used) * 3**used for used in weights) >= count:
                single = [digit << 2 * at for at in range(places) for digit in (1, 2)]
                single += [3 << 2 * at for at in range(places)]
                # Neighbouring places first, so that all places have about as many digits.
                more = (
                    sum(digit << 2 * place for place, digit in zip(at, digits))
                    for used in weights[2:]
                    for digits in itertools.product((1, 2, 3), repeat=used)
                    for at in sorted(
                        itertools.combinations(range(places), used),
                        key=lambda at: (at[-1] - at[0], at),
                    )
                )
                return list(itertools.islice(itertools.chain([0], single, more), count))
        room += 1
