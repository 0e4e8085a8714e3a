"""Linear models of scikit-learn on encrypted rows give what they give on clear ones."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn_data import ROWS, data_set, rehearsed, table_of

import tfhe_sbc as ts

linear = pytest.importorskip("sklearn.linear_model")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")
svm = pytest.importorskip("sklearn.svm")
cluster = pytest.importorskip("sklearn.cluster")

REGRESSIONS = {
    "LinearRegression": linear.LinearRegression(),
    "Ridge": linear.Ridge(),
    "Lasso": linear.Lasso(alpha=0.5),
    "ElasticNet": linear.ElasticNet(alpha=0.01),
    "scaled": pipeline.make_pipeline(preprocessing.StandardScaler(), linear.Ridge()),
    "twice": pipeline.make_pipeline(
        preprocessing.MinMaxScaler((-1, 2)), preprocessing.RobustScaler(), linear.Ridge()
    ),
}


@pytest.mark.parametrize("name", REGRESSIONS)
def test_a_regression_predicts_within_what_rounding_changes(rehearsal, name):
    features, target = data_set("diabetes")
    model = REGRESSIONS[name].fit(features, target)
    table, decoded = rehearsed(rehearsal, features)
    converted = ts.sklearn.from_model(model)
    prediction = converted.predict(table)
    assert ts.cost(prediction).bootstraps == 0
    predicted = rehearsal.decrypt(prediction)
    # Weights are rounded no more than readings, half a step of each.
    slopes = [
        (model.predict(decoded + step) - model.predict(decoded)) / 1.0
        for step in half_steps(table, decoded)
    ]
    bound = sum(np.abs(slope).max() for slope in slopes)
    exact = model.predict(decoded)
    assert np.abs(predicted - exact).max() <= bound * 1.000001
    loss = converted.loss(features.iloc[:ROWS], table)
    clear = model.predict(features.iloc[:ROWS])
    assert np.isclose(loss.largest, np.abs(predicted - clear).max())
    assert np.isclose(loss.mean, np.abs(predicted - clear).mean())
    assert (loss.rows, loss.differing) == (ROWS, 0)


def half_steps(table, decoded):
    """For each column, a frame that adds half a step to it."""
    for name in decoded:
        steps = decoded * 0
        steps[name] = table[name].scale / 2
        yield steps


def test_what_a_search_found_best_predicts(rehearsal):
    selection = pytest.importorskip("sklearn.model_selection")
    features, target = data_set("diabetes")
    steps = pipeline.make_pipeline(preprocessing.StandardScaler(), linear.Ridge())
    search = selection.GridSearchCV(steps, {"ridge__alpha": [0.1, 100.0]}, cv=2)
    with pytest.raises(ValueError, match="this GridSearchCV is not fitted"):
        ts.sklearn.from_model(search)
    search.fit(features, target)
    table, decoded = rehearsed(rehearsal, features)
    predicted = rehearsal.decrypt(ts.sklearn.from_model(search).predict(table))
    assert np.abs(predicted - search.predict(decoded)).max() < 0.5


def test_precision_is_what_rounding_of_weights_changes_at_most(rehearsal):
    features, target = data_set("diabetes")
    model = linear.LinearRegression().fit(features, target)
    table, decoded = rehearsed(rehearsal, features)
    largest = []
    for precision in (10.0, 0.1, 0.001, 1e-5):
        converted = ts.sklearn.from_model(model, precision=precision)
        predicted = rehearsal.decrypt(converted.predict(table))
        largest.append(np.abs(predicted - model.predict(decoded)).max())
        assert largest[-1] <= precision
    assert largest[0] > largest[2]
    with pytest.raises(ValueError, match="coarser"):
        ts.sklearn.from_model(model, precision=1e-13).predict(table)
    with pytest.raises(ValueError, match="positive"):
        ts.sklearn.from_model(model, precision=0)


@pytest.mark.parametrize("use", ["alarms", "radix"])
def test_other_forms_of_columns_predict_the_same_with_bootstraps(rehearsal, use):
    features, target = data_set("iris")
    model = linear.Ridge().fit(features, target)
    table, _ = rehearsed(rehearsal, features, rows=4, use=use)
    means, _ = rehearsed(rehearsal, features, rows=4)
    converted = ts.sklearn.from_model(model, precision=0.01)
    assert converted.cost_per_row(table).bootstraps > 0
    assert converted.cost_per_row(means).bootstraps == 0
    predicted = rehearsal.decrypt(converted.predict(table))
    assert np.abs(predicted - rehearsal.decrypt(converted.predict(means))).max() < 0.02


@pytest.mark.parametrize("data", ["breast_cancer", "iris", "wine"])
def test_classes_and_probabilities_of_a_logistic_regression(rehearsal, data):
    features, target = data_set(data)
    target = target.map(lambda place: f"class {place}")
    scaler = preprocessing.StandardScaler()
    model = pipeline.make_pipeline(scaler, linear.LogisticRegression()).fit(features, target)
    table, decoded = rehearsed(rehearsal, features)
    converted = ts.sklearn.from_model(model)
    classes = converted.predict(table)
    probabilities = converted.predict_proba(table)
    scores = converted.decision_function(table)
    assert ts.cost(classes, probabilities, scores).bootstraps == 0
    assert rehearsal.decrypt(classes).tolist() == model.predict(decoded).tolist()
    difference = rehearsal.decrypt(probabilities) - model.predict_proba(decoded)
    assert np.abs(difference).max() < 0.005
    assert rehearsal.decrypt(scores).shape == model.decision_function(decoded).shape
    loss = converted.loss(features, table)
    assert loss.rows == len(features) and loss.largest < 0.01 and loss.differing <= 1


@pytest.mark.parametrize("kind", [linear.RidgeClassifier, svm.LinearSVC, linear.Perceptron])
def test_classifiers_without_probabilities(rehearsal, kind):
    features, target = data_set("iris")
    model = kind().fit(features, target)
    table, decoded = rehearsed(rehearsal, features)
    converted = ts.sklearn.from_model(model)
    predicted = rehearsal.decrypt(converted.predict(table))
    assert (predicted != model.predict(decoded)).sum() <= 1
    with pytest.raises(TypeError, match="no method predict_proba.*predict, decision_function"):
        converted.predict_proba(table)


def test_classes_one_against_the_others_as_former_versions_fitted_them(rehearsal):
    features, target = data_set("iris")
    model = linear.LogisticRegression(max_iter=500).fit(features, target)
    table, decoded = rehearsed(rehearsal, features)
    model.multi_class = "ovr"
    probabilities = rehearsal.decrypt(ts.sklearn.from_model(model).predict_proba(table))
    assert np.abs(probabilities - model._predict_proba_lr(decoded)).max() < 0.01
    two = linear.LogisticRegression(max_iter=500).fit(features, target == 1)
    two.multi_class = "multinomial"
    converted = ts.sklearn.from_model(two)
    scores = rehearsal.decrypt(converted.decision_function(table))
    probabilities = rehearsal.decrypt(converted.predict_proba(table))
    assert np.allclose(probabilities[:, 1], 1 / (1 + np.exp(-2 * scores)))


def test_several_targets_and_a_target_that_is_constant(rehearsal):
    features, target = data_set("diabetes")
    both = np.column_stack([target, np.full(len(target), 3.5), -2 * target])
    model = linear.LinearRegression().fit(features, both)
    table, decoded = rehearsed(rehearsal, features)
    model.coef_[1] = 0
    model.intercept_[1] = 3.5
    predicted = rehearsal.decrypt(ts.sklearn.from_model(model).predict(table))
    assert predicted.shape == (ROWS, 3)
    assert np.abs(predicted - model.predict(decoded)).max() < 2
    assert np.all(predicted[:, 1] == 3.5)
    flat = linear.Lasso(alpha=1e9).fit(features, target)
    with pytest.raises(ValueError, match="nothing to compute"):
        ts.sklearn.from_model(flat).predict(table)


def test_a_score_as_a_column_to_compute_on(rehearsal):
    features, target = data_set("breast_cancer")
    features = features.iloc[:, :4]
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), linear.LogisticRegression())
    model.fit(features, target)
    table, decoded = rehearsed(rehearsal, features, rows=10)
    column = ts.sklearn.from_model(model).column(table)
    positive = (column > 0).sum()
    assert rehearsal.decrypt(positive) == (model.predict(decoded) == 1).sum()
    assert np.abs(rehearsal.decrypt(column) - model.decision_function(decoded)).max() < 0.05
    iris, target = data_set("iris")
    three = linear.LogisticRegression(max_iter=500).fit(iris, target)
    with pytest.raises(TypeError, match="no prediction to compute on"):
        ts.sklearn.from_model(three).column(rehearsed(rehearsal, iris)[0])


@pytest.mark.parametrize("use", [None, "alarms"])
def test_rows_of_a_class_stay_encrypted(rehearsal, use):
    features, target = data_set("wine")
    features = features.iloc[:, :5]
    scaler = preprocessing.StandardScaler()
    logistic = pipeline.make_pipeline(scaler, linear.LogisticRegression())
    table, decoded = rehearsed(rehearsal, features, rows=30, use=use)
    near = cluster.KMeans(3, n_init=2, random_state=1).fit(features)
    for model in (
        pipeline.make_pipeline(scaler, linear.LogisticRegression()).fit(features, target == 1),
        logistic.fit(features, target.map(lambda place: f"class {place}")),
        near,
    ):
        converted = ts.sklearn.from_model(model)
        predicted = model.predict(decoded)
        labels = getattr(model, "classes_", range(3))
        for label in labels:
            rows = rehearsal.decrypt(converted.is_class(table, label))
            assert rows.tolist() == (predicted == label).tolist()
        with pytest.raises(ValueError, match="no class 'hot': it has "):
            converted.is_class(table, "hot")
    near.cluster_centers_[1] = near.cluster_centers_[0]
    converted = ts.sklearn.from_model(near)
    assert rehearsal.decrypt(converted.is_class(table, 1).sum()) == 0
    assert rehearsal.decrypt(converted.is_class(table, 0).any())
    ridge = ts.sklearn.from_model(linear.Ridge().fit(features, target))
    with pytest.raises(TypeError, match="decrypt what predict"):
        ridge.is_class(table, 1)


@pytest.mark.long
def test_the_nearest_centre(rehearsal):
    features, _ = data_set("wine")
    scaler = preprocessing.StandardScaler()
    for model in (
        cluster.KMeans(3, n_init=2, random_state=1),
        cluster.MiniBatchKMeans(4, n_init=1, random_state=1),
        pipeline.make_pipeline(scaler, cluster.KMeans(5, n_init=1, random_state=1)),
    ):
        model.fit(features)
        table, decoded = rehearsed(rehearsal, features[::4])
        converted = ts.sklearn.from_model(model)
        prediction = converted.predict(table)
        assert ts.cost(prediction).bootstraps == 0
        assert rehearsal.decrypt(prediction).tolist() == model.predict(decoded).tolist()
        assert converted.loss(features[::4], table).differing <= 1


def test_an_array_without_names_takes_them_as_an_argument(rehearsal):
    x = np.arange(8.0)
    model = linear.LinearRegression().fit(x.reshape(-1, 1), 2 * x + 1)
    with pytest.raises(ValueError, match=r"features=\[...\]"):
        ts.sklearn.from_model(model)
    column = rehearsal.load(x, bits=3)
    converted = ts.sklearn.from_model(model, features=["x"])
    assert np.allclose(rehearsal.decrypt(converted.predict(column)), 2 * x + 1)
    assert np.allclose(rehearsal.decrypt(converted.predict({"x": column})), 2 * x + 1)
    with pytest.raises(ValueError, match="give 1 names"):
        ts.sklearn.from_model(model, features=["x", "y"])


def test_what_cannot_be_converted_says_what_to_do(rehearsal):
    neighbors = pytest.importorskip("sklearn.neighbors")
    features, target = data_set("iris")
    with pytest.raises(ValueError, match=r"not fitted: call fit\(X, y\)"):
        ts.sklearn.from_model(linear.Ridge())
    with pytest.raises(ValueError, match="not fitted"):
        ts.sklearn.from_model(
            pipeline.make_pipeline(preprocessing.StandardScaler(), linear.Ridge())
        )
    near = neighbors.KNeighborsClassifier().fit(features, target)
    with pytest.raises(TypeError, match="a KNeighborsClassifier is not converted.*Ridge"):
        ts.sklearn.from_model(near)
    with pytest.raises(TypeError, match="a str is no model of scikit-learn"):
        ts.sklearn.from_model("LinearRegression")
    squares = pipeline.make_pipeline(preprocessing.PolynomialFeatures(), linear.Ridge())
    with pytest.raises(TypeError, match="PolynomialFeatures is not converted, only with Standard"):
        ts.sklearn.from_model(squares.fit(features, target))
    both = np.column_stack([target == 1, target == 2])
    with pytest.raises(TypeError, match="several targets is not converted: fit one model"):
        ts.sklearn.from_model(linear.RidgeClassifier().fit(features, both))
    clipped = pipeline.make_pipeline(preprocessing.MinMaxScaler(clip=True), linear.Ridge())
    with pytest.raises(ValueError, match="clip=False"):
        ts.sklearn.from_model(clipped.fit(features, target))


def test_tables_that_do_not_fit_say_what_to_do(rehearsal):
    features, target = data_set("iris")
    converted = ts.sklearn.from_model(linear.Ridge().fit(features, target))
    table, _ = rehearsed(rehearsal, features)
    with pytest.raises(ValueError, match="'petal width .cm.' or 'petal_width_cm'"):
        converted.predict({name: table[name] for name in table.columns[:3]})
    with pytest.raises(TypeError, match="not from a DataFrame; for clear rows"):
        converted.predict(features)
    gaps = rehearsal.load([1.0, None], bits=4, name="petal_width_cm", optional=True)
    with pytest.raises(TypeError, match="fill them in first"):
        converted.predict({**dict(table.items()), "petal_width_cm": gaps})
    with pytest.raises(ValueError, match="40 and 3 rows"):
        converted.predict({**dict(table.items()), "petal_width_cm": table["petal_width_cm"][:3]})
    with pytest.raises(TypeError, match="is a float"):
        converted.predict({**dict(table.items()), "petal_width_cm": 3.0})
    with pytest.raises(ts.RangeError, match="row 1, column 'sepal length"):
        converted.loss(np.array([features.iloc[0], features.iloc[1] + 99]), table)
    with pytest.raises(ValueError, match="4 features"):
        converted.loss(np.zeros((2, 3)), table)
    with pytest.raises(ValueError, match="no column 'petal width"):
        converted.loss(features.iloc[:, :3], table)


def test_predictions_with_real_keys_also_as_bytes(keys, server):
    features, target = data_set("iris")
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), linear.LogisticRegression())
    model.fit(features, target)
    features, target = features[::10], target[::10]
    load = lambda *data, **how: server.load(ts.Encryptor(keys.device).encrypt(*data, **how))  # noqa: E731
    table, decoded = table_of(load, keys.secret.decrypt, features)
    converted = ts.sklearn.from_model(model)
    prediction = converted.predict(table)
    assert keys.secret.decrypt(prediction).tolist() == model.predict(decoded).tolist()
    answers = keys.secret.decrypt(converted.predict(table).to_bytes())
    assert converted.read(answers).tolist() == model.predict(decoded).tolist()
    difference = converted.read(answers, "predict_proba") - model.predict_proba(decoded)
    assert np.abs(difference).max() < 0.01
    two = linear.Ridge().fit(features, target)
    single = ts.sklearn.from_model(two, precision=1.0).predict(table)
    answer = keys.secret.decrypt(single.to_bytes())
    assert np.abs(ts.sklearn.from_model(two).read(answer) - two.predict(decoded)).max() < 1.0
    for bad in ({"mean(x)": answer}, {}, {"0.0: a": answer[:2], "1.0: a": answer}):
        with pytest.raises(ValueError, match="answer"):
            converted.read(bad)
    with pytest.raises(TypeError, match="no decrypted prediction"):
        converted.read(b"")
