"""Many simulations: points, where they run, the store that survives being killed, the results."""
