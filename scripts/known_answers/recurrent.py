"""Answers for the steps and loops of recurrent layers, from their definitions."""

import numpy as np

from cases import FLOAT, case, f32, literal, sigmoid, wide


def cells():
    x, c = f32(2, 12), f32(2, 3)
    i, o, fg, g = np.split(wide(x), 4, 1)
    new_c = sigmoid(fg) * c + sigmoid(i) * np.tanh(g)
    case("LstmEpilogueHasGatesInOrderIofc",
         "(y, z) = tract_core_lstm_epilogue(x, c, hidden = 3);", {"x": x, "c": c},
         [(sigmoid(o) * np.tanh(new_c)).astype(np.float32), new_c.astype(np.float32)], FLOAT)
    x, r, h = f32(2, 9), f32(2, 9), f32(2, 3)
    (xz, xr, xh), (rz, rr, rh) = np.split(wide(x), 3, 1), np.split(wide(r), 3, 1)
    n = np.tanh(xh + sigmoid(xr + rr) * rh)
    case("GruEpilogueHasGatesInOrderZrh", "y = tract_core_gru_epilogue(x, r, h, hidden = 3);",
         {"x": x, "r": r, "h": h}, (n + sigmoid(xz + rz) * (h - n)).astype(np.float32), FLOAT)


def gru_sequences():
    x, w, r = f32(2, 4, 3), f32(6, 3), f32(6, 2)
    biases, first = f32(12), f32(2, 1, 2)

    def gru(steps, xw, rb):
        h, y = wide(first)[:, 0], np.zeros((2, 4, 2))
        for t in steps:
            (xz, xr, xh), (rz, rr, rh) = np.split(xw[:, t], 3, 1), np.split(h @ r.T + rb, 3, 1)
            n = np.tanh(xh + sigmoid(xr + rr) * rh)
            h = n + sigmoid(xz + rz) * (h - n)
            y[:, t] = h
        return [y.astype(np.float32), h[:, None].astype(np.float32)]

    inputs = {"x": x, "w": w, "r": r, "h": first}
    weights = f"r = {literal(r)}, initial_h = h, hidden = 2"
    case("GruSeqRunsForwards", f"(y, z) = tract_core_gru_seq(x = x, w = w, b = b, {weights},"
         " chunk = 1, has_bias = 1);", {**inputs, "b": biases},
         gru(range(4), wide(x) @ w.T + biases[:6], biases[6:]), FLOAT)
    case("GruSeqRunsBackwards", f"(y, z) = tract_core_gru_seq(x = x, w = w, {weights}, chunk = -1,"
         " reset_every_turn = 1);", inputs, gru(range(3, -1, -1), wide(x) @ w.T, 0), FLOAT)
    ready = f32(2, 4, 6)
    case("GruSeqTakesProducts", f"(y, z) = tract_core_gru_seq(x = x, {weights}, chunk = 1,"
         " projected = 1);", {"x": ready, "h": first}, gru(range(4), wide(ready), 0), FLOAT)
