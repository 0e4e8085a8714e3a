"""Data sets of scikit-learn, and rehearsed tables of them."""

from __future__ import annotations

import re

import pytest

datasets = pytest.importorskip("sklearn.datasets")
pandas = pytest.importorskip("pandas")

#: More rows than these take time and show nothing new.
ROWS = 40


def data_set(name):
    """The features and targets of a bundled data set, in an order without runs of one class."""
    features, target = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    order = pandas.Series(range(len(features))).sample(frac=1, random_state=7)
    return features.iloc[order].reset_index(drop=True), target.iloc[order].reset_index(drop=True)


def column(feature):
    return re.sub(r"\W+", "_", feature).strip("_")


def encodings(features, bits):
    """The arguments of `encrypt` for columns whose ranges are those of all readings."""
    low, high = features.min(), features.max()
    scale = (high - low) / (2**bits - 1)
    return {
        "scale": {column(name): float(scale[name]) for name in features},
        "offset": {column(name): float(low[name]) for name in features},
        "bits": bits,
    }


def table_of(load, decrypt, features, bits=10, rows=ROWS, **others):
    """What `load` makes of the first rows of features, and the readings that its columns have of them."""
    first = features.iloc[:rows]
    data = {column(name): first[name].to_numpy() for name in features}
    # Columns that were decrypted are computed, and no longer loaded.
    table, other = (load(data, **encodings(features, bits), **others) for _ in range(2))
    decoded = {name: decrypt(other[column(name)]) for name in features}
    return table, pandas.DataFrame(decoded)


def rehearsed(rehearsal, features, **how):
    """A rehearsed table of the first rows of features, and the readings that its columns have of them."""
    return table_of(rehearsal.load, rehearsal.decrypt, features, **how)
