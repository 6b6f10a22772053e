"""Seeded mistakes in the package, each of which the tests must notice: `make mutants` prints the table.

A mutant is one small change of one line. The package is copied to a temporary folder, changed there, and the unit
tests named by the mutant are run against the copy; then, where the change moves a stored number, nbval is run on the
chapters named by the mutant. The unchanged package is run in the same way as a control, which must pass.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import preloaded

ROOT = Path(__file__).resolve().parents[1]
TASK, EMBEDDINGS, STEPS = "01_the_task", "02_embeddings_that_interfere", "03_three_gradient_steps"
GRADIENTS, LOCK_ON, RECALL = (
    "04_gradients_derived_and_checked",
    "05_when_attention_locks_on",
    "06_when_facts_can_be_recalled",
)
RECALL_NOISE, FINITE_RATES = "appendix_06_recall_noise", "appendix_06_finite_rates"
LAWS_IN_DETAIL, LONGER = "appendix_09_laws_in_detail", "appendix_09_longer_training"
ERROR_MAP = "appendix_09_map_and_larger_sizes"
ROUTES, TERMS = "appendix_04_two_more_routes", "appendix_05_every_term"
MEASURED = "appendix_05_lock_on_measured"
LOWER_PROOFS, READERS = "appendix_08_proofs", "appendix_08_readers"
MLP_IN_DETAIL = "appendix_07_mlp"
MLP, LOWER, SCALING, CLAIMS = "07_the_mlp_as_memory", "08_lower_bounds", "09_does_it_multiply", "10_claims_and_verdicts"
UNEQUAL, UNEQUAL_SCORES = "11_when_facts_are_not_equal", "appendix_11_scores"
SURVIVES, LADDER_IN_DETAIL = "12_what_survives", "appendix_12_ladder"
CLAIMS_ON_SCALING, OTHER_CLAIMS = "appendix_10_claims_on_scaling", "appendix_10_other_claims"
UNCHANGED = "numbers unchanged by design"


class Mutant(NamedTuple):
    """``old``, found exactly once in ``file``, becomes ``new``. No ``chapters``: no stored number depends on it."""

    name: str
    kind: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    chapters: tuple[str, ...] = ()


MUTANTS = [
    Mutant(
        "the best rate of the grid, not the middle of the best",
        "index",
        "experiments/survives/rates.py",
        "good.iloc[len(good) // 2]",
        "good.iloc[-1]",
        ("test_practice.py", "test_survives.py"),
        (LADDER_IN_DETAIL,),
    ),
    Mutant(
        "where no N is enough, the largest one counts",
        "left out",
        "experiments/survives/laws.py",
        "return float(counts.max()), math.inf",
        "return float(counts.max()), float(counts.max())",
        ("test_survives.py",),
    ),
    Mutant(
        "a longer sequence is held to cost what it saves",
        "sign",
        "experiments/survives/laws.py",
        "cheap, dear = (first, last) if largest else (last, first)",
        "cheap, dear = (last, first) if largest else (first, last)",
        ("test_survives.py",),
        (SURVIVES,),
    ),
    Mutant(
        "coverage of a share in base two",
        "factor",
        "experiments/survives/laws.py",
        "-vocab * float(np.log1p(-level))",
        "-vocab * float(np.log2(1 - level))",
        ("test_survives.py",),
    ),
    Mutant(
        "bits a weight by the natural logarithm",
        "factor",
        "experiments/survives/capacity.py",
        "math.log2(vocab)",
        "math.log(vocab)",
        ("test_survives.py",),
        (SURVIVES,),
    ),
    Mutant(
        "curves follow the first head",
        "index",
        "experiments/survives/histories.py",
        '["lock_on"].idxmax()',
        '["lock_on"].idxmin()',
        ("test_survives.py",),
    ),
    Mutant(
        "a fall of accuracy counts from the last look",
        "left out",
        "experiments/survives/oscillation.py",
        '["accuracy"].cummax()',
        '["accuracy"].shift(fill_value=0)',
        ("test_survives.py",),
    ),
    Mutant(
        "the marker comes after its token",
        "off by one",
        "practice/writing.py",
        "return torch.where(places == positions[:, None], marker, found)",
        "return torch.where(places == positions[:, None] + 1, marker, found)",
        ("test_practice.py",),
    ),
    Mutant(
        "the end token attends to itself in the book's attention",
        "sign",
        "practice/models.py",
        "torch.softmax((keys[:, :-1] @ query[:, :, None])[..., 0], dim=1)",
        "torch.softmax((keys[:, 1:] @ query[:, :, None])[..., 0], dim=1)",
        ("test_practice.py",),
    ),
    Mutant(
        "a first layer that looks ahead",
        "left out",
        "practice/models.py",
        "device=stream.device).triu(1)",
        "device=stream.device).triu(length)",
        ("test_practice.py",),
    ),
    Mutant(
        "values of the library without the stream",
        "left out",
        "practice/models.py",
        "read = read + (stream[:, -1:] if only_last else stream)",
        "read = read + (normed[:, -1:] if only_last else normed)",
        ("test_practice.py",),
    ),
    Mutant(
        "Muon steps on embeddings",
        "left out",
        "practice/optimisers.py",
        'return stacked.ndim == 3 and name.startswith(("layers.", "book."))',
        "return stacked.ndim == 3",
        ("test_practice.py",),
    ),
    Mutant(
        "no warm-up",
        "left out",
        "practice/optimisers.py",
        "return (step + 1) / warm",
        "return 1.0",
        ("test_practice.py",),
    ),
    Mutant(
        "the same order in every epoch",
        "index",
        "practice/training.py",
        'stream(seed, "permutation", epoch)',
        'stream(seed, "permutation", 1)',
        ("test_practice.py",),
    ),
    Mutant(
        "clusters are runs of tokens",
        "index",
        "data/embeddings.py",
        "own = np.arange(len(scaled)) % len(centres)",
        "own = np.arange(len(scaled)) * len(centres) // len(scaled)",
        ("test_embedding_laws.py",),
    ),
    Mutant(
        "eigenvalues scale lengths, not squares",
        "factor",
        "data/embeddings.py",
        "scaled = [part * np.sqrt(eigenvalues(setting)) for part in tables]",
        "scaled = [part * eigenvalues(setting) for part in tables]",
        ("test_embedding_laws.py",),
    ),
    Mutant(
        "labels share the tokens' centres",
        "index",
        "data/embeddings.py",
        'enumerate(("input_centres", "output_centres"))',
        'enumerate(("input_centres", "input_centres"))',
        ("test_embedding_laws.py",),
    ),
    Mutant(
        "a shared draw has as many centres as are asked for first",
        "off by one",
        "sweeps/paired.py",
        "most = longest.get(role, rows)",
        'most = self._width if role == "mlp_weights" else rows',
        ("test_paired.py",),
    ),
    Mutant(
        "certificates of given outputs",
        "left out",
        "bounds/certificate.py",
        'if "output" in problem.own:',
        'if "outputs" in problem.own:',
        ("test_own_tables.py",),
    ),
    Mutant(
        "zeros of either sign differ",
        "left out",
        "data/own_tables.py",
        "for row in table + 0.0})",
        "for row in table})",
        ("test_own_tables.py",),
    ),
    Mutant(
        "pairs count rows with themselves",
        "off by one",
        "data/examination.py",
        "((gram**2).sum() - (own**2).sum()) / (len(rows) * (len(rows) - 1))",
        "(gram**2).sum() / len(rows) ** 2",
        ("test_examination.py",),
    ),
    Mutant(
        "no mark turns in a sequence that meets itself",
        "left out",
        "theory/symbolic/attention_vector.py",
        "own_mark = R / L**2",
        "own_mark = 0 * R / L**2",
        ("test_unequal.py",),
    ),
    Mutant(
        "key noise of one token without its own mean",
        "factor",
        "theory/symbolic/attention_vector.py",
        "single_tokens = R**3 / L",
        "single_tokens = R**2 / L",
        ("test_unequal.py",),
    ),
    Mutant(
        "keys and values see the mark with the other sign",
        "sign",
        "theory/attention_vector.py",
        "total = one + two - turned * (",
        "total = one + two + turned * (",
        ("test_unequal.py",),
    ),
    Mutant(
        "sequences do not exchange roles",
        "left out",
        "theory/attention_vector.py",
        "return np.asarray(third**2 * tokens -",
        "return np.asarray(0 * tokens -",
        ("test_unequal.py",),
    ),
    Mutant(
        "a tie with the mark is lost",
        "index",
        "theory/located.py",
        "last = np.searchsorted(ordered, wanted + slack,",
        "last = np.searchsorted(ordered, wanted - slack,",
        ("test_unequal.py",),
    ),
    Mutant(
        "a wrong place answers for the other token",
        "index",
        "theory/located.py",
        "located.wrong[given, np.arange(len(given))]",
        "located.wrong[np.arange(len(given)), given]",
        ("test_unequal.py",),
    ),
    Mutant(
        "predicted first residuals forget the loss weights",
        "left out",
        "theory/drawn_facts.py",
        "weights * counts / (weights @ counts)",
        "counts / counts.sum()",
        ("test_unequal.py",),
    ),
    Mutant(
        "a control variate is added the wrong way",
        "sign",
        "theory/unequal.py",
        "(every.mean(axis=0) - x.mean(axis=0))",
        "(x.mean(axis=0) - every.mean(axis=0))",
        ("test_unequal.py",),
    ),
    Mutant(
        "the command line forgets the other tokens' exponent",
        "left out",
        "commands/options.py",
        'exponents = {name: getattr(chosen, name) for name in ("zipf", "other_zipf")}',
        'exponents = {name: getattr(chosen, name) for name in ("zipf",)}',
        ("test_command_line.py",),
    ),
    Mutant(
        "what is proved for equal facts is printed for all",
        "left out",
        "commands/predicting.py",
        "    if not proved:",
        "    if proved is None:",
        ("test_command_line.py",),
    ),
    Mutant(
        "dozens of predictions without being asked",
        "left out",
        "commands/predicting.py",
        '"binds": phase(setting) if quick or search else None',
        '"binds": phase(setting)',
        ("test_command_line.py",),
    ),
    Mutant(
        "a crossing partition is in",
        "index",
        "theory/symbolic/spectra.py",
        "cycle.append(at)\n            at = before[(at + 1) % size]",
        "cycle.append(at)\n            at = before[at]",
        ("test_frequencies.py",),
    ),
    Mutant(
        "loops of pairings are not counted to their length",
        "factor",
        "theory/symbolic/spectra.py",
        "weight *= trace(length)",
        "weight *= trace(min(length, 2))",
        ("test_frequencies.py",),
    ),
    Mutant(
        "the mean stays in the covariance",
        "left out",
        "theory/symbolic/spectra.py",
        "total += (-1) ** len(split) * gaussian_mean(",
        "total += (not split) * gaussian_mean(",
        ("test_frequencies.py",),
    ),
    Mutant(
        "frequent labels do not lift the mark",
        "left out",
        "theory/symbolic/frequencies.py",
        "+ R**2 / L * (of.along - others * of.square)",
        "+ 0 * of.along",
        ("test_frequencies.py",),
    ),
    Mutant(
        "sequences exchanged are forgotten",
        "left out",
        "theory/symbolic/frequencies.py",
        "s2 * (p2 + s2) + q**2 + s2 * p2)",
        "s2 * (p2 + s2))",
        ("test_frequencies.py",),
    ),
    Mutant(
        "a wrong label's own fact interferes as the others do",
        "factor",
        "theory/symbolic/rare_facts.py",
        "(others / d**2 + own / d)",
        "(others / d**2 + own / d**2)",
        ("test_frequencies.py",),
    ),
    Mutant(
        "facts never seen are recalled",
        "left out",
        "theory/rare_facts.py",
        "(seen * recalled.mean(axis=0))",
        "(seen**0 * recalled.mean(axis=0))",
        ("test_frequencies.py",),
    ),
    Mutant(
        "what the mean token does grows with one more share of other tokens",
        "factor",
        "theory/symbolic/frequencies.py",
        "return R**3 * labels(bias).square * bias_overlap()",
        "return R**4 * labels(bias).square * bias_overlap()",
        ("test_frequencies.py",),
        (UNEQUAL,),
    ),
    Mutant(
        "the critical exponent's row forgets the length",
        "left out",
        "experiments/unequal/pictures.py",
        'rows.append({**row, "measured": measured, "L p₁ there": length * top})',
        'rows.append({**row, "measured": measured, "L p₁ there": top})',
        ("test_unequal_pictures.py",),
        (UNEQUAL,),
    ),
    Mutant(
        "the law of the floor has the exponent of what was never seen",
        "factor",
        "experiments/unequal/pictures.py",
        '("d, equal weights", floor, "dim", -law / 2),',
        '("d, equal weights", floor, "dim", -law),',
        ("test_unequal_pictures.py",),
        (UNEQUAL,),
    ),
    Mutant(
        "the floor's integral loses a factor",
        "factor",
        "theory/rare_facts.py",
        "return float(-np.expm1(np.sum(log_ndtr((np.arange(1, far + 1) / y) ** exponent))))",
        "return float(-np.expm1(np.sum(log_ndtr((np.arange(2, far + 1) / y) ** exponent))))",
        ("test_frequencies.py",),
        (UNEQUAL_SCORES,),
    ),
    Mutant(
        "a failed seed leaves the mean of a rate",
        "left out",
        "experiments/unequal/remedies_rates.py",
        'accuracy=frame["accuracy"].fillna(0.0)',
        'accuracy=frame["accuracy"]',
        ("test_remedies.py",),
    ),
    Mutant(
        "the largest rates near the best",
        "index",
        "experiments/unequal/remedies_rates.py",
        '.sort_values(["product", "eta"]).iloc[0]',
        '.sort_values(["product", "eta"]).iloc[-1]',
        ("test_remedies.py",),
    ),
    Mutant(
        "rates worse than the best count as good",
        "factor",
        "experiments/unequal/remedies_rates.py",
        'tried[tried["accuracy"] >= best - MARGIN]',
        'tried[tried["accuracy"] >= best - 2 * MARGIN]',
        ("test_remedies.py",),
    ),
    Mutant(
        "lock-on is restored if its mean reaches the level",
        "left out",
        "experiments/unequal/remedies.py",
        'np.select([low >= level, high < level], ["yes", "no"], "open")',
        'np.select([high >= level, high < level], ["yes", "no"], "open")',
        ("test_remedies.py",),
    ),
    Mutant(
        "a gain is of another seed",
        "index",
        "experiments/unequal/remedies.py",
        "plain.reindex(index).to_numpy()",
        "plain.sample(frac=1, random_state=0).to_numpy()",
        ("test_remedies.py",),
    ),
    Mutant(
        "weights and bias are read as weights alone",
        "left out",
        "experiments/unequal/remedies.py",
        '"inverse weights, trained bias": {"loss_weights": "inverse", "output_bias": "trained"},',
        '"inverse weights, trained bias": {"loss_weights": "inverse", "output_bias": "calibrated"},',
        ("test_remedies.py",),
    ),
    Mutant(
        "a trained bias forgets the loss weights",
        "left out",
        "data/residuals.py",
        "total = _label_counts(problem) * _float64_weights(problem)",
        "total = _label_counts(problem)",
        ("test_unequal_facts.py",),
    ),
    Mutant(
        "a calibrated bias is by token",
        "index",
        "data/residuals.py",
        "frequencies[problem.permutation.cpu().numpy()] = fact_frequencies(setting)",
        "frequencies[:] = fact_frequencies(setting)",
        ("test_unequal_facts.py",),
    ),
    Mutant(
        "a calibrated bias although batches are balanced",
        "left out",
        "data/residuals.py",
        "setting.zipf > 0 and not setting.balanced and",
        "setting.zipf > 0 and",
        ("test_unequal_facts.py",),
    ),
    Mutant(
        "residuals are weighted after their mean is taken off",
        "factor",
        "data/residuals.py",
        "return table.addcmul_(shares, table.sum(dim=dim, keepdim=True), value=-1)",
        "return table.addcmul_(shares * weights, table.sum(dim=dim, keepdim=True) / weights.clamp(min=1), value=-1)",
        ("test_unequal_facts.py",),
    ),
    Mutant(
        "finite rates forget the loss weights",
        "left out",
        "training/gradients.py",
        "return loss, rests.mul_(weights)",
        "return loss, rests",
        ("test_unequal_facts.py",),
    ),
    Mutant(
        "a bias in the limit",
        "left out",
        "training/evaluation.py",
        "bias = torch.zeros_like(bias) if hard else bias",
        "bias = bias + 0.0",
        ("test_unequal_facts.py",),
    ),
    Mutant(
        "certified accuracy counts every fact once",
        "left out",
        "bounds/certificate.py",
        "accuracy=_at_least(asked - min(",
        "accuracy=_at_least(stored - min(",
        ("test_certificate.py",),
    ),
    Mutant(
        "other tokens with the frequencies of facts",
        "index",
        "bounds/certificate.py",
        "(1 - _mean(chances, others))",
        "(1 - _mean(chances, facts))",
        ("test_certificate.py",),
    ),
    Mutant(
        "a bag of words guesses by counts alone",
        "left out",
        "data/baselines.py",
        "weighted = counts * (fact_frequencies(setting) / other_frequencies(setting))",
        "weighted = counts",
        ("test_baselines.py",),
    ),
    Mutant(
        "a learned token moves as a value alone",
        "left out",
        "training/embedding_gradients.py",
        "inputs += torch.outer(key_weights, attention_vector)",
        "inputs += 0 * torch.outer(key_weights, attention_vector)",
        ("test_longer.py",),
    ),
    Mutant(
        "learned outputs see the located vector, not the answer",
        "left out",
        "training/embedding_gradients.py",
        "outputs += rests.T @ answers",
        "outputs += rests.T @ attend(problem, part, weights)",
        ("test_longer.py",),
    ),
    Mutant(
        "Adam keeps the bias of its start",
        "left out",
        "training/optimizers.py",
        "self._square / (1 - SECOND_MOMENT**self._steps)",
        "self._square / (1 - SECOND_MOMENT)",
        ("test_longer.py",),
    ),
    Mutant(
        "Muon without Nesterov's look ahead",
        "left out",
        "training/optimizers.py",
        "orthogonalised(ahead), math",
        "orthogonalised(self._momentum), math",
        ("test_longer.py",),
    ),
    Mutant(
        "the sign of rounding moves weights",
        "left out",
        "training/optimizers.py",
        "direction.abs() <= tolerance(direction.dtype) * direction.abs().max()",
        "direction.abs() <= 0 * direction.abs().max()",
        ("test_longer.py",),
    ),
    Mutant(
        "a model is tested with the embeddings that were drawn",
        "left out",
        "training/evaluation.py",
        "problem = weights.problem_as_held(problem)",
        "problem = problem",
        ("test_longer.py",),
    ),
    Mutant(
        "embeddings learn at the rate of attention",
        "factor",
        "training/longer.py",
        "check_embedding_rate(embedding_rate, learned) or eta",
        "check_embedding_rate(embedding_rate, learned) or gamma",
        ("test_longer.py",),
    ),
    Mutant(
        "labels ahead lose half of the time",
        "left out",
        "bounds/recall_law.py",
        "lost = np.where((right > weights).numpy(), lost, 1.0)",
        "lost = np.where((right > weights).numpy(), lost, lost)",
        ("test_certificate.py",),
    ),
    Mutant(
        "weights may be rounding",
        "left out",
        "bounds/recall_law.py",
        "return torch.where(proved[:, None], weights, 0.0)",
        "return weights",
        ("test_certificate.py",),
    ),
    Mutant(
        "squares do not blur",
        "left out",
        "bounds/lock_law.py",
        "norm = (square.clamp(min=0) + found.blur).sqrt() + found.slack",
        "norm = square.clamp(min=0).sqrt()",
        ("test_certificate.py",),
    ),
    Mutant(
        "one comparison has twice the dimension",
        "factor",
        "bounds/recall_law.py",
        "special.betainc(dim / 2, dim / 2,",
        "special.betainc(dim, dim,",
        ("test_certificate.py",),
    ),
    Mutant(
        "a correlation is not halved",
        "factor",
        "bounds/recall_law.py",
        "(math.sqrt(2) * length)).clamp(-1, 1)",
        "length).clamp(-1, 1)",
        ("test_certificate.py",),
    ),
    Mutant(
        "chi has one dimension more",
        "off by one",
        "bounds/recall_law.py",
        "chances = np.diff(chi.cdf(fine, dim))",
        "chances = np.diff(chi.cdf(fine, dim + 1))",
        ("test_certificate.py",),
    ),
    Mutant(
        "wrong labels are independent for free",
        "left out",
        "bounds/recall_law.py",
        "product = logs.sum(axis=2) - slope**2 / (2 * np.maximum(convexity, 1 / 2))",
        "product = logs.sum(axis=2) + slope**2",
        ("test_certificate.py",),
    ),
    Mutant(
        "the right logit does not push the others",
        "left out",
        "bounds/recall_law.py",
        "push = sizes - right * own / rest",
        "push = sizes + right * own / rest",
        ("test_certificate.py",),
    ),
    Mutant(
        "(log Phi)'' may bend faster than said",
        "factor",
        "bounds/recall_law.py",
        "STEEPEST = 0.3 ",
        "STEEPEST = 0.1 ",
        ("test_certificate.py",),
    ),
    Mutant(
        "stored weights are not centred",
        "left out",
        "bounds/recall_law.py",
        "weights = onto_labels_(problem, weights, problem.permutation, dim=1)",
        "weights = weights * 1",
        ("test_certificate.py",),
    ),
    Mutant(
        "the sphere's overlaps lie at the upper ends",
        "index",
        "bounds/recall_law.py",
        "special.betaincinv(half, half, shares[:-1])",
        "special.betaincinv(half, half, shares[1:])",
        ("test_certificate.py",),
    ),
    Mutant(
        "lengths on the sphere have thin tails",
        "factor",
        "bounds/recall_law.py",
        "return math.exp(-dim / 2 * (excess - math.log1p(excess)))",
        "return math.exp(-dim * (excess - math.log1p(excess)))",
        ("test_certificate.py",),
    ),
    Mutant(
        "Chernoff's exponent is doubled",
        "factor",
        "bounds/lock_law.py",
        "return -dim / 4 * ((1 + 2 * ratio).sqrt() - 1).square()",
        "return -dim / 2 * ((1 + 2 * ratio).sqrt() - 1).square()",
        ("test_certificate.py",),
    ),
    Mutant(
        "eigenvalues count twice",
        "factor",
        "bounds/lock_law.py",
        "exponents - dim / 2 * torch.log1p(",
        "exponents - dim * torch.log1p(",
        ("test_certificate.py",),
    ),
    Mutant(
        "margins are not symmetrised",
        "left out",
        "bounds/lock_law.py",
        "    form /= 2\n",
        "    form /= 1\n",
        ("test_certificate.py",),
    ),
    Mutant(
        "the mark's own place has no mark",
        "left out",
        "bounds/lock_law.py",
        "slope += tau * torch.outer(gains.sum(dim=0) * trigger, tokens[asked] + mark)",
        "slope += tau * torch.outer(gains.sum(dim=0) * trigger, tokens[asked])",
        ("test_certificate.py",),
    ),
    Mutant(
        "rounding is not taken off",
        "left out",
        "bounds/lock_law.py",
        "ROUNDING = 8 * 2.0**-53 ",
        "ROUNDING = 8 * 2.0**-70 ",
        ("test_certificate.py",),
    ),
    Mutant(
        "one other token fewer",
        "off by one",
        "bounds/certificate.py",
        "** (setting.seq_len - 1), facts))",
        "** (setting.seq_len - 2), facts))",
        ("test_certificate.py",),
    ),
    Mutant(
        "training sequences always lock",
        "left out",
        "bounds/certificate.py",
        "recall=_at_least(stored - trained)",
        "recall=_at_least(stored)",
        ("test_certificate.py",),
    ),
    Mutant(
        "a fair bet gains",
        "factor",
        "bounds/sufficient.py",
        "return 1 + 0.98 * (proved / accuracy - 1)",
        "return 1 + 0.98 * (proved / accuracy - 0.95)",
        ("test_sufficient.py",),
    ),
    Mutant(
        "predictions move by half",
        "factor",
        "bounds/rates.py",
        "changed = math.expm1(min(eta * limit.spread, 700.0))",
        "changed = math.expm1(min(eta * limit.spread, 700.0)) / 1e5",
        ("test_rates_kept.py",),
    ),
    Mutant(
        "covariances are a tenth of ranges",
        "factor",
        "bounds/rates.py",
        "drift = strength / 4 *",
        "drift = strength / 40000 *",
        ("test_rates_kept.py",),
    ),
    Mutant(
        "soft attention does not blur",
        "left out",
        "bounds/rates.py",
        "missing = (setting.seq_len - 1) * math.exp(-max(exponent, -700.0))",
        "missing = math.exp(-max(10 * exponent, -700.0))",
        ("test_rates_kept.py",),
    ),
    Mutant(
        "the running sums forget their length",
        "factor",
        "bounds/closed_form.py",
        "weights: N / V * (most + 1 / V)",
        "weights: N / V**2 * (most + 1 / V)",
        ("test_closed_form.py",),
    ),
    Mutant(
        "the norm of the embeddings forgets the dimension",
        "left out",
        "bounds/closed_form.py",
        "omega: (1 + root(d / V) + root(2 * log / V)) ** 2",
        "omega: (1 + root(2 * log / V)) ** 2",
        ("test_closed_form.py",),
    ),
    Mutant(
        "one tail too few for the frequencies",
        "factor",
        "bounds/closed_form.py",
        "most: 1 + root(2 * share) + 2 * share / 3",
        "most: 1 + root(share) + 2 * share / 3",
        ("test_closed_form.py",),
    ),
    Mutant(
        "mean bias with one factor of the length",
        "factor",
        "bounds/closed_form.py",
        '"mean bias": L * (L - 1) * root(V)',
        '"mean bias": (L - 1) * root(V)',
        ("test_closed_form.py",),
    ),
    Mutant(
        "events are counted too cheaply",
        "factor",
        "bounds/closed_form.py",
        "EVENTS = 16",
        "EVENTS = 11",
        ("test_closed_form.py",),
    ),
    Mutant(
        "a smaller constant in the product form",
        "factor",
        "bounds/product_form.py",
        "SAMPLES = {0: 30, 1: 200}",
        "SAMPLES = {0: 10, 1: 100}",
        ("test_closed_form.py",),
    ),
    Mutant(
        "certificates are not checked for the range",
        "left out",
        "bounds/product_form.py",
        "bounds=(0, None)",
        "bounds=(None, None)",
        ("test_closed_form.py",),
    ),
    Mutant(
        "places coincide with the wrong chance",
        "sign",
        "derivations/moments.py",
        "found[p] - k * found[p - 1]",
        "found[p] + k * found[p - 1]",
        ("test_moments.py",),
    ),
    Mutant(
        "a token's pair of embeddings is free",
        "index",
        "derivations/contractions.py",
        "len(pairs) - loops, sum(trigger) // 2",
        "len(pairs), sum(trigger) // 2",
        ("test_moments.py",),
    ),
    Mutant(
        "a draw's tokens are taken with repetition",
        "factor",
        "theory/moments.py",
        "setting.vocab / (setting.vocab - 1)  # a",
        "setting.vocab / setting.vocab  # a",
        ("test_moments.py",),
        (LOCK_ON, MEASURED),
    ),
    Mutant(
        "tokens overlap with the even part alone",
        "left out",
        "theory/lock_on.py",
        "along * mark**2 + across",
        "along * pull**2 + across",
        ("test_error_map.py",),
        (LOCK_ON,),
    ),
    Mutant(
        "no warning in few dimensions",
        "factor",
        "theory/doubts.py",
        "FEWEST_TOKENS, FEWEST_DIMS = 60, 12",
        "FEWEST_TOKENS, FEWEST_DIMS = 60, 8",
        ("test_error_map.py",),
        (SCALING, ERROR_MAP),
    ),
    Mutant(
        "labels' counts do not repel",
        "left out",
        "derivations/recall.py",
        "pair = N * (N - 1) / V**2",
        "pair = N**2 / V**2",
        ("test_derivations.py",),
        (RECALL_NOISE,),
    ),
    Mutant(
        "the last token is never drawn",
        "off by one",
        "data/streams.py",
        "generator.integers(high,",
        "generator.integers(max(1, high - 1),",
        ("test_task.py",),
        (TASK, STEPS),
    ),
    Mutant(
        "blocks of one role overlap",
        "index",
        "data/streams.py",
        "counter=[0, 0, 0, block]",
        "counter=[block, 0, 0, 0]",
        ("test_task.py",),
        # chapters draw fresh batches in committed sweeps only
    ),
    Mutant(
        "rows of a table overlap",
        "index",
        "data/streams.py",
        '["counter"][3] = row',
        '["counter"][0] = row',
        ("test_task.py",),
        (TASK, EMBEDDINGS, STEPS),
    ),
    Mutant(
        "every test batch has the positions of block 0",
        "index",
        "data/task.py",
        'prefix + "positions", block)',
        'prefix + "positions")',
        ("test_task.py",),
        # the chapters draw block 0 only
    ),
    Mutant(
        "the label is that of the position before",
        "off by one",
        "data/task.py",
        "labels = permutation[tokens[np.arange(count), positions]]",
        "labels = permutation[tokens[np.arange(count), positions - 1]]",
        ("test_task.py",),
        (TASK, STEPS),
    ),
    Mutant(
        "facts are the inverse permutation",
        "index",
        "data/task.py",
        'permutation = np.argsort(stream(seed, "permutation").random(setting.vocab), kind="stable")',
        'permutation = np.argsort(np.argsort(stream(seed, "permutation").random(setting.vocab), kind="stable"))',
        ("test_task.py",),
        (TASK, STEPS),
    ),
    Mutant(
        "W_in is divided by s^2 instead of s",
        "factor",
        "data/task.py",
        "table / np.sqrt(setting.mlp_input_scale)",
        "table / setting.mlp_input_scale",
        ("test_task.py",),
        (MLP,),
    ),
    Mutant(
        "sphere: columns are normalised, not rows",
        "swapped axis",
        "data/embeddings.py",
        "part / np.linalg.norm(part, axis=1, keepdims=True)",
        "part / np.linalg.norm(part, axis=0, keepdims=True)",
        ("test_task.py",),
        (EMBEDDINGS,),
    ),
    Mutant(
        "orthogonal frames keep the routine's signs",
        "sign",
        "data/embeddings.py",
        "q * r.diag().sign()",
        "q",
        ("test_task.py",),
        # a change of signs is a rotation of the frame, which no outcome sees
    ),
    Mutant(
        "softmax over the batch",
        "swapped axis",
        "model/transformer.py",
        "keys @ (self.key_query @ self.query), dim=1",
        "keys @ (self.key_query @ self.query), dim=0",
        ("test_oracle.py", "test_descent.py"),
        (STEPS,),
    ),
    Mutant(
        "the trigger lowers the score",
        "sign",
        "model/attention.py",
        "add_at(take(scores.tokens, sequences.tokens), sequences.positions, scores.trigger)",
        "add_at(take(scores.tokens, sequences.tokens), sequences.positions, -scores.trigger)",
        ("test_oracle.py", "test_evaluation.py"),
        (STEPS,),
    ),
    Mutant(
        "zero scores weigh 1/N instead of 1/L",
        "swapped axis",
        "model/attention.py",
        "1 / shape[1]",
        "1 / shape[0]",
        ("test_oracle.py", "test_descent.py"),
        (STEPS,),
    ),
    Mutant(
        "labels are centred within themselves",
        "swapped axis",
        "data/residuals.py",
        "outputs.mean(dim=0)",
        "outputs.mean(dim=1, keepdim=True)",
        ("test_oracle.py",),
        (STEPS,),
    ),
    Mutant(
        "the MLP's pull-back forgets 1/sqrt(m)",
        "factor",
        "training/gradients.py",
        "pullback(cotangent / scale)",
        "pullback(cotangent)",
        ("test_oracle.py",),
        # in the limit attention does not see the size of its scores, and no chapter has an MLP at finite rates
    ),
    Mutant(
        "pulls move away from their mean",
        "sign",
        "training/early_phase.py",
        "raised -= raised.mean(dim=1, keepdim=True)",
        "raised += raised.mean(dim=1, keepdim=True)",
        ("test_oracle.py",),
        (STEPS, GRADIENTS),
    ),
    Mutant(
        "a block of labels starts one label late",
        "off by one",
        "training/early_phase.py",
        "edges[first - 1] if first else 0",
        "edges[first] if first else 0",
        ("test_oracle.py",),
        # in the chapters one block holds all labels
    ),
    Mutant(
        "the third step uses the first rate",
        "factor",
        "training/descent.py",
        "value1 + gamma * step3.value",
        "value1 + eta * step3.value",
        ("test_oracle.py",),
        (STEPS,),
    ),
    Mutant(
        "token 0 found with its trigger loses it",
        "off by one",
        "training/early_phase.py",
        "(codes >= vocab)",
        "(codes > vocab)",
        ("test_evaluation.py",),
        (STEPS,),
    ),
    Mutant(
        "a wrong label more competes",
        "off by one",
        "memories/associative.py",
        "(facts - 1) * _log_cdf",
        "facts * _log_cdf",
        ("test_associative.py",),
        (EMBEDDINGS,),
    ),
    Mutant(
        "interference from n - 1 facts",
        "off by one",
        "memories/expressions.py",
        "(n - 2) / d**2",
        "(n - 1) / d**2",
        ("test_associative.py",),
        (EMBEDDINGS,),
    ),
    Mutant(
        "a wrong label keeps the part along the others",
        "factor",
        "memories/expressions.py",
        "(1 - 1 / (n - 1)) * (answer",
        "1 * (answer",
        ("test_associative.py",),
        (EMBEDDINGS,),
    ),
    Mutant(
        "n other facts, not n - 1",
        "off by one",
        "memories/expressions.py",
        "total = (n - 1) * a / d",
        "total = n * a / d",
        ("test_associative.py",),
        (EMBEDDINGS,),
    ),
    Mutant(
        "length of the others: V for V - 1 degrees of freedom",
        "off by one",
        "theory/symbolic/recall.py",
        "(1 + 2 / (V - 1)) - 1",
        "(1 + 2 / V) - 1",
        ("test_associative.py",),
        (EMBEDDINGS,),
    ),
    Mutant(
        "the asked token's pull is forgotten",
        "factor",
        "memories/expressions.py",
        "a / d * pull**2",
        "0 * pull**2",
        ("test_associative.py",),
        (EMBEDDINGS,),
    ),
    Mutant(
        "he2 is divided by 2 instead of sqrt(2)",
        "factor",
        "activations.py",
        "(x * x - 1) / math.sqrt(2)",
        "(x * x - 1) / 2",
        ("test_oracle.py", "test_evaluation.py"),
        (MLP,),
    ),
    Mutant(
        "coherence: half as many pairs",
        "factor",
        "data/coherence.py",
        "2 * np.log(probability)",
        "np.log(probability)",
        ("test_coherence.py",),
        (EMBEDDINGS,),
    ),
    Mutant(
        "largest count: one more",
        "off by one",
        "data/baselines.py",
        "1 - at_most[:-1]",
        "1 - at_most[1:]",
        ("test_baselines.py",),
        (TASK,),
    ),
    Mutant(
        "the deviation is that of a population",
        "factor",
        "analysis/intervals.py",
        "sample.std(ddof=1)",
        "sample.std(ddof=0)",
        ("test_intervals.py",),
        (TASK, EMBEDDINGS, STEPS),
    ),
    Mutant(
        "spectral moments count one crossing too many",
        "index",
        "theory/symbolic/lock_on.py",
        "sp.binomial(power, j - 1) / power",
        "sp.binomial(power, j - 1) / j",
        ("test_prediction.py",),
        (LOCK_ON, TERMS),
    ),
    Mutant(
        "label noise does not help the trigger",
        "sign",
        "theory/symbolic/lock_on.py",
        "(1 - 1 / V) + tau * T * label_square() / N)",
        "(1 - 1 / V) - tau * T * label_square() / N)",
        ("test_prediction.py",),
        (LOCK_ON,),
    ),
    Mutant(
        "gradient noise forgets the length",
        "factor",
        "theory/symbolic/lock_on.py",
        "count_noise = 1 / (N * L)",
        "count_noise = 1 / N",
        ("test_prediction.py",),
        (LOCK_ON,),
    ),
    Mutant(
        "shared part keeps its mean",
        "sign",
        "theory/symbolic/recall.py",
        "asked = (n * H - theta * mu)",
        "asked = (n * H + theta * mu)",
        ("test_prediction.py",),
        (RECALL,),
    ),
    Mutant(
        "predicted lock against one rival less",
        "factor",
        "theory/lock_on.py",
        "math.expm1((setting.seq_len - 1) *",
        "math.expm1((setting.seq_len / 2) *",
        ("test_prediction.py",),
        (LOCK_ON,),
    ),
    Mutant(
        "neurons that all agree",
        "factor",
        "theory/symbolic/lock_on.py",
        "(R * neurons / N) ** 2 * d * epsilon",
        "(R * neurons / N) ** 2 * epsilon",
        ("test_mlp_theory.py",),
        (MLP,),
    ),
    Mutant(
        "facts with the same label overlap too much near zero",
        "factor",
        "theory/feature_kernels.py",
        "(shared + 1 / seq_len**2) / (a * scale)",
        "(shared + 1 / seq_len) / (a * scale)",
        ("test_mlp_theory.py",),
        (MLP,),
    ),
    Mutant(
        "half the finite-width scatter",
        "factor",
        "theory/feature_kernels.py",
        "np.maximum(total - smooth, 0)",
        "np.maximum(total - smooth, 0) / 2",
        ("test_mlp_theory.py",),
        (MLP,),
    ),
    Mutant(
        "normal density of variance one half",
        "factor",
        "theory/hermite.py",
        "np.exp(-(x**2) / 2)",
        "np.exp(-(x**2))",
        ("test_hermite.py",),
        (MLP,),
    ),
    Mutant(
        "a tie earns as much as a win",
        "left out",
        "model/ties.py",
        "[:, 0].double() / best.sum(dim=1)",
        "[:, 0].double()",
        ("test_ties.py", "test_evaluation.py"),
        (STEPS,),
    ),
    Mutant(
        "rounding decides among equal logits",
        "factor",
        "model/ties.py",
        "torch.finfo(dtype).eps ** (2 / 3)",
        "0.0 * torch.finfo(dtype).eps",
        ("test_ties.py", "test_metamorphic.py"),
        (STEPS,),
    ),
    Mutant(
        "assignment looks for the smallest sum",
        "sign",
        "bounds/decoding.py",
        "maximize=True",
        "maximize=False",
        ("test_decoding.py",),
        (LOWER,),
    ),
    Mutant(
        "exchanges neglect the interference",
        "factor",
        "bounds/decoding.py",
        "- 0.5 * torch.cdist(facts, facts)",
        "- 0.0 * torch.cdist(facts, facts)",
        ("test_decoding.py",),
        (READERS,),
    ),
    Mutant(
        "a larger reading error tells more",
        "sign",
        "bounds/expressions.py",
        "frequency_square() / reading)",
        "frequency_square() * reading)",
        ("test_readings.py",),
        (LOWER,),
    ),
    Mutant(
        "labels that do not occur fill directions",
        "left out",
        "bounds/information.py",
        "min(ranks[0], samples) * ranks[1]",
        "ranks[0] * ranks[1]",
        ("test_readings.py",),
        (LOWER_PROOFS,),
    ),
    Mutant(
        "no unseen fact may be guessed",
        "off by one",
        "bounds/coverage.py",
        "return (1 - accuracy) * vocab + 1",
        "return (1 - accuracy) * vocab + 1e-9",
        ("test_readings.py",),
        (LOWER,),
    ),
    Mutant(
        "spare facts enter the wrong way",
        "factor",
        "bounds/coverage.py",
        "float(root * (root + spare))",
        "float(root * root + spare)",
        ("test_readings.py",),
    ),
    Mutant(
        "the smaller need is enough",
        "sign",
        "bounds/coverage.py",
        "return max(told,",
        "return min(told,",
        ("test_readings.py",),
        (LOWER,),
    ),
    Mutant(
        "always so many facts take no more nats than on average",
        "left out",
        "bounds/information.py",
        "gammaln(whole_facts(vocab, accuracy) + 1)",
        "gammaln(whole_facts(vocab, accuracy))",
        ("test_readings.py",),
    ),
    Mutant(
        "the reading error counts the informative token",
        "off by one",
        "bounds/lattice.py",
        "scale * (setting.seq_len - 1) ** 0.5",
        "scale * setting.seq_len**0.5",
        ("test_readings.py",),
        (READERS,),
    ),
    Mutant(
        "the reading error enters by its variance",
        "factor",
        "experiments/lower_bounds/readings.py",
        "math.sqrt(error) * w",
        "error * w",
        ("test_readings.py",),
        (READERS,),
    ),
    Mutant(
        "a reader's own sequences have a token too many",
        "off by one",
        "bounds/moments.py",
        "others = problem.setting.seq_len - 1",
        "others = problem.setting.seq_len",
        ("test_decoding.py",),
        (LOWER_PROOFS,),
    ),
    Mutant(
        "features are divided by their second moment",
        "factor",
        "bounds/decoding.py",
        "sizes[keep].sqrt()",
        "sizes[keep]",
        ("test_decoding.py",),
        (LOWER_PROOFS,),
    ),
    Mutant(
        "the informative token counts as noise",
        "off by one",
        "bounds/expressions.py",
        "N / (L - 1) * (1 - pair_mean())",
        "N / L * (1 - pair_mean())",
        ("test_bounds.py",),
        (LOWER,),
    ),
    Mutant(
        "counts of another number of sequences are used again",
        "left out",
        "sweeps/paired.py",
        "if self._counted is None or self._counted[0] != samples:",
        "if self._counted is None:",
        ("test_paired.py",),
    ),
    Mutant(
        "keys forget the version of the draws",
        "left out",
        "sweeps/point.py",
        'json.dumps({"scheme": SCHEME, **given}',
        "json.dumps({**given}",
        ("test_point.py",),
    ),
    Mutant(
        "keys forget what is false",
        "left out",
        "sweeps/point.py",
        "if value is not None}",
        "if value}",
        ("test_point.py",),
    ),
    Mutant(
        "rows are stored without their transaction",
        "left out",
        "sweeps/store.py",
        "        with self._told(), self._connection:\n            self._connection.executemany(",
        "        with self._told():\n            self._connection.executemany(",
        ("test_store.py",),
    ),
    Mutant(
        "checksums are not compared",
        "left out",
        "sweeps/store.py",
        " or _checksum(key, point, outcome, error) != checksum",
        "",
        ("test_store.py",),
    ),
    Mutant(
        "failures are run again unasked",
        "left out",
        "sweeps/run.py",
        "done = kept.keys(failed=False if retry else None)",
        "done = kept.keys(failed=False)",
        ("test_sweep.py",),
    ),
    Mutant(
        "intervals as if there were many seeds",
        "factor",
        "analysis/critical.py",
        "stats.t.ppf(0.975, seeds - 1)",
        "stats.norm.ppf(0.9)",
        ("test_critical.py",),
    ),
    Mutant(
        "the search does not test its lower end",
        "left out",
        "theory/search.py",
        "while low == high or holds(low):",
        "while low == high:",
        ("test_critical.py",),
    ),
    Mutant(
        "the search ends one size too low",
        "off by one",
        "theory/search.py",
        "low, high = (low, middle) if holds(middle) else (middle, high)",
        "low, high = (low, middle) if holds(middle + 1) else (middle, high)",
        ("test_critical.py",),
    ),
    Mutant(
        "sizes may be zero",
        "off by one",
        "arguments.py",
        "def check_size(field: str, value: Any, smallest: int = 1)",
        "def check_size(field: str, value: Any, smallest: int = 0)",
        ("test_setting.py",),
    ),
    Mutant(
        "orthogonal embeddings interfere",
        "left out",
        "theory/values.py",
        'return FAR if setting.embeddings == "orthogonal" else float(setting.dim)',
        "return float(setting.dim)",
        ("test_prediction.py",),
    ),
    Mutant(
        "the mark in the values is half as long to the MLP",
        "factor",
        "setting.py",
        "return 2.0 if self.trigger_in_values else 1.0",
        "return 1.0 if self.trigger_in_values else 1.0",
        ("test_task.py",),
        (MLP,),
    ),
    Mutant(
        "attention's covariance loses its mean",
        "sign",
        "derivations/gradients.py",
        "(sp.diag(*weights) - weights * weights.T)",
        "(sp.diag(*weights) + weights * weights.T)",
        ("test_symbolic_gradients.py",),
        (ROUTES,),
    ),
    Mutant(
        "half a Gaussian's moment is a whole one's",
        "factor",
        "derivations/hermite.py",
        "2 ** (sp.Rational(power, 2) - 1)",
        "2 ** sp.Rational(power, 2)",
        ("test_hermite.py",),
        (MLP_IN_DETAIL,),
    ),
    Mutant(
        "softmax weight of L others",
        "off by one",
        "experiments/three_steps/rates.py",
        "marked / (marked + seq_len - 1)",
        "marked / (marked + seq_len)",
        ("test_experiments.py",),
    ),
    Mutant(
        "the mean embedding is not projected out",
        "left out",
        "experiments/lock_on/scores.py",
        "torch.stack([t, z.T @ (z @ t), z.T @ (z @ mean)], dim=1)",
        "torch.stack([t, z.T @ (z @ t)], dim=1)",
        ("test_lock_on.py",),
    ),
    Mutant(
        "the wrong label's own fact counts as interference",
        "left out",
        "experiments/recall/origins.py",
        '"interference": other @ labels.T - own_fact,',
        '"interference": other @ labels.T,',
        ("test_recall.py",),
    ),
    Mutant(
        "a fact seen rarely has a signal",
        "sign",
        "experiments/recall/by_hand.py",
        "setting.vocab / setting.samples - flag",
        "setting.vocab / setting.samples + flag",
        ("test_recall.py",),
        (RECALL,),
    ),
    Mutant(
        "the best rate is the worst",
        "sign",
        "experiments/recall/finite_rates.py",
        "limit - 2 * mean * rate * first * limit",
        "limit + 2 * mean * rate * first * limit",
        ("test_recall.py",),
        (FINITE_RATES,),
    ),
    Mutant(
        "features are centred within themselves",
        "swapped axis",
        "experiments/mlp/features.py",
        "features = features - features.mean(dim=0)",
        "features = features - features.mean(dim=1, keepdim=True)",
        ("test_mlp_experiments.py",),
        (MLP,),
    ),
    Mutant(
        "thresholds count the step after",
        "off by one",
        "experiments/lower_bounds/estimators.py",
        "return size if step == 0 else before ** (1 - part) * size**part",
        "return size",
        ("test_bounds.py",),
    ),
    Mutant(
        "the law of one gradient forgets the other facts",
        "left out",
        "experiments/scaling/one_step.py",
        "L * V**2 * kappa**2 / N + V / d**2",
        "L * V**2 * kappa**2 / N",
        ("test_scaling.py", "test_does_it_multiply.py"),
        (SCALING, LAWS_IN_DETAIL),
    ),
    Mutant(
        "longer sequences are confirmed to be no harder",
        "sign",
        "claims/checks_scaling.py",
        "if found.exponent.low <= 0:",
        "if found.exponent.low >= 0:",
        ("test_claims.py",),
        (CLAIMS_ON_SCALING,),
    ),
    Mutant(
        "a product may miss anything",
        "sign",
        "claims/checks_products.py",
        "holds = [found.misses < WITHIN, found",
        "holds = [found.misses > WITHIN, found",
        ("test_claims.py",),
        (CLAIMS, CLAIMS_ON_SCALING),
    ),
    Mutant(
        "contradicted claims count as untested",
        "left out",
        "claims/register.py",
        "(CONTRADICTED if claim.against else UNTESTED)",
        "UNTESTED",
        ("test_claims.py",),
        (OTHER_CLAIMS,),
    ),
    Mutant(
        "training on one batch is taken for fresh batches",
        "sign",
        "experiments/scaling/longer_training.py",
        'frame["batch"].notna(), "fresh batches"',
        'frame["batch"].isna(), "fresh batches"',
        ("test_scaling.py",),
        (SCALING, LONGER),
    ),
    Mutant(
        "the wall of the envelope is that of accuracy 0.9",
        "left out",
        "experiments/scaling/envelope.py",
        "critical_dim(VOCAB, False, LEVEL)",
        "critical_dim(VOCAB, False)",
        ("test_does_it_multiply.py",),
    ),
    Mutant(
        "product laws are tested on the sum of both effects",
        "sign",
        "analysis/product_law.py",
        "left = mean - mean.mean(axis=0)",
        "left = mean + mean.mean(axis=0)",
        ("test_critical.py",),
        (SCALING,),
    ),
    Mutant(
        "coverage is asked with vocabulary and sequences exchanged",
        "swapped axis",
        "commands/predicting.py",
        "covered_accuracy(setting.vocab, setting.samples)",
        "covered_accuracy(setting.samples, setting.vocab)",
        ("test_command_line.py",),
    ),
    Mutant(
        "plans say what three times the size is worth",
        "factor",
        "analysis/plan.py",
        "{name: 2 * getattr(chosen, name)}",
        "{name: 3 * getattr(chosen, name)}",
        ("test_plan.py",),
    ),
    Mutant(
        "the number to beat leaves out the token's own score",
        "left out",
        "analysis/thresholds.py",
        "log_ndtr(NODES + ratio)",
        "log_ndtr(0 * NODES + ratio)",
        ("test_laws.py",),
    ),
]


class Run(NamedTuple):
    """Whether pytest found a failure, and how long it took; ``label`` is the chapter's number, or empty."""

    label: str
    failed: bool
    seconds: float


class Result(NamedTuple):
    """What the tests said about one mutant, or about the unchanged package if ``mutant`` is None."""

    mutant: Mutant | None
    unit: Run
    chapters: list[Run]

    @property
    def as_it_should_be(self) -> bool:
        return all(run.failed == (self.mutant is not None) for run in (self.unit, *self.chapters))


def mutated(mutant: Mutant, package: Path = ROOT / "recallbook") -> str:
    """The changed text of the mutant's file; raises unless the old text occurs exactly once."""
    text = (package / mutant.file).read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.name}: {mutant.old!r} occurs {text.count(mutant.old)} times in {mutant.file}")
    return text.replace(mutant.old, mutant.new)


def copy_package(folder: Path, mutant: Mutant | None) -> None:
    """Write the package into ``folder``, changed, and with a line that leaves a mark when the copy is imported."""
    package = folder / "recallbook"
    # without the caches: one of the unchanged file could be taken for that of the changed one
    shutil.copytree(ROOT / "recallbook", package, ignore=shutil.ignore_patterns("__pycache__"))
    if mutant is not None:
        (package / mutant.file).write_text(mutated(mutant))
    with (package / "__init__.py").open("a") as init:
        init.write("\nfrom pathlib import Path\n\n(Path(__file__).parent / 'imported').touch()\n")


def pytest_fails(mutant: Mutant | None, arguments: Iterable[str], label: str = "") -> Run:
    """Run pytest on a copy of the package, in a process that has the large libraries already."""
    # pytest-xdist and pytest tell the processes they start about themselves, which is not meant for this one
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    with tempfile.TemporaryDirectory() as folder:
        copy_package(Path(folder), mutant)
        # no other folder may come first: neither the current one (-P) nor that of the installed package
        environment |= {"PYTHONPATH": folder, "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
        output = Path(folder) / "output"
        start = time.perf_counter()
        arguments = ["pytest", "-x", "-q", "-p", "no:cacheprovider", *arguments]
        status = preloaded.run(arguments, ROOT, environment, output)
        seconds = time.perf_counter() - start
        # a change that cannot be imported or collected shows nothing about the tests: only 0 and 1 are verdicts
        if status not in (0, 1) or "ERROR collecting" in output.read_text():
            raise RuntimeError(f"{mutant}: pytest ended with {status}\n{output.read_text()}")
        if not (Path(folder) / "recallbook" / "imported").exists():
            raise RuntimeError(f"{mutant}: the changed copy was not imported\n{output.read_text()}")
    return Run(label, status == 1, seconds)


def examine(mutant: Mutant | None, tests: Iterable[str], chapters: Iterable[str]) -> Result:
    """Unit tests together; chapters one by one, since each has to notice by itself."""
    unit = pytest_fails(mutant, [f"tests/{name}" for name in tests])
    runs = [pytest_fails(mutant, ["--nbval", f"notebooks/{name}.ipynb"], name[:2]) for name in chapters]
    return Result(mutant, unit, runs)


def examine_all(mutants: list[Mutant], workers: int, control: bool = True) -> Iterator[Result]:
    """Results in order, the control first."""
    jobs: list[tuple[Mutant | None, Iterable[str], Iterable[str]]] = [(m, m.tests, m.chapters) for m in mutants]
    if control:
        tests, chapters = {name for m in mutants for name in m.tests}, {name for m in mutants for name in m.chapters}
        jobs.insert(0, (None, sorted(tests), sorted(chapters)))
    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda job: examine(*job), jobs)


def line(result: Result) -> str:
    """One line of the table."""
    if result.mutant is None:
        name, kind, file, words = "control: no change", "-", "-", ("passed", "FAILED")
    else:
        name, kind, file, words = *result.mutant[:3], ("SURVIVED", "caught")
    unit, *chapters = (
        f"{run.label} {words[run.failed]} {run.seconds:.0f} s".strip() for run in (result.unit, *result.chapters)
    )
    return f"{name:<46} {kind:<13} {file:<15} {unit:<15} {', '.join(chapters) or UNCHANGED}"


def report(mutants: list[Mutant], workers: int = 1, control: bool = True) -> int:
    """Print the table; 0 if every mutant was caught and the control passed, else 1."""
    print(f"{'mutant':<46} {'kind':<13} {'file':<15} {'unit tests':<15} nbval, by chapter", flush=True)
    wrong = 0
    for result in examine_all(mutants, workers, control):
        print(line(result), flush=True)
        wrong += not result.as_it_should_be
    print(f"{len(mutants)} mutants: " + (f"{wrong} lines are not as they should be" if wrong else "all were caught"))
    return int(wrong > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="only mutants whose name or file holds one of these words")
    parser.add_argument("--workers", type=int, default=2, help="mutants examined at a time")
    options = parser.parse_args()
    chosen = [m for m in MUTANTS if not options.words or any(w in f"{m.name} {m.file}" for w in options.words)]
    return report(chosen, options.workers)


if __name__ == "__main__":
    sys.exit(main())
