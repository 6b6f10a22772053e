"""What checks shapes while tests run: beartype on the annotations of arrays, and on no others, at
each call with shapes that its function has not had before. (At every call it is a third of the time
of what simulates.)

Wrong scalars and objects have to reach the package's own checks, whose messages are tested.
"""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from beartype import BeartypeConf, beartype
from torch import Tensor

ARRAYS = re.compile(
    r"\b(Float|Float64|Int|Int32|Int64|Bool|Real|Shaped)\[|\b(Points|Coefficients|Slack|Table)\b"
)


def shapes_of(value: Any) -> Any:
    """Shape and type of an array, and of all in a tuple."""
    if isinstance(value, tuple):
        return tuple(map(shapes_of, value))
    return (tuple(value.shape), value.dtype) if isinstance(value, (Tensor, np.ndarray)) else None


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the shapes in its annotations checked where they are new to it."""
    function.__annotations__ = {
        name: hint if ARRAYS.search(str(hint)) else object
        for name, hint in function.__annotations__.items()
    }
    # an int where a float is asked for
    strict = beartype(conf=BeartypeConf(is_pep484_tower=True))(function)
    seen = set()

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        shapes = shapes_of((*arguments, *named.items()))
        if shapes in seen:
            return function(*arguments, **named)
        found = strict(*arguments, **named)
        seen.add(shapes)
        return found

    return call
