"""Call every function with random invalid arguments: nonsense.py FOLDER SEED CALLS. Exit status 0: no crash.

FOLDER is where a model is written. Exceptions of every kind are fine.
"""

import contextlib
import faulthandler
import gc
import pathlib
import random
import sys
import warnings

import numpy as np
import rill
from rill import _rill

GRAPH = """version 1.0;
extension tract_registry tract_core;
extension tract_symbol S;
graph network(a, b, k) -> (y, z)
{
  a = tract_core_external(shape = [2, S], datum_type = 'f32');
  b = tract_core_external(shape = [S, 3], datum_type = 'i64');
  k = tract_core_external(shape = [], datum_type = 'f32');
  y = unsqueeze(a, axes = [2]) * k;
  z = b + 1;
}
"""
# Methods that write files, end the connection to the process, or are slow by design.
LEFT_ALONE = {"_end", "save", "to_nnef", "audit", "check", "__reduce__"}
SPECIAL = {"__call__", "__init__", "__enter__", "__exit__", "__repr__", "__getstate__"}


class Game:
    def __init__(self, folder, seed):
        self.folder = pathlib.Path(folder)
        (self.folder / "graph.nnef").write_text(GRAPH)
        self.random = random.Random(seed)
        self.begin()

    def begin(self):
        self.model = rill.load(self.folder)
        self.stream = self.model.pulse("S", 4)
        self.stream.set("k", np.float32(2))
        self.values = self.all_values()

    def array_that_meddles(self):
        """Call the stream again, or close it, while one of its calls runs."""
        stream, a, b = self.stream, np.ones((2, 3), np.float32), np.ones((3, 3), np.int64)
        with contextlib.suppress(rill.Error):
            self.random.choice([stream.close, stream.reset, stream.finish, stream.clone, gc.collect,
                                lambda: stream.push(a, b), lambda: stream.set("k", 1.0)])()
        return self.random.choice([a, b, None, np.float32(1), np.ones((2, 3), object)])

    def all_values(self):
        game = self

        class Meddling:
            def __array__(self, dtype=None, copy=None):
                return game.array_that_meddles()

        class MeddlingDlpack:
            def __dlpack__(self, **options):
                return game.array_that_meddles()

            def __dlpack_device__(self):
                return 1, 0

        class Lying:
            def __index__(self):
                return game.random.choice([1, -1, 10 ** 30, "x", None])

            def __len__(self):
                return game.random.choice([0, 1, -1, 10 ** 9])

            def __getitem__(self, at):
                return game.random.choice(game.values)

            def __fspath__(self):
                return game.random.choice(game.values)

            def __str__(self):
                return game.random.choice(["x", 3])

            def __iter__(self):
                raise KeyError(3)

            def __float__(self):
                return float("nan")

        f32, i64 = np.ones((2, 5), np.float32), np.ones((5, 3), np.int64)
        arrays = [f32, i64, f32.astype(">f4"), f32[:, :0], f32[:, ::2], i64[::-1], f32.T, f32[0],
                  np.float32(1), np.int64(3), np.bool_(True), np.array("x"), np.zeros((0,) * 32),
                  np.broadcast_to(np.float32(1), (2, 1 << 40)), np.zeros((), "V0"),
                  np.broadcast_to(np.int64(1), (1 << 58, 3)), np.empty((2, 5), object),
                  f32.astype(np.float64), np.ma.ones((2, 5)), np.zeros((2, 3), "S3"),
                  np.zeros((2, 3), "M8[s]"), np.zeros((2, 3), [("x", "f4")])]
        self.arrays = arrays
        return arrays + [
            None, True, 0, 1, -1, 2 ** 31, 2 ** 63, 2 ** 64, 10 ** 40, 1.5, float("nan"),
            float("inf"), "", "S", "a", "b", "k", "a\0b", "\udc80", "auto", "auto:max=1", "auto:",
            "4" * 1000, "x" * 100_000, b"", b"x" * 100, bytearray(3), memoryview(b"abc")[::2], [],
            [[]], [[1.0] * 5] * 2, [1, [2]], (), {}, {"S": 4}, set(), object(), int, np, ...,
            range(5), iter([1]), 1 + 2j, Lying(), Meddling(), MeddlingDlpack(), self.stream,
            self.model, type("Raising", (), {"__array__": lambda self: 1 / 0})()]

    def objects(self):
        made = [rill.Model, rill.Stream, _rill.Model, _rill.Plan, _rill.Stream]
        return [self.model, self.stream, self.model._open, self.stream._plan, rill, _rill,
                rill.LatencyReport, rill.Profile, rill.CheckReport, rill.Error, rill.Io, *made,
                *[each.__new__(each) for each in made]]

    def push(self):
        """Make a nearly valid call of a stream, which gets past the first checks."""
        stream, pick = self.stream, self.random.choice
        a, b = np.ones((2, pick([0, 1, 9])), np.float32), np.ones((pick([0, 1, 9]), 3), np.int64)
        values = [pick([right, right, pick(self.arrays), pick(self.values)]) for right in (a, b)]
        pick([lambda: stream.push(*values), lambda: stream.push(b=values[1], a=values[0]),
              lambda: stream.run(*values), lambda: self.model(*values, 2.0),
              lambda: self.model(*values, pick(self.values)), stream.finish, stream.reset,
              lambda: setattr(stream, "state", stream.clone().state),
              lambda: stream.set("k", pick(self.values))])()

    def call(self):
        if self.random.random() < 0.5:
            return self.push()
        each = self.random.choice(self.objects())
        names = [name for name in dir(each)
                 if name not in LEFT_ALONE and (name[:2] != "__" or name in SPECIAL)]
        function = getattr(each, self.random.choice(names))
        if each is self.stream and self.random.random() < 0.1:
            each.state = self.random.choice(self.values)
        keys = ["a", "b", "k", "symbol", "pulse", "name", "value", "S"]
        named = {self.random.choice(keys): self.random.choice(self.values)
                 for _ in range(self.random.choice([0, 0, 0, 1, 2, 3]))}
        if "profile" in getattr(function, "__name__", ""):
            named["seconds"] = 0.001
        if callable(function):
            function(*self.random.choices(self.values, k=self.random.choice([0, 1, 1, 2, 2, 3])),
                     **named)


def main():
    faulthandler.enable()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    game, passed = Game(sys.argv[1], int(sys.argv[2])), 0
    for _ in range(int(sys.argv[3])):
        try:
            game.call()
            passed += 1
        except rill.InternalError:
            raise
        except Exception:
            if game.model._handle.__class__ is not _rill.Model or game.stream.closed:
                game.begin()
    # The package still works.
    stream = rill.load(game.folder).pulse("S", 4)
    stream.set("k", 2.0)
    y, z = stream.run(np.ones((2, 5), np.float32), np.ones((5, 3), np.int64))
    assert (y == 2).all() and (z == 2).all() and passed


if __name__ == "__main__":
    main()
