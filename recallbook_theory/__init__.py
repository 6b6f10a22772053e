"""Predictions and proofs, from one set of expressions: nothing here trains a model."""
