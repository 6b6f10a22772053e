"""Settings by their four sizes, in the order of the theory's functions: V, L, d, N."""

import pytest

import recallbook as rb

SIZES = ("vocab", "seq_len", "dim", "samples")


def sized(*sizes: int, **fields) -> rb.Setting:
    """Values without the trigger, unless a field says otherwise."""
    return rb.Setting(**dict(zip(SIZES, sizes, strict=True)), **fields)


def marked(*sizes: int, **fields) -> rb.Setting:
    """With the trigger in the values."""
    return sized(*sizes, trigger_in_values=True, **fields)


def either(name: str) -> pytest.MarkDecorator:
    """The test once with the argument false and once with it true."""
    return pytest.mark.parametrize(name, [False, True])
