"""Change rates from poll logs."""

from knapsolve.rates.censored import censored_rates

__all__ = ["censored_rates"]
