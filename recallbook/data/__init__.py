"""What is drawn: random streams, embeddings, the task; and what simple strategies score on it."""
