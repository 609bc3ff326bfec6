import functools
import math

import numpy as np
import pytest

from gpualto import CPModel, Tensor, core_consistency, cp_apr, cp_complete, datasets, rank_scan
from gpualto.decomposition.halves import halves_of
from gpualto.plot import plot_rank_scan
from tests.oracle import dense_model, random_factors, random_tensor

SHAPE = (12, 13, 14)


def exact(rank, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    dense = dense_model(np.ones(rank), random_factors(seed, SHAPE, rank))
    return Tensor.from_dense(dense + noise * rng.standard_normal(SHAPE))


def test_core_consistency_is_that_of_the_best_core():
    X = random_tensor(1, (5, 6, 7), 150)
    model = CPModel([3.0, 0.5], random_factors(2, X.shape, 2))
    unit = model.normalize()
    factors = [factor * unit.weights ** (1 / 3) for factor in unit.factors]
    kronecker = np.einsum("ia,jb,kc->ijkabc", *factors).reshape(X.size, 8)
    core = np.linalg.lstsq(kronecker, X.todense().ravel(), rcond=None)[0]
    ideal = np.zeros((2, 2, 2))
    ideal[[0, 1], [0, 1], [0, 1]] = 1
    desired = 100 * (1 - np.sum((core - ideal.ravel()) ** 2) / 2)
    np.testing.assert_allclose(core_consistency(X, model), desired, rtol=1e-8)


def test_an_exact_model_is_consistent_and_one_too_large_is_not():
    X = exact(3, noise=0.05)
    scan = rank_scan(X, [2, 3, 5], random_state=0, tol=1e-8, n_iter_max=500)
    assert scan.core_consistencies[1] > 95
    assert scan.core_consistencies[2] < 80
    assert scan.match_scores[1] > 0.98
    assert scan.match_scores[2] < 0.95
    assert scan.fits[0] < scan.fits[1] <= scan.fits[2] + 1e-3
    assert [model.rank for model in scan.models] == [2, 3, 5]


def test_the_table_has_a_line_a_rank():
    scan = rank_scan(exact(2), [1, 2], random_state=0, n_splits=0)
    assert all(map(math.isnan, scan.match_scores))
    assert [line.split()[0] for line in str(scan).splitlines()[1:]] == ["1", "2"]


def test_a_core_that_is_too_large_is_left_out():
    X = random_tensor(0, (3,) * 8, 50)
    assert math.isnan(core_consistency(X, CPModel(None, random_factors(0, X.shape, 7))))


def test_the_same_seed_gives_the_same_scan_by_any_method():
    X = random_tensor(0, (9, 8, 7), 100).map_values(abs)
    one, two = (
        rank_scan(X, [2], method=cp_apr, random_state=3, n_iter_max=5, split=-1, n_splits=2) for _ in range(2)
    )
    assert (one.fits, one.match_scores) == (two.fits, two.match_scores)


class TestSplitting:
    def test_counts_are_dealt_out_to_the_halves_event_by_event(self):
        X = datasets.flights()
        one, other = halves_of(X, "counts", np.random.default_rng(0))
        np.testing.assert_array_equal(one.todense() + other.todense(), X.todense())
        deviations = (one.todense() - X.todense() / 2)[tuple(X.coords)] / np.sqrt(X.values / 4)
        assert abs(deviations.mean()) < 0.05
        assert deviations.std() == pytest.approx(1, abs=0.05)
        assert (one.values > 0).all()

    def test_the_indices_of_a_mode_are_shared_out(self):
        X = random_tensor(0, SHAPE, 300)
        one, other = halves_of(X, 1, np.random.default_rng(0))
        assert len(np.unique(one.coords[1])) + len(np.unique(other.coords[1])) == 13
        np.testing.assert_array_equal(one.todense() + other.todense(), X.todense())

    def test_components_of_counts_are_found_in_both_halves_and_no_more(self):
        rng = np.random.default_rng(1)
        factors = [rng.random((n, 3)) ** 8 for n in SHAPE]
        X = Tensor.from_dense(rng.poisson(1000 * dense_model(np.ones(3), factors)))
        scan = rank_scan(X, [3, 5], method=cp_apr, random_state=0)
        assert scan.match_scores[0] > 0.98
        assert scan.match_scores[1] < 0.9

    def test_for_completion_the_entries_are_split_and_gaps_are_not_taken_for_zeros(self):
        rng = np.random.default_rng(0)
        factors = random_factors(0, (30, 30), 1)
        known = (rng.random((30, 30)) < 0.6).nonzero()
        X = Tensor.from_coo(known, (factors[0] @ factors[1].T)[known], (30, 30))
        scan = rank_scan(X, [1, 2], method="complete", random_state=0, l2=1e-3)
        assert all(map(math.isnan, scan.core_consistencies))
        assert scan.match_scores[0] > 0.99
        one, other = halves_of(X, "entries", rng)
        assert one.nnz + other.nnz == X.nnz
        assert abs(one.nnz - other.nnz) < 2


def test_a_callback_is_told_of_each_rank_and_may_stop():
    seen = []

    def callback(scan):
        seen.append(scan.ranks)
        return len(scan.ranks) == 2

    scan = rank_scan(exact(2), [1, 2, 3], random_state=0, n_splits=0, n_restarts=1, callback=callback)
    assert seen == [(1,), (1, 2)]
    assert scan.ranks == (1, 2)


@pytest.mark.parametrize(
    ("ranks", "options", "message"),
    [
        ([], {}, "^ranks: there are none"),
        ([2, 0], {}, "^ranks: expected a positive integer, got 0"),
        ([2], {"split": 1}, "^split: mode 1 of 1 indices cannot be halved"),
        ([2], {"split": "entries"}, "^split: entries that are left out would be zeros"),
        ([2], {"method": "poisson"}, "^method: expected one of als, nn, apr, complete, opt, got 'poisson'"),
        ([2], {"split": "counts"}, "^split: the values are not all counts"),
        ([2], {"split": "modes"}, '^split: expected a mode, "counts" or "entries", got'),
    ],
)
def test_wrong_arguments_are_refused(ranks, options, message):
    with pytest.raises(ValueError, match=message):
        rank_scan(random_tensor(0, (5, 1, 4), 9), ranks, **options)


def test_ranks_of_incomplete_data_are_told_apart_by_the_error_at_the_same_entries():
    rng = np.random.default_rng(0)
    full = np.einsum("ir,jr,kr->ijk", *(rng.random((n, 2)) for n in (12, 11, 10)))
    known = (rng.random(full.shape) < 0.5).nonzero()
    X = Tensor.from_coo(known, full[known], full.shape)
    scan = rank_scan(X, [1, 2], method="complete", l2=1e-4, random_state=0, n_splits=0, progress=False)
    assert scan.held_out_errors[1] < 0.2 * scan.held_out_errors[0]
    head, *rows = str(scan).splitlines()
    assert "held-out RMSE" in head
    assert "core" not in head
    assert [row.split()[-1] for row in rows] == ["-", "-"]
    assert [axis.get_ylabel() for axis in plot_rank_scan(scan).axes] == [
        "fit",
        "held-out RMSE",
        "split-half match",
    ]


def test_what_is_held_out_may_come_with_the_method():
    X = random_tensor(0, (8, 7, 6), 200)
    errors = set()
    for share in (0.1, 0.5):
        method = functools.partial(cp_complete, held_out=share)
        scan = rank_scan(X, [1], method=method, random_state=0, n_splits=0, n_restarts=1, progress=False)
        errors.add(scan.held_out_errors)
    assert len(errors) == 2


def test_ranks_are_a_sequence():
    with pytest.raises(TypeError, match="^ranks: expected a sequence of integers, got 3"):
        rank_scan(datasets.flights(), 3)
    with pytest.raises(ValueError, match="^n_splits: expected a positive integer, got -1"):
        rank_scan(datasets.flights(), [3], n_splits=-1)
