"""Experiments as values: one module for each figure, with its grid and its reduction, in folders by chapter."""
