"""Random com.microsoft nodes of language models: attentions with masks and caches, and quantized weights."""
import math
import random

import numpy as np
from onnx import TensorProto, helper

from drawn import Case, bytes_of, noise, pick


def about(most, least=1):
    """Return a number from `least` to `most`, log-uniform."""
    return int(math.exp(random.uniform(math.log(least), math.log(most + 1))))


def listed(names, given):
    """List the inputs in order, with "" for an omitted input."""
    order = [name if name in given else "" for name in names]
    while order[-1] == "":
        order.pop()
    return order


class Lengths:
    """The content of a cache before and after a run of `group_query`, per batch element."""

    def __init__(self):
        way = pick(["prompt", "prompt", "next", "next", "chunk", "ragged"])
        self.batch = 1 if way == "chunk" else about(4)
        self.frames = 1 if way == "next" else about(24)
        self.past = about(150) if way != "prompt" else pick([None, 0, self.frames + about(9) - 1])
        if way == "ragged" and pick([0, 1]):
            self.past = self.frames  # a shared buffer with free space for the new frames only
        shared = self.past is not None and self.past >= self.frames and pick([0, 1])
        most = self.past if shared else (self.past or 0) + self.frames
        self.fresh = None
        if way == "prompt":
            self.total = self.frames
            self.after = [pick([self.frames, about(self.frames)]) for _ in range(self.batch)]
        elif way == "next":
            self.total = about(most, 2) if shared and most > 1 else most
            self.after = [pick([self.total, about(self.total)]) for _ in range(self.batch)]
        elif way == "chunk":
            self.total = about(most, self.frames) if shared else most
            self.after = [pick([self.total, about(self.total, self.frames)])]
        else:
            self.total = most
            before = [random.randrange(most - self.frames + 1) for _ in range(self.batch)]
            self.fresh = np.array([about(self.frames) for _ in before], np.int32)
            self.after = before + self.fresh
        self.after = np.array(self.after, np.int32)

    def specified(self, causal, size):
        """Return where the outputs are specified: not in rows that are padding."""
        fresh = np.full(self.batch, self.frames) if self.fresh is None else self.fresh
        before = np.maximum(self.after - fresh, 0)
        rows = before[:, None] + np.arange(self.frames) < self.after[:, None]
        specified = {0: rows[:, :, None]} if causal else {}
        if self.fresh is not None:
            frames = np.arange(max(self.past, self.total)) < self.after[:, None]
            specified[1] = specified[2] = frames[:, None, :, None]
        return specified


def mixed(lengths, kept, heads, size, causal):
    """Return attributes and inputs that change the scores, and their positions."""
    more, given = {}, {}
    if pick([0, 0, 1]):
        more["scale"] = pick([0.3, 1.5])
    if pick([0, 0, 1]):
        more["softcap"] = 1.5
    if causal and pick([0, 1]):
        more["local_window_size"] = about(40)
    if pick([0, 0, 1]):
        more["smooth_softmax"] = 1
    if pick([0, 0, 1]):
        given["sink"] = noise(heads)
    if pick([0, 0, 1]):
        shape = (pick([1, lengths.batch]), pick([1, heads]), lengths.frames, lengths.total)
        given["bias"] = noise(*shape)
    if size % 16 == 0 and pick([0, 1]):
        table = (lengths.total + about(9), pick([8, size // 2]))
        more.update(do_rotary=1, rotary_interleaved=pick([0, 1]))
        given.update(cos=noise(*table), sin=noise(*table))
        if pick([0, 0, 1]):
            given["pos"] = np.random.randint(0, table[0] - lengths.frames + 1, (lengths.batch, lengths.frames))
    return more, given


def group_query():
    lengths, causal = Lengths(), pick([1, 1, 1, 0])
    causal = 1 if lengths.fresh is not None else causal
    kept, size = pick([1, 2, 3]), pick([8, 16, 32, 64])
    heads = kept * about(5)
    batch, frames = lengths.batch, lengths.frames
    more, given = mixed(lengths, kept, heads, size, causal)
    if pick([0, 0, 1]):
        given["q"] = noise(batch, frames, (heads + 2 * kept) * size)
    else:
        given.update(q=noise(batch, frames, heads * size), k=noise(batch, frames, kept * size),
                     v=noise(batch, frames, kept * size))
    if lengths.past is not None:
        given.update({name: noise(batch, kept, lengths.past, size) for name in ("pk", "pv")})
    halves = pick([0, 0, 0, 0, 1])
    if halves:
        given = {k: v.astype(np.float16) if v.dtype == np.float32 else v for k, v in given.items()}
    given["last"] = lengths.after - 1
    if lengths.fresh is not None:
        given["fresh"] = lengths.fresh
    constants, ahead = {}, []
    if pick([0, 1]):
        constants["total"] = np.array(lengths.total, np.int32).reshape(pick([(), (1,)]))
    else:  # the form in files that compute lengths by summing a mask
        given["mask"] = np.ones((batch, lengths.total), np.int64)
        ahead = [helper.make_node("Shape", ["mask"], ["long"], start=1),
                 helper.make_node("Cast", ["long"], ["total"], to=TensorProto.INT32)]
    constants.update({k: given.pop(k) for k in ("last", "cos", "sin") if k in given and pick([0, 1])})
    order = listed(["q", "k", "v", "pk", "pv", "last", "total", "cos", "sin", "pos", "bias", "sink", "", "", "", "",
                    "fresh"], {**given, **constants, "total": 0})
    return Case("GroupQueryAttention", given, constants, order, 3, domain="com.microsoft", ahead=ahead,
                loose=5 if halves else 1, specified=lengths.specified(causal, size), num_heads=heads, kv_num_heads=kept,
                causal=causal, **more)


def padding(batch, queries, keys):
    """Return an integer mask in one of its forms, with the first key visible."""
    ends = np.array([about(keys) for _ in range(batch)], np.int32)
    mask = np.random.randint(0, 2, (batch, queries, keys), np.int32)
    mask[:, :, 0] = 1
    return pick([ends, (np.arange(keys) < ends[:, None]).astype(np.int32), mask])


def heads_of_parts():
    batch, heads, size, width = about(3), about(4), 2 * about(8), 2 * about(8)
    queries, past, split, one_way = about(20), None, False, pick([0, 0, 1])
    keys = queries if one_way or pick([0, 1]) else about(20)
    if pick([0, 1]):
        width, split = size, pick([0, 1])
        past = None if split else pick([0, about(20), about(20)])
    given = {"q": noise(batch, queries, heads * size),
             "k": noise(batch, heads, keys, size) if split else noise(batch, keys, heads * size),
             "v": noise(batch, heads, keys, width) if split else noise(batch, keys, heads * width)}
    if past is not None:
        given.update(pk=noise(batch, heads, past, size), pv=noise(batch, heads, past, width))
    keys += past or 0
    constants = {"b": noise(heads * (2 * size + width))} if pick([0, 1]) else {}
    if pick([0, 1]):
        given["mask"] = padding(batch, queries, keys)
    if pick([0, 0, 1]):
        given["bias"] = noise(pick([1, batch]), pick([1, heads]), queries, keys)
    more = pick([{}, {"scale": 0.4}, {"mask_filter_value": -2.0}])
    order = listed(["q", "k", "v", "b", "mask", "bias", "pk", "pv"], {**given, **constants})
    return Case("MultiHeadAttention", given, constants, order, 1 if past is None else 3, domain="com.microsoft",
                num_heads=heads, unidirectional=one_way, **more)


def heads_of_input():
    batch, heads, size, width = about(3), about(4), 2 * about(8), 2 * about(8)
    frames, past, inner, one_way = about(20), pick([0, 0, about(20)]), about(20), pick([0, 1])
    width = size if past else width
    total = heads * (2 * size + width)
    given, constants = {"x": noise(batch, frames, inner)}, {"w": noise(inner, total)}
    if pick([0, 1, 1]):
        constants["b"] = noise(total)
    if past:
        given["past"] = noise(2, batch, heads, past, size)
    elif pick([0, 0, 1]):
        given["bias"] = noise(pick([1, batch]), pick([1, heads]), frames, frames)
    starts = False
    if pick([0, 1]):
        given["mask"] = padding(batch, frames, past + frames)
        starts = given["mask"].ndim == 1 and pick([0, 1])
    if starts:
        first = [random.randrange(end) for end in given["mask"]]
        given["mask"] = np.concatenate([given["mask"], np.array(first, np.int32)])
    order = listed(["x", "w", "b", "mask", "past", "bias"], {**given, **constants})
    sizes = {} if width == size else {"qkv_hidden_sizes": [heads * size, heads * size, heads * width]}
    # If a query sees masked keys only, adding -10000 rounds away the digits of its scores.
    return Case("Attention", given, constants, order, 2 if past else 1, domain="com.microsoft", closed=starts,
                loose=300 if starts and one_way else 1, num_heads=heads, unidirectional=one_way, **sizes,
                **pick([{}, {"scale": 0.4}]))


def embedding():
    batch, frames, width, words, places, kinds = about(4), about(20), about(40), about(50), about(30) + 20, about(3)
    ids = lambda most, *shape: np.random.randint(0, most, shape, np.int32)  # noqa: E731
    given = {"ids": ids(words, batch, frames)}
    constants = {"we": noise(words, width), "pe": noise(places, width), "g": noise(width), "b": noise(width)}
    if pick([0, 1]):
        given["seg"], constants["se"] = ids(kinds, batch, frames), noise(kinds, width)
    if pick([0, 1]):
        given["mask"] = ids(3, batch, frames)
    if pick([0, 1]):
        given["pos"] = ids(places, pick([1, batch]), frames)
    order = listed(["ids", "seg", "we", "pe", "se", "g", "b", "mask", "pos"], {**given, **constants})
    return Case("EmbedLayerNormalization", given, constants, order, 3, domain="com.microsoft", epsilon=1e-3)


def few_bits():
    bits, block, rows = pick([2, 4, 4, 8]), pick([16, 32, 32, 64, 128, 256]), about(70)
    length = pick([block * about(3), about(600)])
    blocks = -(-length // block)
    kind = pick([np.float32, np.float32, np.float16])
    scales = noise(rows, blocks).astype(kind) * kind(0.1)
    constants = {"w": bytes_of(np.uint8, rows, blocks, block * bits // 8),
                 "s": scales.reshape(pick([(rows, blocks), (-1,)]))}
    points = pick(["", "", "packed", "" if bits == 8 else "floats"])
    if points == "packed":
        constants["z"] = bytes_of(np.uint8, rows, (blocks * bits + 7) // 8)
    if points == "floats":
        constants["z"] = (np.random.rand(rows, blocks) * 2**bits).astype(kind)
    if bits == 4 and pick([0, 0, 0, 1]):
        constants["g"] = np.random.permutation(np.arange(length) // block).astype(np.int32)
    if pick([0, 1]):
        constants["b"] = noise(rows).astype(kind)
    order = listed(["x", "w", "s", "z", "g", "b"], {"x": 0, **constants})
    x = noise(*[about(5) for _ in range(pick([1, 2, 2, 3]) - 1)], length).astype(kind)
    # Sums of many products. With codes of 8 bits these are large before they cancel.
    return Case("MatMulNBits", {"x": x}, constants, order, domain="com.microsoft",
                loose=(5 if kind is np.float16 else 1) * (10 if bits == 8 else 2), K=length, N=rows,
                bits=bits, block_size=block)


def rows_of_few_bits():
    bits, block, rows, blocks = pick([4, 8]), pick([16, 32, 128]), about(40), about(4)
    kind = pick([np.float32, np.float32, np.float16])
    constants = {"w": bytes_of(np.uint8, rows, blocks * block * bits // 8),
                 "s": noise(rows, blocks).astype(kind)}
    if pick([0, 1]):
        constants["z"] = bytes_of(np.uint8, rows, (blocks * bits + 7) // 8)
    ids = np.random.randint(-rows, rows, [about(4) for _ in range(pick([0, 1, 2]))], pick([np.int32, np.int64]))
    order = listed(["w", "i", "s", "z"], {"i": 0, **constants})
    return Case("GatherBlockQuantized", {"i": np.asarray(ids)}, constants, order, domain="com.microsoft", bits=bits,
                block_size=block, quantize_axis=pick([1, -1]), gather_axis=0)


def causal_conv():
    batch, channels, frames, kernel, dilation, last = about(3), about(9), about(20), about(5), about(3), pick([0, 1])
    turn = lambda x: np.ascontiguousarray(x.swapaxes(1, 2)) if last else x  # noqa: E731
    given, constants = {"x": turn(noise(batch, channels, frames))}, {"w": noise(channels, 1, kernel)}
    if kernel > 1 and pick([0, 1]):
        given["past"] = turn(noise(batch, channels, (kernel - 1) * dilation))
    if pick([0, 1]):
        constants["b"] = noise(channels)
    return Case("CausalConvWithState", given, constants, listed(["x", "w", "b", "past"], {**given, **constants}), 2,
                domain="com.microsoft", channels_last=last, dilation=dilation,
                activation=pick(["none", "silu", "swish"]))
