"""Shared code of the lists of modules: a function as a module, and random inputs."""

import torch
from torch import nn


class Fn(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


class Cases(list):
    """A list of cases (name, module, inputs, open axes, options), or (name, function that returns module,
    inputs and open axes, None, None, options).

    Open axes are None, {1: "S"} for the first input, or {"input_1": {1: "S"}} by input. Options are those of
    the exporter's target.
    """

    def case(self, name, module, *inputs, axes=None, **options):
        if not isinstance(module, nn.Module):
            module = Fn(module)
        self.append((name, module.eval(), inputs, axes, options))

    def made(self, name, make, **options):
        """Add a large case: a function that returns module, inputs and open axes."""
        self.append((name, make, None, None, options))


def noise(*shape, scale=1.0):
    return torch.randn(shape) * scale


def whole(*shape, low=0, high=9, dtype=torch.int64):
    return torch.randint(low, high, shape).to(dtype)


def chance(*shape):
    return torch.rand(shape) * 0.9 + 0.05
