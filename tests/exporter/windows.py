#!/usr/bin/env python3
"""Export layers that read the whole stream, run them over windows, and compare with PyTorch.

usage: windows.py RILL [--seed N]

RILL is the program. PyTorch runs each module in f64 over every window, a slice of the input padded with zeros
on both sides. `rill --window` must give the middle frames of each window. So must the model that
`rill compile --window` writes, also if its state is saved and loaded. Exit status 1 if anything differs;
77 without PyTorch or torch_to_nnef.
"""

import argparse
import copy
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    from streams import exported
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

FEATURES = 6


class Bidirectional(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer(FEATURES, 5, num_layers=2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.layer(x)[0]


class Attention(torch.nn.Module):
    """Attention of every frame to all frames."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (torch.nn.Linear(FEATURES, FEATURES) for _ in range(3))

    def forward(self, x):
        weights = torch.softmax(self.q(x) @ self.k(x).transpose(1, 2) / FEATURES**0.5, dim=-1)
        return x + weights @ self.v(x)


class Normalised(torch.nn.Module):
    """A norm over time and channels, after a convolution that halves the rate."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv1d(FEATURES, 4, 4, stride=2, padding=1)

    def forward(self, x):
        y = self.conv(x.transpose(1, 2))
        y = y - y.mean(dim=(1, 2), keepdim=True)
        y = y / torch.sqrt((y * y).mean(dim=(1, 2), keepdim=True) + 1e-3)
        return torch.relu(y).transpose(1, 2)


class Score(torch.nn.Module):
    """One score for the whole input, so one row per window."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(FEATURES, 3)

    def forward(self, x):
        return torch.softmax(self.layer(x).mean(dim=1), dim=-1)


# Modules, with input frames per output frame; None: one row per window.
CASES = (
    ("bilstm", lambda: Bidirectional(torch.nn.LSTM), 1),
    ("bigru", lambda: Bidirectional(torch.nn.GRU), 1),
    ("attention", Attention, 1),
    ("norm", Normalised, 2),
    ("score", Score, None),
)


def expected(module, x, left, step, right, rate):
    """Return the middle frames of all windows, in f64."""
    frames = x.shape[1]
    rows = []
    at = 0
    while True:
        begin = (at + 1) * step - left - step - right
        window = np.zeros((1, left + step + right, FEATURES))
        low, high = max(begin, 0), min(begin + window.shape[1], frames)
        if low < high:
            window[:, low - begin:high - begin] = x[:, low:high]
        with torch.no_grad():
            y = module(torch.from_numpy(window)).numpy()
        if rate is None:
            rows.append(y[None])
            if len(rows) == -(-frames // step):
                return np.concatenate(rows, axis=0)
        else:
            rows.append(y[:, left // rate:(left + step) // rate])
            if (at + 1) * step - right >= frames:
                y = np.concatenate(rows, axis=1)[:, right // rate:]
                return y[:, :frames // rate]
        at += 1


class Runner:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.failed = 0

    def rill(self, *args):
        done = subprocess.run([self.program, *map(str, args)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"rill {' '.join(map(str, args))}: {done.stderr}")

    def streamed(self, *model):
        out = self.folder / "out.npz"
        self.rill(*model, "stream", "--filler", "nan", "--input-from-bundle",
                  self.folder / "in.npz", "--save-outputs", out, "-q")
        with np.load(out) as arrays:
            return arrays["output_0"]

    def parts(self, model, x, cut):
        """Stream in two processes; the second continues from the saved state."""
        state, parts = self.folder / "state", []
        for i, part in enumerate((x[:, :cut], x[:, cut:])):
            np.savez(self.folder / "in.npz", input_0=part)
            out = self.folder / "out.npz"
            how = ["--load-state", state] if i else ["--save-state", state]
            self.rill(*model, "stream", *how, "--input-from-bundle", self.folder / "in.npz",
                      "--save-outputs", out, "-q")
            with np.load(out) as arrays:
                parts.append(arrays["output_0"])
        return parts

    def compare(self, what, got, want):
        # Outputs have magnitudes of a few units, and f32 rounds each of several hundred additions.
        good = got.shape == want.shape and np.abs(got - want).max(initial=0) <= 2e-5
        if not good:
            self.failed += 1
            far = np.abs(got - want).max() if got.shape == want.shape else "other shapes"
            print(f"{what}: {far}, {got.shape} for {want.shape}", flush=True)

    def case(self, name, module, rate, dice):
        path = exported(copy.deepcopy(module), [(1, "S", FEATURES)], self.folder, 0)
        module = module.double()
        unit = rate or 1
        for _ in range(4):
            left, right = (unit * dice.randrange(12) for _ in range(2))
            step = unit * dice.randrange(1, 9)
            window = f"S={left},{step},{right}"
            compiled = self.folder / "model.rill"
            self.rill("compile", path, "--window", window, "-o", compiled, "--seconds", "0.2")
            for frames in (unit, step, 3 * step, unit * dice.randrange(1, 40)):
                x = np.random.default_rng(dice.randrange(1 << 30)).normal(
                    size=(1, frames, FEATURES)).astype(np.float32)
                np.savez(self.folder / "in.npz", input_0=x)
                want = expected(module, x, left, step, right, rate)
                label = f"{name}, {window}, {frames} frames"
                self.compare(label, self.streamed(path, "--window", window), want)
                self.compare(f"{label}, compiled", self.streamed(compiled), want)
                if frames < 2 * step:
                    continue
                axis = 0 if rate is None else 1
                parts = self.parts([path, "--window", window], x, step)
                self.compare(f"{label}, saved", np.concatenate(parts, axis=axis), want)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rill")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.rill, pathlib.Path(folder))
        for name, make, rate in CASES:
            runner.case(name, make().eval(), rate, random.Random(f"{options.seed} {name}"))
            print(f"{name}: done", flush=True)
    print(f"{runner.failed} differ")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
