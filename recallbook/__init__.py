"""Recall with transformers beyond orthogonal embeddings: the helper package of the book."""

from recallbook import reference
from recallbook.archive import load_results
from recallbook.bounds import minimum_samples
from recallbook.decoding import decode
from recallbook.descent import descend, initial_gradient, three_steps
from recallbook.evaluation import Outcome, evaluate, simulate
from recallbook.model import RecallTransformer
from recallbook.points import Point
from recallbook.setting import Setting
from recallbook.sweep import run_sweep
from recallbook.task import Problem, Sequences, draw
from recallbook.theory import Prediction, Term, critical_samples, critical_width, phase, predict
from recallbook.weights import Weights

__version__ = "0.1.0"
__all__ = [
    "Outcome",
    "Point",
    "Prediction",
    "Problem",
    "RecallTransformer",
    "Sequences",
    "Setting",
    "Term",
    "Weights",
    "critical_samples",
    "critical_width",
    "decode",
    "descend",
    "draw",
    "evaluate",
    "initial_gradient",
    "load_results",
    "minimum_samples",
    "phase",
    "predict",
    "reference",
    "run_sweep",
    "simulate",
    "three_steps",
]
