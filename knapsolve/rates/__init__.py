"""Change rates from poll logs."""

from knapsolve.rates.censored import censored_rates
from knapsolve.rates.change_rate_estimator import ChangeRateEstimator

__all__ = ["ChangeRateEstimator", "censored_rates"]
