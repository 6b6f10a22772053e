"""Exact derivations that stand beside the package's formulas and check them."""
