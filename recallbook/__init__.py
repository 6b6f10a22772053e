"""Recall with transformers beyond orthogonal embeddings: the helper package of the book."""

from recallbook import reference
from recallbook.descent import descend, initial_gradient, three_steps
from recallbook.evaluation import Outcome, evaluate, simulate
from recallbook.model import RecallTransformer
from recallbook.setting import Setting
from recallbook.task import Problem, Sequences, draw
from recallbook.weights import Weights

__version__ = "0.1.0"
__all__ = [
    "Outcome",
    "Problem",
    "RecallTransformer",
    "Sequences",
    "Setting",
    "Weights",
    "descend",
    "draw",
    "evaluate",
    "initial_gradient",
    "reference",
    "simulate",
    "three_steps",
]
