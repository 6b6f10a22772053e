"""Tables of embeddings: read from a file, and examined."""
