"""ChangeRateEstimator is a scikit-learn classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from knapsolve import ChangeRateEstimator

ORDERED = "newcomers start at the pooled rate so far: the order of polls matters"


@parametrize_with_checks(
    [ChangeRateEstimator(name) for name in ("mle", "bayes", "recursive", "multiplicative")],
    expected_failed_checks=lambda estimator: {}
    if estimator.estimator == "mle"
    else {"check_sample_weight_equivalence_on_dense_data": ORDERED},
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator, check):
    check(estimator)
