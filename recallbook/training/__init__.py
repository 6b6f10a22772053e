"""Gradients in closed form, the three steps and their oracle, gradient descent beyond them,
evaluation."""
