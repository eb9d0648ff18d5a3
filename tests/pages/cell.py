#!/usr/bin/env python3
"""Write cell.onnx, a recurrent cell whose states are inputs and outputs, with PyTorch.

    cell.py
"""

import pathlib

import torch


class Cell(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.lstm = torch.nn.LSTM(4, 3, batch_first=True)
        self.out = torch.nn.Linear(3, 1)

    def forward(self, x, h, c):
        y, (hn, cn) = self.lstm(x, (h, c))
        return torch.sigmoid(self.out(y)), hn, cn


torch.onnx.export(Cell(), (torch.zeros(1, 5, 4), torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)),
                  pathlib.Path(__file__).with_name("cell.onnx"), dynamo=False,
                  input_names=["x", "h", "c"], output_names=["y", "hn", "cn"],
                  dynamic_axes={"x": {1: "T"}, "y": {1: "T"}})
