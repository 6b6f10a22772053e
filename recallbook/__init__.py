"""Recall with transformers beyond orthogonal embeddings: the helper package of the book.

Run: Setting, draw, three_steps, evaluate, simulate, RecallTransformer, descend, reference
Predict: predict, phase, critical_samples, critical_dim, critical_width, capacity, predict_trained
Prove: certify, sufficient_samples, minimum_samples, decode, initial_gradient
Show: grid, run_sweep, load_results
Read a table: read_embeddings, examine

The other names are what these return."""

from difflib import get_close_matches as _close
from importlib import import_module as _import_module
from importlib.metadata import version as _version
from re import findall as _findall
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recallbook.data.embeddings import Embeddings
    from recallbook.data.task import Problem, Sequences, draw
    from recallbook.model.transformer import RecallTransformer, Weights
    from recallbook.result import Outcome
    from recallbook.setting import Setting
    from recallbook.training import reference
    from recallbook.training.descent import initial_gradient, three_steps
    from recallbook.training.evaluation import evaluate
    from recallbook.training.longer import descend
    from recallbook.training.simulation import simulate
    from recallbook_studies.examining.judge import Verdict
    from recallbook_studies.examining.read import read_embeddings
    from recallbook_studies.examining.report import TableReport, examine
    from recallbook_studies.running.archive import load_results
    from recallbook_studies.running.point import Point, grid
    from recallbook_studies.running.run import run_sweep
    from recallbook_theory.bounds.certificate import Certificate, certify
    from recallbook_theory.bounds.coverage import minimum_samples
    from recallbook_theory.bounds.decoding import decode
    from recallbook_theory.bounds.sufficient import Sufficient, sufficient_samples
    from recallbook_theory.critical import (
        CriticalSize,
        capacity,
        critical_dim,
        critical_samples,
        critical_width,
    )
    from recallbook_theory.prediction import Prediction, phase, predict
    from recallbook_theory.theories import Term
    from recallbook_theory.trained import TrainedPrediction, predict_trained

__version__ = _version("recallbook")
__all__ = [
    "Certificate",
    "CriticalSize",
    "Embeddings",
    "Outcome",
    "Point",
    "Prediction",
    "Problem",
    "RecallTransformer",
    "Sequences",
    "Setting",
    "Sufficient",
    "TableReport",
    "Term",
    "TrainedPrediction",
    "Verdict",
    "Weights",
    "capacity",
    "certify",
    "critical_dim",
    "critical_samples",
    "critical_width",
    "decode",
    "descend",
    "draw",
    "evaluate",
    "examine",
    "grid",
    "initial_gradient",
    "load_results",
    "minimum_samples",
    "phase",
    "predict",
    "predict_trained",
    "read_embeddings",
    "reference",
    "run_sweep",
    "simulate",
    "sufficient_samples",
    "three_steps",
]
# Each name comes with its module when it is first asked for, so that a prediction does not wait for
# torch, nor a simulation for SymPy; and what is built on this package can have a name in it.
_MODULES = {
    "recallbook.data.embeddings": "Embeddings",
    "recallbook.data.task": "Problem Sequences draw",
    "recallbook.model.transformer": "RecallTransformer Weights",
    "recallbook.result": "Outcome",
    "recallbook.setting": "Setting",
    "recallbook.training.descent": "initial_gradient three_steps",
    "recallbook.training.evaluation": "evaluate",
    "recallbook.training.longer": "descend",
    "recallbook.training.simulation": "simulate",
    "recallbook_theory.critical": "CriticalSize capacity critical_dim critical_samples critical_width",
    "recallbook_theory.prediction": "Prediction phase predict",
    "recallbook_theory.theories": "Term",
    "recallbook_theory.bounds.certificate": "Certificate certify",
    "recallbook_theory.bounds.coverage": "minimum_samples",
    "recallbook_theory.bounds.decoding": "decode",
    "recallbook_theory.bounds.sufficient": "Sufficient sufficient_samples",
    "recallbook_theory.trained": "TrainedPrediction predict_trained",
    "recallbook_studies.examining.judge": "Verdict",
    "recallbook_studies.examining.read": "read_embeddings",
    "recallbook_studies.examining.report": "TableReport examine",
    "recallbook_studies.running.archive": "load_results",
    "recallbook_studies.running.point": "Point grid",
    "recallbook_studies.running.run": "run_sweep",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name == "reference":
        return _import_module("recallbook.training.reference")
    if name not in _HOMES:
        near = _close(name, __all__, 1)
        hint = f"; the nearest is {near[0]!r}" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    return getattr(_import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    named = {*_findall(r"\w+", __doc__ or "")}
    return sorted({"__version__", *(name for name in __all__ if name in named)})
