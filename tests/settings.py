"""All that a Setting allows: every field, both ends of each size, every law and remedy.

Sizes stay small enough for the oracle. What a field may not be is asked elsewhere.
"""

import math
import os
import re
import warnings
from dataclasses import fields

from hypothesis import HealthCheck, settings as profile, strategies as st
from randomised import ACTIVATIONS, EMBEDDINGS

import recallbook as rb
from recallbook.setting import LOSS_WEIGHTS, OUTPUT_BIASES

EXAMPLES = int(os.environ.get("EDGES", "12"))  # of each test; nightly sets it to some hundred
thorough = profile(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES < 100,
    suppress_health_check=list(HealthCheck),
)
rarely = profile(
    thorough, max_examples=max(3, EXAMPLES // 4)
)  # what takes dozens of predictions, or a second
HOUSE = re.compile(r"^[\w.\[\]' ]+=.* is not allowed: .+", re.DOTALL)
LARGEST = {"vocab": 12, "seq_len": 16, "dim": 20, "samples": 48, "width": 12}
EXPONENTS = st.one_of(st.just(0.0), st.just(4.0), st.floats(0, 4))


@st.composite
def laws(draw, vocab: int, dim: int) -> str:
    """The text of a law that these sizes allow, structures at both ends of their numbers."""
    plain = [law for law in EMBEDDINGS if law != "orthogonal" or dim >= vocab + 2]
    kind = draw(st.sampled_from([*plain, "power_law", "clustered", "low_rank"]))
    if kind == "power_law":
        return f"power_law({draw(EXPONENTS)!r})"
    if kind == "clustered":
        share = draw(st.one_of(st.just(0.0), st.floats(0, 0.999)))
        return f"clustered({draw(st.integers(1, vocab))}, {share!r})"
    return f"low_rank({draw(st.integers(1, dim))})" if kind == "low_rank" else kind


@st.composite
def settings(draw, **fixed) -> rb.Setting:
    """A small setting of any kind; fields given are kept, or drawn where a strategy is given."""
    fixed = {
        name: draw(value) if isinstance(value, st.SearchStrategy) else value
        for name, value in fixed.items()
    }
    sizes = {
        name: draw(st.integers(2 if name == "vocab" else 1, LARGEST[name]))
        for name in ("vocab", "seq_len", "dim", "samples")
        if name not in fixed
    }
    sizes |= {name: fixed[name] for name in ("vocab", "seq_len", "dim", "samples") if name in fixed}
    chosen = {
        **sizes,
        "embeddings": draw(laws(sizes["vocab"], sizes["dim"])),
        "width": draw(st.one_of(st.none(), st.integers(1, LARGEST["width"]))),
        "activation": draw(st.sampled_from(ACTIVATIONS)),
        "trigger_in_values": draw(st.booleans()),
        "zipf": draw(EXPONENTS),
        "other_zipf": draw(st.one_of(st.none(), EXPONENTS)),
        "balanced": draw(st.booleans()),
        "loss_weights": draw(st.sampled_from(LOSS_WEIGHTS)),
        "output_bias": draw(st.sampled_from(OUTPUT_BIASES)),
        "centred": draw(st.booleans()),
    }
    return rb.Setting(**{**chosen, **fixed})


EQUAL = {
    "zipf": 0.0,
    "other_zipf": None,
    "balanced": False,
    "loss_weights": "equal",
    "output_bias": "none",
    "centred": False,
}


def across(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole numbers from one to the other, even in their logarithm."""
    return st.floats(math.log(low), math.log(high)).map(
        lambda x: min(max(round(math.exp(x)), low), high)
    )


def answered(call):
    """What the call gives, or None where it refuses in the house's form; any other error is one of
    the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except ValueError as refusal:
            assert HOUSE.match(str(refusal)), refusal
            return None


def as_words(setting: rb.Setting) -> list[str]:
    """The options of the command line that give this setting."""
    words = []
    for name in (
        field.name for field in fields(setting) if setting.width or field.name != "activation"
    ):
        value = getattr(setting, name)
        if value is not None and value is not False:
            words += ["--" + name.replace("_", "-"), *([] if value is True else [str(value)])]
    return words
