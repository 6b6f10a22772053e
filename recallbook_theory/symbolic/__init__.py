"""SymPy expressions: the one source of every formula that a chapter prints and the package
evaluates.

Each function returns expressions in the symbols of its module. Chapters print them with
``sympy.latex``, the numerical modules call :func:`~recallbook_theory.symbolic.expressions.numeric`
on them, and the tests compare both with simulation."""
