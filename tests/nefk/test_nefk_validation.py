"""Bad input is named before any work; nothing comes out silently wrong."""

import inspect
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import knapsolve
from knapsolve import InfeasibleError, criteria, solve_nefk
from knapsolve._validation import check_column
from knapsolve._validation.arrays import MANY, PART
from knapsolve.criteria import (
    Detection,
    Exponential,
    Freshness,
    FromDerivative,
    Logarithmic,
    Power,
    Tabulated,
)

F = Freshness([1.0, 2.0, 3.0])
NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Freshness(-1.0), ValueError, ["rate", "-1.0", "[0, 1e+140]"]),
        (lambda: Freshness([1.0, NAN]), ValueError, ["rate", "nan", "position 1"]),
        (lambda: Freshness(np.inf), ValueError, ["rate", "inf"]),
        (lambda: Freshness("fast"), TypeError, ["rate", "fast"]),
        (lambda: Freshness([[1.0]]), ValueError, ["rate", "one-dimensional", "(1, 1)"]),
        (lambda: Freshness(True), TypeError, ["rate", "True"]),
        (lambda: Freshness(["a"]), TypeError, ["rate"]),
        (lambda: Freshness(1 + 2j), TypeError, ["rate"]),
        (lambda: Freshness([1.0, 1 + 2j]), TypeError, ["rate", "(1+2j) at position 1"]),
        (lambda: Freshness(["1", "2"]), TypeError, ["rate", "'1' at position 0"]),
        (lambda: Freshness(np.array([1.0, "2"], dtype=object)), TypeError, ["rate", "'2' at position 1"]),
        (lambda: Freshness([1.0, "many"]), TypeError, ["rate", "'many' at position 1"]),
        (lambda: Freshness([[1.0], [2.0, 3.0]]), TypeError, ["rate", "[1.0] at position 0"]),
        (lambda: Freshness({1.0: 2.0}), TypeError, ["rate", "{1.0: 2.0}"]),
        (
            lambda: Freshness(np.array([1, 2], dtype="m8[s]")),
            TypeError,
            ["rate", "timedelta64[s]", "(1, 'h') / interval"],
        ),
        (lambda: Freshness(np.ma.masked_array([1.0, 2.0], [0, 1])), ValueError, ["rate", "1 masked"]),
        (lambda: solve_nefk(F, 1.0, lower=np.ma.masked), ValueError, ["lower", "1 masked entries"]),
        (lambda: Detection([NAN]), ValueError, ["rate", "or infinite"]),
        (lambda: Logarithmic(0.0), ValueError, ["scale", "(0, 1e+140]"]),
        (lambda: Power(1.0), ValueError, ["exponent", "(0, 1)"]),
        (lambda: Power([0.5, 0.0]), ValueError, ["exponent", "position 1"]),
        (lambda: Exponential(1e200), ValueError, ["rate", "1e+140"]),
        (lambda: Tabulated([0.0], [1.0]), ValueError, ["grid"]),
        (lambda: Tabulated([1.0, 0.0], [1.0, 2.0]), ValueError, ["grid", "increasing"]),
        (lambda: Tabulated([0.0, 1.0], [1.0]), ValueError, ["values", "m = 2"]),
        (lambda: Tabulated([0.0, 1.0], [1.0, NAN]), ValueError, ["values", "nan"]),
        (lambda: FromDerivative(3), TypeError, ["function", "3"]),
        (lambda: FromDerivative(np.exp, 3), TypeError, ["value", "3"]),
        (lambda: Freshness(1.0).value(-1.0), ValueError, ["x", "-1.0"]),
        (lambda: Freshness(1.0).derivative([NAN]), ValueError, ["x", "nan"]),
        (lambda: Freshness(1.0).inverse(NAN), ValueError, ["price", "nan"]),
        (lambda: solve_nefk("freshness", 1.0), TypeError, ["criterion", "freshness"]),
        (lambda: solve_nefk(F, -1.0), ValueError, ["capacity", "-1.0"]),
        (lambda: solve_nefk(F, NAN), ValueError, ["capacity", "nan"]),
        (lambda: solve_nefk(F, np.inf), ValueError, ["capacity", "inf", "equality=False"]),
        (lambda: solve_nefk(F, 1e-200), ValueError, ["capacity", "1e-200"]),
        (lambda: solve_nefk(F, "5"), TypeError, ["capacity", "'5'"]),
        (lambda: solve_nefk(F, 1.0, weights=[1.0, 2.0]), ValueError, ["weights", "3 entries", "got 2"]),
        (lambda: solve_nefk(F, 1.0, weights=[1.0, -2.0, 3.0]), ValueError, ["weights", "-2.0", "position 1"]),
        (lambda: solve_nefk(F, 1.0, lower=-1.0), ValueError, ["lower", "-1.0"]),
        (lambda: solve_nefk(F, 1.0, lower=[0.0]), ValueError, ["lower", "3 entries", "got 1"]),
        (lambda: solve_nefk(F, 1.0, upper=[NAN, 1.0, 1.0]), ValueError, ["upper", "nan", "position 0"]),
        (lambda: solve_nefk(F, 1.0, groups=[0, 0, 1]), ValueError, ["group_caps", "given with groups"]),
        (lambda: solve_nefk(F, 1.0, group_caps=[1.0]), ValueError, ["groups", "given with group_caps"]),
        (lambda: solve_nefk(F, 1.0, groups=[0, 0, 2], group_caps=[1.0, 1.0]), ValueError, ["group 2 at position 2"]),
        (lambda: solve_nefk(F, 1.0, groups=[0, 0, -2], group_caps=[1.0]), ValueError, ["groups", "-2"]),
        (lambda: solve_nefk(F, 1.0, groups=[0.0, 0.5, 0], group_caps=[1.0]), TypeError, ["0.5 at position 1"]),
        (lambda: solve_nefk(F, 1.0, groups=[[0, 0]], group_caps=[1.0]), TypeError, ["groups", "shape (1, 2)"]),
        (
            lambda: solve_nefk(F, 1.0, groups=[0, None, 0], group_caps=[1.0]),
            TypeError,
            ["groups", "None at position 1"],
        ),
        (lambda: solve_nefk(F, 1.0, groups=[[0, 1], [0], [1]], group_caps=[1.0]), TypeError, ["groups", "[0, 1]"]),
        (
            lambda: solve_nefk(F, 1.0, groups=np.ma.masked_array([0, 0, 0], [0, 1, 0]), group_caps=[1.0]),
            ValueError,
            ["groups", "1 masked", "position 1: -1 in place of each"],
        ),
        (lambda: solve_nefk(F, 1.0, upper=NAN), ValueError, ["upper", "or infinite, got nan"]),
        (lambda: solve_nefk(F, 1.0, upper="5/day"), TypeError, ["upper", "a number or an array", "'5/day'"]),
        (lambda: solve_nefk(F, 1.0, upper=np.timedelta64(5, "s")), TypeError, ["upper", "/ interval"]),
        (lambda: solve_nefk(F, 1.0, groups=list("aab"), group_caps=[1.0]), TypeError, ["groups", "factorize", "<U1"]),
        (lambda: solve_nefk(F, 1.0, groups=[0.0, 1.0], group_caps=1.0), TypeError, ["astype(int)", "float64"]),
        (lambda: solve_nefk(F, 1.0, groups=[0.0, np.nan], group_caps=[1.0]), TypeError, ["nan at position 1", "-1"]),
        (lambda: solve_nefk(F, 1.0, groups=[0, 0, 0], group_caps=[NAN]), ValueError, ["group_caps", "nan"]),
        (
            lambda: solve_nefk(F, 1.0, groups=[0, 0, 2**22], group_caps=1.0),
            ValueError,
            ["groups", "4194304 among 3 items"],
        ),
        (lambda: solve_nefk(F, 1.0, groups=[0, 0, 1], group_caps=-1.0), ValueError, ["group_caps", "-1.0"]),
        (lambda: solve_nefk(F, 1.0, groups=[0, 0, 1], group_caps={"a": 1.0}), TypeError, ["group_caps", "{'a'"]),
        (lambda: solve_nefk(F, 1.0, equality="yes"), TypeError, ["equality", "yes"]),
        (lambda: solve_nefk(F, 1e39, out=np.empty(3, np.float32)), ValueError, ["capacity", "3.4e+38", "1e+39"]),
        (lambda: solve_nefk(F, 1.0, out=np.empty(2)), ValueError, ["out", "(3,)", "(2,)"]),
        (lambda: solve_nefk(F, 1.0, out=np.empty(3, int)), TypeError, ["out", "an array of int64"]),
        (lambda: solve_nefk(F, 1.0, out=[0.0, 0.0, 0.0]), TypeError, ["out", "a list"]),
        (lambda: solve_nefk(F, 1.0, out=np.empty((3, 2))[:, 0]), ValueError, ["out", "strided"]),
        (lambda: solve_nefk(F, 1.0, out=np.broadcast_to(np.empty(1), 3)), ValueError, ["out", "all in one place"]),
        (lambda: solve_nefk(F, 1.0, n_jobs="2"), TypeError, ["n_jobs", "'2'"]),
        (lambda: solve_nefk(F, 1.0, n_jobs=0), ValueError, ["n_jobs", "0"]),
        (lambda: solve_nefk(Freshness([]), 1.0), ValueError, ["rate", "at least one"]),
        (lambda: solve_nefk(F, np.inf, equality=False), InfeasibleError, ["unbounded"]),
        (
            lambda: solve_nefk(FromDerivative(lambda x: x[:1]), 1.0, weights=[1.0, 1.0]),
            ValueError,
            ["function", "shape"],
        ),
        (
            lambda: solve_nefk(FromDerivative(lambda x: x * NAN), 1.0, weights=[1.0]),
            ValueError,
            ["function", "NaN"],
        ),
        (
            lambda: solve_nefk(FromDerivative(lambda x: np.exp([-1.0, 1.0] * x)), 1.0, weights=[1.0, 1.0]),
            ValueError,
            ["function", "rise", "item 1"],
        ),
        (
            lambda: solve_nefk(FromDerivative(lambda x: x * np.exp(-x)), 3.0, weights=[1.0]),  # up and down again
            ValueError,
            ["function", "rise", "x = 0.0"],
        ),
        (
            lambda: solve_nefk(FromDerivative(lambda x: np.square(x - 70.0)), 2.0, weights=[1.0, 1.0]),
            ValueError,
            ["function", "rise", "x = 1e+300"],  # beyond all shares
        ),
        (
            lambda: solve_nefk(FromDerivative(lambda x: np.where(x > 0, 1.0 - x, -np.inf)), 1.0, weights=[1.0]),
            ValueError,
            ["function", "rise", "-inf at x = 0.0"],
        ),
        (
            lambda: solve_nefk(FromDerivative(lambda x: (1 + x) * np.exp(-x)), np.inf, weights=[1.0], equality=False),
            InfeasibleError,
            ["unbounded"],
        ),
        (lambda: F.inverse([1.0, 2.0]), ValueError, ["price", "(3,)", "(2,)"]),
        (lambda: F.value("a"), TypeError, ["x", "'a'"]),
        (lambda: F.derivative([[1.0]]), ValueError, ["x", "one-dimensional", "(1, 1)"]),
    ],
)
def test_bad_input_is_named(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), str(caught.value)


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=3),
    st.integers(-3, 3),
    st.floats(),
    st.complex_numbers(),
    st.lists(st.one_of(st.floats(), st.integers(-2, 2), st.none()), max_size=4),
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["Detection", "Freshness", "Harmonic", "Power", "Quadratic", "Exponential", "Linear"]),
    anything,
    anything,
    anything,
    anything,
    anything,
    anything,
    anything,
)
def test_whatever_comes_in_no_nan_and_no_odd_exception_comes_out(
    name, p, capacity, weights, lower, upper, groups, caps
):
    kind = getattr(criteria, name)
    try:
        criterion = kind() if name == "Linear" else kind(p)
        result = solve_nefk(
            criterion, capacity, weights=weights, lower=lower, upper=upper, groups=groups, group_caps=caps
        )
    except (ValueError, TypeError):
        return
    assert np.isfinite(result.amounts).all()
    assert not np.isnan([result.price, result.value, result.residual]).any()
    assert result.residual <= 1e-12


def test_inputs_are_left_alone_and_may_be_read_only_strided_or_big_endian():
    rate = np.linspace(1, 9, 17)[::2]
    result = solve_nefk(Freshness(rate), 3.0, weights=np.ones(9).astype(">f8"), lower=np.zeros(9, dtype=int))
    frozen = np.linspace(1, 9, 9)
    frozen.flags.writeable = False
    np.testing.assert_array_equal(solve_nefk(Freshness(frozen), 3.0).amounts, result.amounts)
    np.testing.assert_array_equal(frozen, np.linspace(1, 9, 9))


def test_every_public_name_is_documented_and_has_an_example():
    named = [getattr(criteria, name) for name in criteria.__all__] + [knapsolve.solve_nefk]
    for thing in named:
        assert ">>>" in inspect.getdoc(thing), thing
        if thing not in (criteria.Linear,):
            assert "Parameters\n" in inspect.getdoc(thing), thing


@pytest.mark.parametrize("value", [0.0, -0.0, 5e-324, 1e140, 1.0000001e140, -5e-324, -1.0, NAN, -NAN, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_column_may_have_what_lies_in_the_interval_and_nothing_else(value, dtype):
    with np.errstate(over="ignore"):
        column = np.array([1.0, value], dtype=dtype)
    if 0.0 <= float(column[1]) <= 1e140:
        assert Freshness(column).derivative(1.0).shape == (2,)
    else:
        with pytest.raises(ValueError, match="position 1"):
            Freshness(column)


def test_numbers_may_be_arrays_of_no_dimension():
    assert np.array_equal(solve_nefk(F, np.array(1.0)).amounts, solve_nefk(F, 1.0).amounts)


@pytest.mark.parametrize("kind", [complex, "U1", "M8[s]"])
def test_a_derivative_returns_real_numbers(kind):
    with pytest.raises(TypeError, match="function must return real numbers, got an array of"):
        solve_nefk(FromDerivative(lambda x: np.ones(x.shape, dtype=kind)), 1.0, weights=[1.0, 2.0])


@pytest.mark.parametrize("criterion", [FromDerivative(lambda x: 1.0 / (1.0 + x)), Tabulated([0.0, 1.0], [2.0, 1.0])])
@pytest.mark.parametrize(("value", "error"), [(-1.0, ValueError), (NAN, ValueError), ("a", TypeError)])
def test_values_of_a_derivative_or_a_table_are_of_amounts(criterion, value, error):
    for method in (criterion.value, criterion.derivative):
        with pytest.raises(error, match=f"^x must .*{value}"):
            method(value)
    if value != -1.0:  # prices may be negative
        with pytest.raises(error, match=f"^price must .*{value}"):
            criterion.inverse(value)


def test_a_derivative_may_return_numbers_of_any_real_kind():
    exact = FromDerivative(lambda x: np.array([Fraction(1) / (1 + Fraction(float(v))) for v in x], dtype=object))
    assert exact.inverse(0.5) == pytest.approx(1.0)


def test_a_derivative_may_rise_by_rounding():
    noisy = FromDerivative(lambda x: (1.0 + 1e-9 * np.sin(np.minimum(1e9 * x, 1e9))) / (1.0 + 1e-12 * x))
    assert solve_nefk(noisy, 3.0, weights=[1.0, 1.0], upper=2.0).amounts.sum() == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("slope", "more", "amounts"),
    [
        (lambda x: np.array([1.0, -1.0]) * x, {"weights": [0.0, 1.0]}, [3.0, 0.0]),  # of no weight
        (lambda x: 1.0 + np.array([1.0, -1.0]) * x, {"lower": [1.0, 0.0], "upper": [1.0, 5.0]}, [1.0, 2.0]),  # fixed
        (lambda x: np.where(x < 0.5, 0.9 + x / 10, 1.5 - x), {"lower": 1.0}, [1.5, 1.5]),  # below the bound
        (
            lambda x: 1.0 / (1.0 + x),
            {"capacity": 1e50, "upper": np.float32([3, 4]), "equality": False},
            [3.0, 4.0],
        ),
    ],
)
@pytest.mark.filterwarnings("error")
def test_a_derivative_may_rise_where_it_does_not_matter(slope, more, amounts):
    given = {"capacity": 3.0, "weights": [1.0, 1.0]} | more
    assert solve_nefk(FromDerivative(slope), **given).amounts == pytest.approx(amounts)


def test_derivatives_with_caps_need_no_capacity():
    of = {"weights": [1.0, 1.0], "equality": False, "groups": [0, 0], "group_caps": [5.0]}
    result = solve_nefk(FromDerivative(lambda x: (1.0 + x) * np.exp(-x)), np.inf, **of)
    assert result.amounts == pytest.approx([2.5, 2.5])


def test_none_is_no_bound():
    expected = solve_nefk(F, 1.0, lower=0.0, upper=np.inf)
    np.testing.assert_array_equal(solve_nefk(F, 1.0, lower=None, upper=None).amounts, expected.amounts)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("position", [0, PART + 7, MANY + PART])
def test_a_position_far_into_a_long_column_is_told(position, dtype, n_jobs):
    weights = np.ones(MANY + PART + 1, dtype=dtype)
    weights[[position, -1]] = -2.0, NAN
    with pytest.raises(ValueError, match=rf"weights must be in .* at position {position}$"):
        check_column("weights", weights, low=0.0, high=1e140, n_jobs=n_jobs)
