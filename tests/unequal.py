"""Settings whose facts are not equal, and what their loss and bias mean, in plain Python."""

import numpy as np
import torch

import recallbook as rb

UNEQUAL = [
    {"zipf": 1.0},
    {"zipf": 1.0, "other_zipf": 0.0, "loss_weights": "inverse"},
    {"zipf": 1.0, "output_bias": "calibrated"},
    {"zipf": 0.5, "output_bias": "trained"},
    {"zipf": 1.5, "output_bias": "trained", "loss_weights": "inverse"},
    {"other_zipf": 1.0, "balanced": True, "output_bias": "trained"},
]


def weights_and_prediction(problem: rb.Problem) -> tuple[np.ndarray, np.ndarray]:
    """Loss weights and first prediction by label, from their definitions."""
    setting, labels = problem.setting, problem.labels.tolist()
    size = setting.vocab
    weights = [1.0] * size
    if setting.loss_weights == "inverse":
        weights = [
            len(labels) / (size * labels.count(k)) if k in labels else 0.0 for k in range(size)
        ]
    prediction = [1 / size] * size
    if setting.output_bias == "trained":
        total = sum(weights[k] for k in labels)
        prediction = [weights[k] * labels.count(k) / total for k in range(size)]
    elif (
        setting.output_bias == "calibrated"
        and setting.loss_weights == "equal"
        and not setting.balanced
    ):
        powers = [(v + 1) ** -setting.zipf for v in range(size)]
        for token, label in enumerate(problem.permutation.tolist()):
            prediction[label] = powers[token] / sum(powers)
    return np.array(weights), np.array(prediction)


def plain_loss(problem: rb.Problem, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """The mean weighted cross-entropy of logits without their bias, written out."""
    weights, prediction = (torch.from_numpy(x) for x in weights_and_prediction(problem))
    shifted = logits + prediction.log()
    losses = shifted.logsumexp(dim=1) - shifted.gather(1, labels[:, None])[:, 0]
    known = weights[labels] > 0
    return (weights[labels][known] * losses[known]).sum() / len(labels)
