"""Predictions with no fitted constant, from the expressions of
:mod:`recallbook.theory.symbolic`."""
