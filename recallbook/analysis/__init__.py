"""From simulations to statements: intervals, critical sizes, product laws, prediction errors,
figures."""
