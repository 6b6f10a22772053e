"""Recall with transformers beyond orthogonal embeddings: the helper package of the book."""

from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

from recallbook.data.embeddings import Embeddings
from recallbook.data.task import Problem, Sequences, draw
from recallbook.model.transformer import RecallTransformer, Weights
from recallbook.setting import Setting
from recallbook.training import reference
from recallbook.training.descent import initial_gradient, three_steps
from recallbook.training.evaluation import Outcome, evaluate
from recallbook.training.simulation import simulate

if TYPE_CHECKING:
    from recallbook.analysis.examination import TableReport, examine
    from recallbook.analysis.table_files import read_embeddings
    from recallbook.bounds.certificate import Certificate, certify
    from recallbook.bounds.coverage import minimum_samples
    from recallbook.bounds.decoding import decode
    from recallbook.bounds.sufficient import Sufficient, sufficient_samples
    from recallbook.sweeps.archive import load_results
    from recallbook.sweeps.point import Point
    from recallbook.sweeps.run import run_sweep
    from recallbook.theory.prediction import (
        Prediction,
        critical_samples,
        critical_width,
        phase,
        predict,
    )
    from recallbook.theory.theories import Term
    from recallbook.theory.trained import TrainedPrediction, predict_trained
    from recallbook.training.longer import descend

__version__ = _version("recallbook")
__all__ = [
    "Certificate",
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
    "Weights",
    "certify",
    "critical_samples",
    "critical_width",
    "decode",
    "descend",
    "draw",
    "evaluate",
    "examine",
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
# Loaded when first asked for: with them come SymPy, SciPy's statistics and pandas, which cost as
# much as torch, and the core works without sweeps.
_LATER = {
    "bounds.certificate": ("Certificate", "certify"),
    "bounds.coverage": ("minimum_samples",),
    "bounds.decoding": ("decode",),
    "bounds.sufficient": ("Sufficient", "sufficient_samples"),
    "analysis.examination": ("TableReport", "examine"),
    "analysis.table_files": ("read_embeddings",),
    "sweeps.archive": ("load_results",),
    "sweeps.point": ("Point",),
    "sweeps.run": ("run_sweep",),
    "theory.prediction": (
        "Prediction",
        "critical_samples",
        "critical_width",
        "phase",
        "predict",
    ),
    "theory.theories": ("Term",),
    "theory.trained": ("TrainedPrediction", "predict_trained"),
    "training.longer": ("descend",),
}
_MODULES = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"recallbook.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
