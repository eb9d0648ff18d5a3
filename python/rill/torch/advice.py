"""Replacements for lines that exporters get wrong or streams refuse."""

from __future__ import annotations

import re
from typing import Optional

from .places import Place

#: (classes of submodules, pattern of source lines, advice). The first match counts.
_ADVICE = (
    ("GRUCell|LSTMCell|RNNCell", r"\b\w+Cell\b|for .* in range\(.*(shape|size)",
     "A loop over frames is unrolled for the example's length: use nn.GRU, nn.LSTM or nn.RNN, or "
     "put the loop in torch.jit.script"),
    ("GroupNorm|InstanceNorm\\w*", r"\b(group|instance)_norm\b",
     "Statistics over all frames are known at the end: normalise each frame (nn.LayerNorm, or "
     "GroupNorm of [batch * time, features]), or by running sums, x.cumsum(1) / n"),
    ("", r"\.flip\(|\bflip\(|\[::-1\]",
     "Reversing time needs the last frame first: reverse other axes, or frames in the application"),
    ("", r"\bbidirectional=True", "Use one direction, or a window of frames to come"),
    ("", r"\.unfold\(",
     "Write windows as a convolution with an identity as its weight, or as slices side by side, "
     "torch.stack([x[:, i:i + n:step] ...])"),
    ("", r"\[\s*(:|\.\.\.)\s*,\s*-1\s*[\],]|\.select\(",
     "Write the last frame as y[:, -1:].squeeze(1), or take the last state of a recurrent layer"),
    ("", r"\.(std|var)\(",
     "Statistics over all frames are known at the end: take running sums, x.cumsum(1) / n and "
     "(x * x).cumsum(1) / n, or a window by avg_pool1d"),
    ("", r"\bint\(|\.item\(\)|\.tolist\(\)",
     "A number of Python is a constant of the example: keep it a tensor, or take x.shape[1]"),
    ("", r"\.(mean|amax|max|softmax)\(",
     "A reduction over all frames is known at the end: take running sums, x.cumsum(1) / n, or a "
     "window by avg_pool1d"),
    ("", r"\]\s*[-+*/|&]?=[^=]|\.(copy|mul|add|fill|masked_fill|index_put|scatter)_\(",
     "Exporters lose writes into slices: build the tensor by torch.cat, torch.stack or torch.where"),
    ("", r"\blengths?\b",
     "Give the example as a function of the sizes, so that lengths fit: lambda S=100: (..., "
     "torch.tensor([S]))"),
)


def advice(place: Optional[Place]) -> Optional[str]:
    """Return a replacement for a line or a submodule; None if none is known."""
    if place is None:
        return None
    for kinds, pattern, text in _ADVICE:
        if (kinds and re.fullmatch(kinds, place.kind)) or re.search(pattern, place.source):
            return text
    return None
