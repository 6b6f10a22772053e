"""The theory of unequal facts, and of embeddings with a structure or given."""
