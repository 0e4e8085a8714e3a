"""Squares, bins and thresholds that columns declare: numpy's answers without a bootstrap."""

import numpy as np
import pytest

import tfhe_sbc as ts

EDGES = [-10.0, 0.0, 10.0, 20.0, 30.0]
DECLARED = dict(square=True, bins=EDGES, above=[25.0], below=[5.0])


def column(**declared):
    return ts.Column("t", 0.1, offset=-40, bits=10, unit="°C", **declared)


def readings():
    """Random ones, both ends of the range, and each edge and threshold with what is beside it."""
    codes = np.random.default_rng(7).integers(0, 1024, 300)
    cuts = [*EDGES, 25.0, 5.0]
    beside = [cut + step for cut in cuts for step in (-0.1, 0.0, 0.1)]
    return np.round(np.concatenate([codes * 0.1 - 40, [-40, 62.3], beside]), 1)


def declared_questions(t):
    """What the column's declaration makes free, of an encrypted column or an array."""
    return [
        t.var(),
        t.std(),
        # As pandas has it.
        t.std(ddof=1),
        np.histogram(t, EDGES)[0],
        (t > 25).sum(),
        (t <= 25).mean(),
        (t < 5).sum(),
        (t >= 5).sum(),
        # Edges and what is between them are conditions, too.
        (t >= 10).sum(),
        ((t >= 0) & (t < 20)).sum(),
        (~((t < 5) | (t > 25))).sum(),
        (t > 30).sum(),
        t.mean(),
    ]


def check(decrypt, encrypted, clear):
    found = declared_questions(encrypted)
    assert ts.cost(*found) == ts.Cost(0, 0, None)
    assert all(question.cost().bootstraps == 0 for question in found)
    for question, expected in zip(found, declared_questions(clear)):
        np.testing.assert_allclose(decrypt(question), expected, rtol=1e-9, err_msg=question.name)


def test_a_rehearsal_answers_what_is_declared(rehearsal):
    clear = readings()
    check(rehearsal.decrypt, rehearsal.load(clear, columns=[column(**DECLARED)]), clear)
    plain = rehearsal.load(clear, columns=[column()])
    for question in declared_questions(plain)[:-1]:
        assert ts.cost(question).bootstraps >= len(clear), question.name


def test_a_server_answers_what_boards_declare(keys, server):
    clear = readings()
    encryptor = ts.Encryptor(keys.device)
    parts = np.array_split(clear, 3)
    boxes = [encryptor.encrypt(part, columns=[column(**DECLARED)]) for part in parts]
    check(keys.secret.decrypt, server.load(boxes), clear)
    # The questions in words are about half-open bins, whose edges are declared as well.
    words = "histogram(t, -10, 0, 10, 20, 30)"
    answer = keys.secret.decrypt(server.query(boxes, words, max_bootstraps=0))
    half_open = [*EDGES[:-1], np.nextafter(EDGES[-1], 0)]
    assert answer.tolist() == np.histogram(clear, half_open)[0].tolist()


@pytest.mark.parametrize(
    "bins, edges, free",
    [
        (EDGES, EDGES, True),
        # From an edge to another one, the last bin has no cut above its edge.
        (EDGES, EDGES[1:4], False),
        # There is no reading beyond these edges.
        ([-100.0, 0.0, 10.0, 62.3], [-100.0, 0.0, 10.0, 62.3], True),
        ([0.0, 10.0, 1e6], [0.0, 10.0, 1e6], True),
        ([-50.0, -40.0], [-50.0, -40.0], True),
        # Between two steps.
        ([0.04, 10.06], [0.04, 10.06], True),
        ([0.0, 10.0], [0.0, 10.0, 20.0], False),
    ],
)
def test_histograms_are_free_with_the_declared_edges(rehearsal, bins, edges, free):
    clear = readings()
    t = rehearsal.load(clear, columns=[column(bins=bins)])
    histogram = t.histogram(edges)
    assert (histogram.cost().bootstraps == 0) == free
    assert rehearsal.decrypt(histogram).tolist() == np.histogram(clear, edges)[0].tolist()


def test_a_cut_above_the_last_edge_makes_a_shorter_histogram_free(rehearsal):
    t = rehearsal.load(readings(), columns=[column(bins=EDGES, above=[20.0])])
    assert t.histogram(EDGES[1:4]).cost().bootstraps == 0


def test_definitions_are_equal_whatever_lists_they_are_of():
    one = column(square=True, bins=[0, 10], above=(5,))
    other = column(square=True, bins=np.array([0.0, 10.0]), above=[5.0], below=np.array([]))
    assert one == other and hash(one) == hash(other)
    assert one != column(square=True, bins=[0, 10])


@pytest.mark.parametrize(
    "definition, words",
    [
        (column(square=True, use="radix"), "'t'.*compact columns only"),
        (column(bins=[0.0], use="radix"), "'t'.*compact columns only"),
        (column(bins=[10.0, 0.0]), "'t'.*from the lowest to the highest"),
        (column(bins=[10.0, 10.0]), "'t'.*from the lowest to the highest"),
        (column(bins=[0.0, float("nan")]), "'t'.*not a finite number"),
        (column(above=[float("inf")]), "'t'.*not a finite number"),
        (column(bins=[-100.0, -50.0]), "'t'.*no edge of its bins is within its range"),
        (column(above=[62.3]), "'t'.*one side of 62.3"),
        (column(below=[-40.0]), "'t'.*one side of -40"),
        (ts.Column("t", bits=17, square=True, use="means"), "'t'.*17 bits.*at most 12 bits"),
        # Without a use, columns that are too wide for means are radix blocks.
        (ts.Column("t", bits=40, square=True), "'t'.*compact columns only"),
    ],
)
def test_declarations_that_cannot_be_met(keys, rehearsal, definition, words):
    for load in (rehearsal.load, ts.Encryptor(keys.device).encrypt):
        with pytest.raises(ts.TfheSbcError, match=words):
            load([1.0], columns=[definition])


@pytest.mark.parametrize("given", [5, "12", ["a"], [[0.0, 1.0]], [True], [[0], [1, 2]], None])
def test_edges_and_thresholds_that_are_no_list_of_numbers(given):
    for argument in ("bins", "above", "below"):
        with pytest.raises(TypeError, match=f"'t': {argument} is no list of numbers"):
            column(**{argument: given})
