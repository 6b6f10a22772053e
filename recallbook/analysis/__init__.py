"""From simulations to statements: intervals, critical sizes, plans, tables of embeddings."""
