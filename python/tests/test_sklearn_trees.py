"""Trees and forests of scikit-learn on encrypted rows give exactly what they give on the readings that columns have."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn_data import ROWS, data_set, pandas, rehearsed, table_of

import tfhe_sbc as ts

tree = pytest.importorskip("sklearn.tree")
ensemble = pytest.importorskip("sklearn.ensemble")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")

CLASSIFIERS = {
    "tree": tree.DecisionTreeClassifier(max_depth=4, random_state=1),
    "whole tree": tree.DecisionTreeClassifier(random_state=1),
    "random tree": tree.ExtraTreeClassifier(max_depth=4, random_state=1),
    "forest": ensemble.RandomForestClassifier(7, max_depth=3, random_state=1),
    "random forest": ensemble.ExtraTreesClassifier(5, max_depth=3, random_state=1),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=3, random_state=1),
    "zero": ensemble.GradientBoostingClassifier(n_estimators=2, init="zero", random_state=1),
    "histograms": ensemble.HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=6),
    "scaled": pipeline.make_pipeline(
        preprocessing.StandardScaler(), tree.DecisionTreeClassifier(max_depth=5, random_state=1)
    ),
}
REGRESSORS = {
    "tree": tree.DecisionTreeRegressor(max_depth=5, random_state=1),
    "whole tree": tree.DecisionTreeRegressor(random_state=1),
    "deep tree": tree.DecisionTreeRegressor(max_depth=6, random_state=1),
    "forest": ensemble.RandomForestRegressor(6, max_depth=3, random_state=1),
    "boosting": ensemble.GradientBoostingRegressor(n_estimators=5, random_state=1),
    "histograms": ensemble.HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=6),
    "poisson": ensemble.HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=6, loss="poisson"),
    "scaled": pipeline.make_pipeline(
        preprocessing.MinMaxScaler(),
        ensemble.HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=6),
    ),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("data, use", [("wine", None), ("breast_cancer", "radix")])
def test_a_classifier_is_exact(rehearsal, name, data, use):
    features, target = data_set(data)
    target = target.map(lambda place: f"class {place}")
    model = CLASSIFIERS[name].fit(features, target)
    table, decoded = rehearsed(rehearsal, features, bits=8, use=use)
    converted = ts.sklearn.from_model(model)
    assert converted.cost_per_row(table).bootstraps > 0
    predicted = rehearsal.decrypt(converted.predict(table))
    assert predicted.tolist() == model.predict(decoded).tolist()
    assert len(set(predicted)) > 1
    probabilities = rehearsal.decrypt(converted.predict_proba(table))
    assert np.allclose(probabilities, model.predict_proba(decoded), rtol=1e-14, atol=1e-15)
    if hasattr(model, "decision_function"):
        scores = rehearsal.decrypt(converted.decision_function(table))
        assert np.array_equal(scores, model.decision_function(decoded))
    loss = converted.loss(features, table)
    differences = np.abs(model.predict_proba(read(table, features)) - model.predict_proba(features))
    assert loss.rows == len(features)
    assert np.isclose(loss.largest, differences.max(), atol=1e-14)
    assert np.isclose(loss.mean, differences.mean(), atol=1e-14)
    other = model.predict(read(table, features)) != model.predict(features)
    assert loss.differing == other.sum()


def read(table, features):
    """The readings that columns have of all rows."""
    decoded = features.copy()
    for name, column in zip(features, table.columns):
        low, scale = table[column].range[0], table[column].scale
        codes = np.floor((features[name] - low) / scale + 0.5).astype(int)
        decoded[name] = table[column]._number.decoded(codes.tolist())
    return decoded


@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_is_exact(rehearsal, name):
    features, target = data_set("diabetes")
    model = REGRESSORS[name].fit(features, target)
    table, decoded = rehearsed(rehearsal, features, bits=8)
    converted = ts.sklearn.from_model(model)
    predicted = rehearsal.decrypt(converted.predict(table))
    assert np.array_equal(predicted, model.predict(decoded))
    assert len(set(predicted)) > 1
    loss = converted.loss(features, table)
    differences = np.abs(model.predict(read(table, features)) - model.predict(features))
    assert (loss.largest, loss.mean) == (differences.max(), differences.mean())


def test_several_targets_of_a_regression(rehearsal):
    features, target = data_set("diabetes")
    both = np.column_stack([target, -target])
    model = ensemble.RandomForestRegressor(3, max_depth=3, random_state=1).fit(features, both)
    table, decoded = rehearsed(rehearsal, features, bits=8)
    predicted = rehearsal.decrypt(ts.sklearn.from_model(model).predict(table))
    assert np.array_equal(predicted, model.predict(decoded))


@pytest.mark.parametrize("seed", range(4))
def test_every_code_goes_where_its_reading_goes(rehearsal, seed):
    # Every code of two columns, with thresholds that are readings, between them, and outside of them.
    generator = np.random.default_rng(seed)
    readings = np.round(-40 + 0.1 * np.arange(64), 1)
    scaler = preprocessing.RobustScaler()
    rows = generator.choice(readings, (300, 2)) + generator.choice([0, 0, 0.05, 1e-7, 9], (300, 2))
    rows = pandas.DataFrame(rows, columns=["a", "b"])
    target = generator.integers(0, 3, len(rows))
    table = {"a": readings, "b": generator.permutation(readings)}
    # No column stands for all of its codes, so that they are loaded in rehearsal as on a server.
    loaded = rehearsal.load(table, scale=0.1, offset=-40, bits=6)
    again = rehearsal.load(table, scale=0.1, offset=-40, bits=6)
    decoded = pandas.DataFrame({name: rehearsal.decrypt(again[name]) for name in table})
    for model in (
        tree.DecisionTreeClassifier(max_depth=7, random_state=seed),
        pipeline.make_pipeline(scaler, tree.DecisionTreeClassifier(max_depth=6)),
        ensemble.HistGradientBoostingClassifier(max_iter=1, max_leaf_nodes=12),
    ):
        model.fit(rows, target)
        at_codes = model[-1] if hasattr(model, "steps") else model
        if hasattr(at_codes, "tree_") and not hasattr(model, "steps"):
            # Thresholds at readings themselves, as they are in single precision.
            inner = at_codes.tree_.children_left >= 0
            at_codes.tree_.threshold[inner] = generator.choice(readings, inner.sum())
        converted = ts.sklearn.from_model(model)
        predicted = rehearsal.decrypt(converted.predict(loaded))
        assert predicted.tolist() == model.predict(decoded).tolist()


def test_a_tree_that_all_codes_take_alike_costs_nothing(rehearsal):
    rows = pandas.DataFrame({"x": [0.0, 100.0]})
    model = tree.DecisionTreeClassifier().fit(rows, ["cold", "hot"])
    column = rehearsal.load([1.0, 2.0, 3.0], bits=4, name="x")
    prediction = ts.sklearn.from_model(model).predict(column)
    assert ts.cost(prediction).bootstraps == 0
    assert rehearsal.decrypt(prediction).tolist() == ["cold"] * 3


def test_rows_of_a_class_stay_encrypted(rehearsal):
    features, target = data_set("wine")
    target = target.map(lambda place: f"class {place}")
    table, decoded = rehearsed(rehearsal, features, bits=6)
    model = tree.DecisionTreeClassifier(max_depth=4, random_state=1).fit(features, target)
    converted = ts.sklearn.from_model(model)
    predicted = model.predict(decoded)
    for label in model.classes_:
        rows = rehearsal.decrypt(converted.is_class(table, label))
        assert rows.tolist() == (predicted == label).tolist()
    stump = tree.DecisionTreeClassifier(max_depth=1, random_state=1).fit(features, target)
    never = ({*stump.classes_} - {*stump.predict(features)}).pop()
    prediction = ts.sklearn.from_model(stump).is_class(table, never)
    assert ts.cost(prediction).bootstraps == 0
    assert not rehearsal.decrypt(prediction).any()
    forest = ensemble.RandomForestClassifier(2, max_depth=2).fit(features, target)
    with pytest.raises(TypeError, match="single decision trees have is_class"):
        ts.sklearn.from_model(forest).is_class(table, "class 1")


def test_trees_of_a_forest_share_comparisons(rehearsal):
    features, target = data_set("iris")
    table, _ = rehearsed(rehearsal, features, bits=5, rows=4)
    one = ensemble.ExtraTreesClassifier(1, max_depth=3, random_state=3).fit(features, target)
    cost = ts.sklearn.from_model(one).cost_per_row(table).bootstraps
    one.estimators_ = one.estimators_ * 2
    # The second tree is the first one again.
    assert ts.sklearn.from_model(one).cost_per_row(table).bootstraps == cost
    many = ensemble.ExtraTreesClassifier(12, random_state=3).fit(features, target)
    alone = sum(
        ts.sklearn.from_model(single, features=table.columns)
        .cost_per_row(table, "predict_proba")
        .bootstraps
        for single in many.estimators_
    )
    assert ts.sklearn.from_model(many).cost_per_row(table).bootstraps < 0.8 * alone


def test_trees_that_cannot_be_converted_say_what_to_do(rehearsal):
    features, target = data_set("iris")
    both = np.column_stack([target, target])
    with pytest.raises(TypeError, match="2 targets is not converted: fit one model for each"):
        ts.sklearn.from_model(tree.DecisionTreeClassifier().fit(features, both))
    started = ensemble.GradientBoostingRegressor(n_estimators=2, init=tree.DecisionTreeRegressor())
    with pytest.raises(TypeError, match="starts from a DecisionTreeRegressor.*without init="):
        ts.sklearn.from_model(started.fit(features, target))
    places = ensemble.HistGradientBoostingClassifier(max_iter=1, categorical_features=[0])
    whole = features.round().astype(int)
    with pytest.raises(TypeError, match="without categorical_features"):
        ts.sklearn.from_model(places.fit(whole, target))
    # A staircase, whose last leaf is behind 70 branches.
    steps = pandas.DataFrame({"x": np.arange(71.0)})
    stairs = tree.DecisionTreeRegressor(random_state=1)
    stairs.fit(steps, 4.0 ** np.arange(71))
    column = rehearsal.load(np.arange(71.0), bits=7, name="x")
    assert stairs.get_depth() > 64
    with pytest.raises(ValueError, match="max_depth=64"):
        ts.sklearn.from_model(stairs).predict(column)


def test_a_tree_with_real_keys(keys, server):
    features, target = data_set("iris")
    load = lambda *data, **how: server.load(ts.Encryptor(keys.device).encrypt(*data, **how))  # noqa: E731
    table, decoded = table_of(load, keys.secret.decrypt, features, bits=6, rows=3)
    model = tree.DecisionTreeClassifier(max_depth=2, random_state=1).fit(features, target)
    converted = ts.sklearn.from_model(model)
    assert keys.secret.decrypt(converted.predict(table)).tolist() == model.predict(decoded).tolist()
    forest = ensemble.RandomForestClassifier(2, max_depth=2, random_state=1).fit(features, target)
    converted = ts.sklearn.from_model(forest)
    answers = keys.secret.decrypt(converted.predict(table).to_bytes())
    assert sorted(answers) == [f"{one}.0: predict(RandomForestClassifier)" for one in range(2)]
    assert converted.read(answers).tolist() == forest.predict(decoded).tolist()
    probabilities = converted.read(answers, "predict_proba")
    assert np.array_equal(probabilities, forest.predict_proba(decoded))
    assert len(decoded) < ROWS
