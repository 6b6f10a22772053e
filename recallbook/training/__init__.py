"""Gradients in closed form, three steps and their oracle, longer descent, evaluation."""
