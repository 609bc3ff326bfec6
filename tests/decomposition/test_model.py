import tracemalloc

import numpy as np
import pandas as pd
import pytest
import pyttb
from hypothesis import given
from hypothesis import strategies as st

from gpualto import CPModel, Tensor, cp_als, formats
from gpualto.labels import ModeLabels
from tests.cases import case
from tests.oracle import dense_model, random_factors, random_tensor, small_shapes


@st.composite
def models(draw):
    shape, rank = draw(small_shapes), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 999))
    weights = np.random.default_rng(seed + 1).standard_normal(rank)
    return CPModel(weights, random_factors(seed, shape, rank))


@given(models())
def test_it_is_the_sum_of_its_components(model):
    weights, factors = model
    np.testing.assert_allclose(model.to_dense(), dense_model(weights, factors), atol=1e-12)
    np.testing.assert_allclose(model.norm(), np.linalg.norm(model.to_dense()), atol=1e-7)


@given(models(), st.integers(0, 99))
def test_inner_products(model, seed):
    X = random_tensor(seed, model.shape, 20)
    other = CPModel(None, random_factors(seed, model.shape, 3))
    np.testing.assert_allclose(model.innerprod(X), (model.to_dense() * X.todense()).sum(), atol=1e-9)
    np.testing.assert_allclose(model.innerprod(other), (model.to_dense() * other.to_dense()).sum(), atol=1e-9)


@given(models())
def test_values_at_coordinates(model):
    coords = np.indices(model.shape).reshape(model.ndim, -1)
    np.testing.assert_allclose(model.values_at(coords), model.to_dense().ravel(), atol=1e-12)


def test_values_at_coordinates_out_of_bounds():
    model = CPModel(None, random_factors(0, (2, 3), 2))
    with pytest.raises(ValueError, match="mode 1 has the coordinate 3 at position 0"):
        model.values_at([[0], [3]])


@given(models())
def test_normal_forms_are_the_same_model(model):
    dense = model.to_dense()
    for form in (model.normalize(), model.arrange(), model.fix_signs(), model.arrange().fix_signs()):
        np.testing.assert_allclose(form.to_dense(), dense, atol=1e-10)
    arranged = model.arrange()
    assert (arranged.weights >= 0).all()
    assert (np.diff(arranged.weights) <= 0).all()
    for factor in arranged.factors:
        np.testing.assert_allclose(np.linalg.norm(factor, axis=0), 1)


@given(models())
def test_signs_leave_at_most_one_negative_column_a_component(model):
    signs = [np.sign(f[abs(f).argmax(axis=0), range(model.rank)]) for f in model.fix_signs().factors]
    assert (np.sum(np.array(signs) < 0, axis=0) <= 1).all()


def test_selecting_components():
    model = CPModel([1.0, 2.0, 3.0], random_factors(0, (2, 3), 3))
    chosen = model.select([2, 0])
    assert chosen.weights.tolist() == [3.0, 1.0]
    np.testing.assert_array_equal(chosen.factors[1], model.factors[1][:, [2, 0]])


class TestScore:
    def test_order_and_sign_do_not_matter(self):
        given, expected = case("cp-permute-sign")
        score, permutation = CPModel(None, given["F"]).score(CPModel(None, given["G"]))
        np.testing.assert_allclose(score, expected["score"])
        assert permutation.tolist() == expected["permutation"]

    @pytest.mark.parametrize("weight_penalty", [True, False])
    def test_a_perturbed_model_scores_as_in_pyttb(self, weight_penalty):
        rng = np.random.default_rng(0)
        factors = [rng.random((length, 3)) for length in (5, 6, 7)]
        close = [factor[:, [1, 2, 0]] + 0.05 * rng.random(factor.shape) for factor in factors]
        weights = np.array([3.0, 2.0, 1.0])
        expected, _, _, order = pyttb.ktensor(factors, weights).score(
            pyttb.ktensor(close, weights), weight_penalty=weight_penalty
        )
        score, permutation = CPModel(weights, factors).score(
            CPModel(weights, close), weight_penalty=weight_penalty
        )
        np.testing.assert_allclose(score, expected)
        assert permutation.tolist() == order.tolist()

    def test_fewer_components_are_matched_to_some(self):
        model = CPModel(None, random_factors(0, (4, 5, 6), 4))
        score, permutation = model.score(model.select([3, 1]))
        np.testing.assert_allclose(score, 1)
        assert permutation.tolist() == [3, 1]
        with pytest.raises(ValueError, match="has 4 components, more than this model's 2"):
            model.select([3, 1]).score(model)

    def test_shapes_have_to_agree(self):
        with pytest.raises(ValueError, match=r"other: has shape \(4, 6\), this model \(4, 5\)"):
            CPModel(None, random_factors(0, (4, 5), 2)).score(CPModel(None, random_factors(0, (4, 6), 2)))


class TestConstruction:
    @pytest.mark.parametrize(
        "factors", [[], [np.ones(3)], [np.ones((3, 2)), np.ones((4, 3))]], ids=["none", "vector", "ranks"]
    )
    def test_factors_have_to_be_of_one_rank(self, factors):
        with pytest.raises(ValueError, match=r"^factors: expected \(length, rank\) arrays of one rank"):
            CPModel(None, factors)

    def test_weights_have_to_fit(self):
        with pytest.raises(ValueError, match=r"weights: expected shape \(2,\), got \(3,\)"):
            CPModel(np.ones(3), [np.ones((3, 2))])

    def test_integers_become_float64(self):
        model = CPModel([2, 3], [[[1, 2]], [[3, 4]]])
        assert model.to_dense().tolist() == [[30.0]]
        assert model.factors[0].dtype == np.float64

    def test_the_repr_names_shape_rank_and_fit(self):
        model = CPModel(None, [np.ones((3, 2)), np.ones((4, 2))], fit=0.5, fits=(0.4, 0.5))
        assert repr(model) == "gpualto.CPModel(3 x 4, rank=2, fit=0.500000 after 2 sweeps)"


class TestFiles:
    def test_save_and_load(self, tmp_path):
        labels = (ModeLabels("row", ("a", "b\nc", "ü")), ModeLabels())
        model = CPModel(
            [1.0, 2.0], random_factors(0, (3, 4), 2), labels, 0.5, (0.25, 0.5), (1.0, 2.0), converged=True
        )
        path = tmp_path / "model.npz"
        model.save(path)
        again = CPModel.load(path)
        for ours, theirs in zip(model.factors, again.factors, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(model.weights, again.weights)
        history = ("labels", "fit", "fits", "times", "converged", "n_iter")
        assert [getattr(model, name) for name in history] == [getattr(again, name) for name in history]

    def test_a_model_without_history(self, tmp_path):
        CPModel(None, [np.ones((3, 2))]).save(tmp_path / "model.npz")
        again = CPModel.load(tmp_path / "model.npz")
        assert (again.fit, again.fits, again.converged) == (None, (), False)

    def test_a_tensor_is_not_a_model(self, tmp_path):
        import gpualto

        path = tmp_path / "x.npz"
        gpualto.write(path, Tensor.from_coo([[0]], [1.0]))
        with pytest.raises(
            ValueError, match=r"x\.npz: holds a gpualto tensor 1, expected a gpualto CP model 1"
        ):
            CPModel.load(path)


class TestMatching:
    def test_order_and_signs_become_those_of_the_other_model(self):
        model = CPModel([1.0, 2.0, 3.0], random_factors(0, (5, 6, 7), 3)).normalize()
        flipped = CPModel(
            model.weights[[2, 0, 1]],
            [f[:, [2, 0, 1]] * s for f, s in zip(model.factors, [-1, 1, -1], strict=True)],
        )
        matched = flipped.match(model)
        np.testing.assert_allclose(matched.weights, model.weights)
        for factor, other in zip(matched.factors, model.factors, strict=True):
            np.testing.assert_allclose(factor, other)

    @given(models(), st.integers(0, 99))
    def test_it_stays_the_same_model(self, model, seed):
        other = CPModel(None, random_factors(seed, model.shape, 1))
        np.testing.assert_allclose(model.match(other).to_dense(), model.to_dense(), atol=1e-10)


class TestOtherPackages:
    model = CPModel([2.0, 0.5], random_factors(0, (3, 4, 5), 2))

    def test_pyttb_and_back(self):
        theirs = self.model.to_pyttb()
        np.testing.assert_allclose(theirs.full().data, self.model.to_dense())
        np.testing.assert_allclose(CPModel.from_other(theirs).to_dense(), self.model.to_dense())

    def test_tensorly_and_back(self):
        theirs = self.model.to_tensorly()
        np.testing.assert_allclose(theirs.to_tensor(), self.model.to_dense())
        back = CPModel.from_other(theirs, labels=[["a", "b", "c"], None, None])
        np.testing.assert_allclose(back.to_dense(), self.model.to_dense())
        assert back.labels[0].text(1) == "b"

    def test_what_is_no_model_is_refused(self):
        with pytest.raises(
            TypeError, match=r"^model: expected a ktensor or a pair \(weights, factors\), got int"
        ):
            CPModel.from_other(3)


@given(models(), st.integers(0, 99))
def test_residuals_are_what_the_model_leaves(model, seed):
    X = random_tensor(seed, model.shape, 20)
    desired = X.todense()[tuple(X.coords)] - model.to_dense()[tuple(X.coords)]
    np.testing.assert_allclose(model.residuals(X), desired, atol=1e-10)


def test_columns_that_sum_to_one():
    model = CPModel([3.0], [np.array([[1.0], [3.0]]), np.array([[2.0], [2.0]])]).normalize(ord=1)
    np.testing.assert_allclose(model.weights, [48])
    np.testing.assert_allclose(model.factors[0].ravel(), [0.25, 0.75])
    with pytest.raises(ValueError, match="^ord: expected 1 or 2, got 3"):
        model.normalize(ord=3)


def test_residuals_of_other_labels_are_refused():
    labels = {"who": ["ann", "bob"], "day": ["mon", "tue"]}
    model = CPModel(None, [np.ones((2, 1)), np.ones((2, 1))], labels)
    X = Tensor.from_coo([[0, 1], [1, 1]], [5.0, 9.0], labels=labels)
    assert model.residuals(X).tolist() == [4, 8]
    with pytest.raises(ValueError, match="X: mode 0 is called 'day', which is mode 1 of the other"):
        model.residuals(X.permute((1, 0)))
    other = Tensor.from_coo(X.coords, X.values, labels={"who": ["bob", "ann"], "day": None})
    with pytest.raises(ValueError, match=r"X: who has other labels .* X\.align\(model\.labels\)"):
        model.residuals(other)


def test_a_start_of_other_labels_is_refused():
    model = CPModel(None, [np.ones((2, 1)), np.ones((2, 1))], {"who": ["ann", "bob"], "day": None})
    X = Tensor.from_coo([[0, 1], [1, 1]], [5.0, 9.0], labels={"who": ["bob", "ann"], "day": None})
    with pytest.raises(ValueError, match="X: who has other labels"):
        cp_als(X, 1, init=model, fixed_modes=["who"])


def test_a_part_of_the_components_has_no_history():
    model = cp_als(random_tensor(0, (4, 5, 6), 40), 3, random_state=0, n_iter_max=5)
    assert model.select([2, 0, 1]).fits == model.fits
    for part in (model.select([0]), model.select(np.array([1, 1, 2])), model.select([])):
        assert (part.fit, part.fits, part.times, part.converged, dict(part.measures)) == (
            None,
            (),
            (),
            False,
            {},
        )
    assert model.select([]).rank == 0


def test_a_dense_model_takes_no_more_than_it_and_a_share_of_its_rows():
    model = CPModel(None, random_factors(0, (60, 60, 60), 40))
    tracemalloc.start()
    dense = model.to_dense()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * dense.nbytes
    with pytest.raises(ValueError, match="would take .* GiB"):
        CPModel(None, [np.ones((10_000, 1))] * 3).to_dense()


def test_values_are_asked_for_by_labels_of_any_kind_of_sequence():
    model = CPModel(
        None, [np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]])], {"who": ["ann", "bob"], "day": "01"}
    )
    frame = pd.DataFrame({"who": ["bob", "ann"], "day": [1, 0]}, index=[7, 8])
    assert model.values_at([frame["who"], frame["day"]]).tolist() == [8, 3]
    assert model.values_at([frame["day"], frame["day"]]).tolist() == [8, 3]
    assert model.values_at(np.array([["bob", "ann"], ["1", "0"]])).tolist() == [8, 3]
    with pytest.raises(ValueError, match="'eve' is no label of who"):
        model.values_at([["eve"], [0]])
    for wrong in ([0, 1], ["bob", "mon"], [["bob"]]):
        with pytest.raises((TypeError, ValueError), match="^coords: "):
            model.values_at(wrong)


def test_residuals_of_a_tensor_in_any_format():
    X = random_tensor(0, (4, 5), 12)
    model = CPModel(None, random_factors(0, (4, 5), 2))
    stored = X.to_format(formats.CSC())
    coords, values = stored.entries()
    np.testing.assert_allclose(model.residuals(stored), values - model.to_dense()[tuple(coords)])


def test_a_mask_of_all_components_is_the_whole():
    model = CPModel([2.0, 1.0], [np.eye(2), np.eye(2)], fit=0.5)
    assert model.select([True, True]).fit == 0.5
    assert model.select(np.array([True, False])).fit is None
    assert not model.select([]).to_dense().any()


def test_a_dense_model_is_of_the_type_of_its_parts():
    model = CPModel(np.ones(2, np.float32), random_factors(0, (3, 4, 5), 2, np.float32))
    assert model.to_dense().dtype == np.float32
    np.testing.assert_allclose(
        model.to_dense(), dense_model(model.weights, model.factors), rtol=1e-5, atol=1e-6
    )
