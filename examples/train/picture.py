# SPDX-License-Identifier: Apache-2.0
"""What the examples learn: the brightness of a picture at a place, a sun over the sea.

The picture is a formula, so there is nothing to download, and what a network has learnt of it can be looked at.
"""
import math

import torch

SIDE = 60  # pixels: 3,600 samples, which no power of two divides, so the last batch of an epoch is smaller
FREQUENCIES = (1, 2, 4)


def samples(dtype=torch.float32):
    """Inputs and targets of all pixels, row by row."""
    axis = ((torch.arange(SIDE, dtype=torch.float64) + 0.5) / SIDE) * 2 - 1
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    x, y = x.reshape(-1, 1), y.reshape(-1, 1)
    return _features(x, y).to(dtype), _brightness(x, y).to(dtype)


def network(width, dtype=torch.float32):
    features = 2 + 4 * len(FREQUENCIES)
    return torch.nn.Sequential(
        torch.nn.Linear(features, width), torch.nn.Tanh(),
        torch.nn.Linear(width, width), torch.nn.Tanh(),
        torch.nn.Linear(width, 1),
    ).to(dtype)


def write(path, net, inputs):
    """The picture as the network knows it, as PGM: most viewers show it."""
    with torch.no_grad():
        brightness = net(inputs).clamp(0, 1) * 255
    with open(path, "wb") as file:
        file.write(f"P5 {SIDE} {SIDE} 255\n".encode())
        file.write(bytes(brightness.round().to(torch.uint8).flatten().tolist()))


def _features(x, y):
    """Waves of a few lengths beside the place itself: without them a small network learns edges slowly."""
    columns = [x, y]
    for frequency in FREQUENCIES:
        for place in (x, y):
            columns += [torch.sin(math.pi * frequency * place), torch.cos(math.pi * frequency * place)]
    return torch.cat(columns, dim=1)


def _brightness(x, y):
    distance = torch.sqrt((x - 0.3) ** 2 + (y + 0.35) ** 2)
    disc = torch.sigmoid((0.35 - distance) * 25)
    ring = torch.sigmoid((distance - 0.4) * 20) * torch.sigmoid((0.7 - distance) * 20)
    rays = ring * (0.125 + 0.125 * torch.cos(8 * torch.atan2(y + 0.35, x - 0.3)))
    is_sea = torch.sigmoid((y - 0.35 - 0.12 * torch.sin(7 * x)) * 25)
    sea = 0.35 + 0.25 * torch.sin(14 * y + 3 * x)
    return (disc + rays) * (1 - is_sea) + sea * is_sea
