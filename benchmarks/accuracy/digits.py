"""Handwritten digits: a small convolution network, trained here."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits

from accuracy.task import Task
from tvmlite import relay

EPOCHS, BATCH = 30, 64


def task() -> Task:
    """1,797 images of 8x8; three quarters are used to train the network, and 128 of those to calibrate it."""
    images, labels = load_digits(return_X_y=True)
    images = (images.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(images))
    cut = len(images) * 3 // 4
    train, test = order[:cut], order[cut:]
    module = _trained(images[train], labels[train])
    data = [{"x": images[train[k : k + 1]]} for k in range(128)]

    def score(lib: Any) -> float:
        right = [int(np.argmax(lib(images[k : k + 1]))) == labels[k] for k in test]
        return float(np.mean(right))

    def metric(run: Any) -> float:
        given = [int(np.argmax(run(one)[0])) for one in data]
        return float(np.mean(np.array(given) == labels[train[: len(data)]]))

    return Task(f"right answers of {len(test)}", module, data, score, 0.005, metric)


def _trained(images: np.ndarray, labels: np.ndarray) -> relay.Module:
    torch.manual_seed(0)
    nn = torch.nn
    layers = []
    for before, after in ((1, 32), (32, 32), (32, 64)):
        layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
    layers.insert(6, nn.MaxPool2d(2))
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(net.parameters(), 2e-3)
    given, wanted = torch.tensor(images), torch.tensor(labels)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(given)).split(BATCH):
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(given[part]), wanted[part]).backward()
            optimizer.step()
    net.eval()
    file = io.BytesIO()
    torch.onnx.export(net, (given[:1],), file, input_names=["x"], output_names=["y"], dynamo=False)
    return relay.frontend.from_onnx(file.getvalue())
