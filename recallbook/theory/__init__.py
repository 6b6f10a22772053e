"""Predictions with no fitted constant, from the expressions of ``theory.symbolic``."""
