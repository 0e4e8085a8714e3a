"""Measures models of scikit-learn on encrypted rows.

    python python/benchmarks/models.py [--json FILE] [NAME…]

Models are fitted on half of the rows of a data set. Those of the other half are predicted in a rehearsal, which gives the
accuracy on readings as the columns have them, and a few of them with real keys, which gives the time and must give the same.
Only the computation is timed: not encryption, nor decryption.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from sklearn import (
    cluster,
    datasets,
    ensemble,
    linear_model,
    metrics,
    pipeline,
    preprocessing,
    tree,
)

import tfhe_sbc as ts

WEATHER = Path(__file__).parents[2] / "crates" / "cli" / "data" / "greensboro-hourly.csv"
#: About as many bootstraps are timed for each model.
BOOTSTRAPS = 1500
#: The most rows that are predicted, of the half that models were not fitted on.
MOST_ROWS = 300


def weather(hours: int) -> tuple[pandas.DataFrame, pandas.Series]:
    """A year of hourly readings, and the temperature some hours later."""
    with WEATHER.open(encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        year = pandas.DataFrame(list(csv.DictReader(lines)))
    year = year.iloc[:, 1:].astype(float)
    return year.iloc[:-hours], year.iloc[hours:, 0].reset_index(drop=True)


def of_sklearn(name: str) -> tuple[pandas.DataFrame, pandas.Series]:
    features, target = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    features.columns = [re.sub(r"\W+", "_", column).strip("_") for column in features]
    return features, target


def frost() -> tuple[pandas.DataFrame, pandas.Series]:
    features, target = weather(6)
    return features, target < 0


def scaled(model: Any) -> Any:
    return pipeline.make_pipeline(preprocessing.StandardScaler(), model)


#: The data of each model, and it.
MODELS: dict[str, tuple[str, Any, int]] = {
    "LinearRegression": ("temperature in 6 hours", linear_model.LinearRegression(), 10),
    "Ridge, scaled": ("diabetes", scaled(linear_model.Ridge()), 10),
    "LogisticRegression, scaled": (
        "frost in 6 hours",
        scaled(linear_model.LogisticRegression()),
        10,
    ),
    "LogisticRegression, 3 classes": ("wine", scaled(linear_model.LogisticRegression()), 10),
    "LogisticRegression, 30 features": (
        "breast cancer",
        scaled(linear_model.LogisticRegression()),
        10,
    ),
    "KMeans, 4 clusters": (
        "frost in 6 hours",
        scaled(cluster.KMeans(4, random_state=1, n_init=4)),
        10,
    ),
    "DecisionTree, depth 3, iris": (
        "iris",
        tree.DecisionTreeClassifier(max_depth=3, random_state=1),
        6,
    ),
    "DecisionTree, depth 4": (
        "frost in 6 hours",
        tree.DecisionTreeClassifier(max_depth=4, random_state=1),
        8,
    ),
    "DecisionTree, depth 6": (
        "temperature in 6 hours",
        tree.DecisionTreeRegressor(max_depth=6, random_state=1),
        8,
    ),
    "DecisionTree, whole": ("breast cancer", tree.DecisionTreeClassifier(random_state=1), 6),
    "RandomForest, 10 trees of depth 4": (
        "frost in 6 hours",
        ensemble.RandomForestClassifier(10, max_depth=4, random_state=1),
        8,
    ),
    "RandomForest, 20 trees of depth 4, iris": (
        "iris",
        ensemble.RandomForestClassifier(20, max_depth=4, random_state=1),
        6,
    ),
    "RandomForest, 20 trees of depth 4": (
        "temperature in 6 hours",
        ensemble.RandomForestRegressor(20, max_depth=4, random_state=1),
        8,
    ),
    "GradientBoosting, 20 trees of depth 3": (
        "breast cancer",
        ensemble.GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=1),
        6,
    ),
    "HistGradientBoosting, 20 trees of 8 leaves": (
        "temperature in 6 hours",
        ensemble.HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=8, random_state=1),
        8,
    ),
}
DATA = {
    "temperature in 6 hours": lambda: weather(6),
    "frost in 6 hours": frost,
    "iris": lambda: of_sklearn("iris"),
    "wine": lambda: of_sklearn("wine"),
    "breast cancer": lambda: of_sklearn("breast_cancer"),
    "diabetes": lambda: of_sklearn("diabetes"),
}


def score(model: Any, target: Any, predicted: Any, features: pandas.DataFrame) -> tuple[str, float]:
    """The accuracy of classes, R² of numbers, and of clusters the share that is the clear model's."""
    if hasattr(model, "cluster_centers_") or hasattr(
        model[-1] if hasattr(model, "steps") else 0, "cluster_centers_"
    ):
        return "same", float((predicted == model.predict(features)).mean())
    if target.dtype.kind == "f":
        return "R²", float(metrics.r2_score(target, predicted))
    return "accuracy", float((np.asarray(predicted) == np.asarray(target)).mean())


def measured(name: str, keys: ts.Keys, server: ts.Server) -> dict[str, Any]:
    data, model, bits = MODELS[name]
    features, target = DATA[data]()
    order = np.random.default_rng(1).permutation(len(features))
    train, test = order[: len(order) // 2], order[len(order) // 2 :][:MOST_ROWS]
    low, high = features.min(), features.max()
    how: Any = {
        "scale": ((high - low) / (2**bits - 1)).to_dict(),
        "offset": low.to_dict(),
        "bits": bits,
    }
    model.fit(features.iloc[train], target.iloc[train])
    rows, wanted = features.iloc[test], target.iloc[test]
    converted = ts.sklearn.from_model(model)
    rehearsal = ts.Rehearsal()
    table = rehearsal.load(rows, **how)
    cost = converted.cost_per_row(table)
    predicted = rehearsal.decrypt(converted.predict(table))
    few = rows.iloc[: min(len(rows), max(2, BOOTSTRAPS // max(cost.bootstraps, 5)))]
    box = ts.Encryptor(keys.device).encrypt(few, **how)
    prediction = converted.predict(server.load(box))
    begin = time.perf_counter()
    prediction.compute()
    seconds = (time.perf_counter() - begin) / len(few)
    assert np.array_equal(keys.secret.decrypt(prediction), predicted[: len(few)])
    kind, clear = score(model, wanted, model.predict(rows), rows)
    _, encrypted = score(model, wanted, predicted, rows)
    loss = converted.loss(rows, rehearsal.load(rows, **how))
    return {
        "model": name,
        "data": data,
        "features": features.shape[1],
        "bits": bits,
        "bootstraps": cost.bootstraps,
        "rounds": cost.depth,
        "seconds": seconds,
        "rows": len(few),
        "measure": kind,
        "clear": clear,
        "encrypted": encrypted,
        "tested": len(rows),
        "largest": loss.largest,
        "mean": loss.mean,
        "differing": loss.differing,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("models", nargs="*", help="only these models")
    arguments = parser.parse_args()
    keys = ts.keygen()
    server = ts.Server(keys.server)
    found = []
    print(
        "| model | data, features × bits | bootstraps | seconds a row | clear | encrypted | differing |"
    )
    print("|---|---|---:|---:|---:|---:|---:|")
    for name in arguments.models or MODELS:
        one = measured(name, keys, server)
        found.append(one)
        seconds = "< 0.01" if one["seconds"] < 0.01 else f"{one['seconds']:.2g}"
        print(
            f"| {name} | {one['data']}, {one['features']} × {one['bits']} | {one['bootstraps']} | {seconds} | "
            f"{one['clear']:.3f} | {one['encrypted']:.3f} ({one['measure']}) | "
            f"{one['differing']} of {one['tested']}, {one['largest']:.2g} |",
            flush=True,
        )
    machine = {"machine": platform.processor() or platform.machine(), "processors": os.cpu_count()}
    if arguments.json:
        arguments.json.write_text(json.dumps({**machine, "models": found}, indent=1))


if __name__ == "__main__":
    main()
