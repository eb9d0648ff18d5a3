"""More links of random graphs: forms that exporters write for splices, crops, bands and rates."""

import re

import numpy as np

import graphs as G
import wires as w
from wires import Undefined, Wire


def rational(g, x):
    """Resampling by a fraction, at positions computed in integers."""
    p, q = g.draw([(3, 2), (5, 4), (3, 4), (5, 8), (5, 2), (7, 4), (1, 4), (3, 8)])
    kind = g.draw(["nearest", "nearest", "linear"])
    place = g.draw(["half_pixel", "asymmetric"])
    nearest = g.draw(["floor", "round_prefer_ceil"])
    n = x.frames

    def value(v):
        n0 = v.shape[2]
        m = n0 * p // q
        if n0 == 0:
            return v
        i = np.arange(m)
        if place == "half_pixel":
            num, den = (2 * i + 1) * q - p, 2 * p
        else:
            num, den = i * q, p
        low = num // den
        rest = num - low * den

        def frame(k):
            return v[:, :, np.clip(k, 0, n0 - 1)]

        if kind == "nearest":
            up = 2 * rest >= den if nearest != "floor" else rest < 0
            return frame(np.where(up, low + 1, low))
        part = (rest / den).reshape([1, 1, m] + [1] * (v.ndim - 3))
        return frame(low) * (1 - part) + frame(low + 1) * part
    scales = g.ones(x, ["1.0", "1.0", repr(p / q)], "1.0")
    return g.of(x, f"tract_core_resize({x.name}, scales = [{scales}], interpolator = '{kind}', "
                f"coord_transformer = '{place}', nearest_mode = '{nearest}')", value,
                frames=lambda s: n(s) * p // q, exact=x.exact and kind == "nearest")


def every_by_gather(g, x):
    """x[:, by::k] as a gather of computed indices."""
    k = g.draw([2, 3])
    by = g.size()
    count = g.frames_text(x)
    place = g.put(f"tract_core_range({by}, {count}, {k})", lambda env: None)
    n = x.frames
    return g.of(x, f"tract_core_gather({x.name}, {place}, axis = 2)", lambda v: v[:, :, by::k],
                frames=lambda s: max(0, -(-(n(s) - by) // k)))


def later_by_gather(g, x):
    """x[:, by:] as a gather of computed indices."""
    by = g.size(1)
    count = g.frames_text(x)
    place = g.put(f"tract_core_range({by}, {count}, 1)", lambda env: None)
    n = x.frames
    return g.of(x, f"tract_core_gather({x.name}, {place}, axis = 2)", lambda v: v[:, :, by:],
                frames=lambda s: max(0, n(s) - by))


def joined_pieces(g, x):
    """Concatenate two pieces that are processed separately."""
    a = g.size(1)
    n = x.frames
    left = g.of(x, f"slice({x.name}, axes = [2], begin = [0], end = [{a}])", lambda v: v[:, :, :a])
    right = G.sliced(g, x, a, 0)
    right = g.of(right, f"{right.name} * 2.0", lambda v: v * 2, bound=2 * x.bound)

    def length(s):
        if n(s) < a:
            raise Undefined
        return n(s)

    def value(env):
        if env[left.name].shape[2] < a:
            raise Undefined("frames that do not exist")
        return np.concatenate([env[left.name], env[right.name]], 2)
    return g.wire(x, f"concat([{left.name}, {right.name}], axis = 2)", value, frames=length,
                  bound=2 * x.bound)


def rounded(g, x):
    """Whole blocks of k frames, without the remainder."""
    k = g.draw([2, 3, 4, 7])
    count = g.frames_text(x)
    n = x.frames
    end = g.draw([f"{count} / {k} * {k}", f"({count} / {k}) * {k}"])
    return g.of(x, f"slice({x.name}, axes = [2], begin = [0], end = [{end}])",
                lambda v: v[:, :, :v.shape[2] // k * k], frames=lambda s: n(s) // k * k)


def moving_sum(g, x):
    """Sums of windows, as differences of a running sum."""
    if not x.exact:
        return x
    x = g.wrapped(x)
    by = g.size(1)
    c = g.of(x, f"tract_core_cumsum({x.name}, axis = 2, exclusive = false, reverse = false)",
             lambda v: np.cumsum(v, 2), bound=1 << 22, exact=x.exact)
    a, b = G.sliced(g, c, by, 0), G.sliced(g, c, 0, by)
    out = G.added(g, a, b)
    return g.wrapped(out)


def prefix_attention(g, x):
    """A prefix of static keys before a band of streaming ones."""
    if x.features:
        return x
    x = g.bounded(x)
    g.square = True
    c = x.channels
    p = g.draw([1, 2, 5])
    rows = g.of(x, f"transpose({x.name}, axes = [0, 2, 1])", lambda v: v.transpose(0, 2, 1))
    if g.chance(0.5):
        name = g.external(f"@, {p}, {c}", lambda s: [g.batch, p, c], False)
    else:
        name = g.constant(g.dice.integers(-4, 5, [g.fixed_batch(), p, c]).astype(float))
    count = g.frames_text(x)
    place = g.put(f"tract_core_range(0, {count}, 1)", lambda env: None)
    chunk = g.draw([1, 1, 1, 2, 5])
    if chunk > 1:
        place = g.put(f"{place} / {chunk}", lambda env: None)
    past, future = g.draw([0, 1, 2, 5, 30]), g.draw([0, 0, 1, 3])
    distance = g.put(f"unsqueeze({place}, axes = [0, 2]) - unsqueeze({place}, axes = [0, 1])",
                  lambda env: None)
    seen = g.put(f"and(ge({distance}, {-future}), le({distance}, {past}))", lambda env: None)
    how = g.draw(["scores", "masked", "keys"])
    own = g.put(f"matmul({rows.name}, {rows.name}, transposeB = true) * 0.05", lambda env: None)
    far = g.put(f"matmul({rows.name}, {name}, transposeB = true) * 0.05", lambda env: None)
    both = g.put(f"concat([{name}, {rows.name}], axis = 1)", lambda env: None)
    if how == "keys":
        scores = g.put(f"matmul({rows.name}, {both}, transposeB = true) * 0.05", lambda env: None)
        # key positions: p for the prefix
        kp = g.put(f"tract_core_range(0, {count} + {p}, 1)", lambda env: None)
        kq = g.put(f"({kp} - {p})" + (f" / {chunk}" if chunk > 1 else ""), lambda env: None)
        if chunk > 1:
            kq = g.put(f"({kp} - {p} + {chunk * 1000}) / {chunk} - 1000", lambda env: None)
        gap = g.put(f"unsqueeze({place}, axes = [0, 2]) - unsqueeze({kq}, axes = [0, 1])",
                   lambda env: None)
        se = g.put(f"or(lt(unsqueeze({kp}, axes = [0, 1]), {p}), "
                   f"and(ge({gap}, {-future}), le({gap}, {past})))",
                   lambda env: None)
        weights = g.put(f"softmax(select({se}, {scores}, {scores} * 0.0 - 1.0 / 0.0), axes = [2])",
                        lambda env: None)
    else:
        m = g.put(f"select({seen}, {own}, {own} * 0.0 - 1.0 / 0.0)", lambda env: None)
        weights = g.put(f"softmax(concat([{far}, {m}], axis = 2), axes = [2])", lambda env: None)

    def value(env):
        v = env[rows.name]
        k = np.concatenate([env[name] + np.zeros([v.shape[0], 1, 1]), v], 1)
        i = np.arange(v.shape[1]) // chunk
        d = i[:, None] - i[None]
        z = np.where((d >= -future) & (d <= past), v @ v.transpose(0, 2, 1) * 0.05, -np.inf)
        z = np.concatenate([v @ env[name].transpose(0, 2, 1) * 0.05, z], 2)
        if v.shape[1] == 0:
            return v
        e = np.exp(z - z.max(2, keepdims=True))
        return e / e.sum(2, keepdims=True) @ k
    out = g.put(f"matmul({weights}, {both})", value)
    return g.wire(x, f"transpose({out}, axes = [0, 2, 1])",
                  lambda env: env[out].transpose(0, 2, 1), exact=False)


def band_product(g, x):
    """A matmul of the frames with a matrix of zeros and ones computed from positions."""
    if x.features:
        return x
    x = g.bounded(x)
    g.square = True
    rows = g.of(x, f"transpose({x.name}, axes = [0, 2, 1])", lambda v: v.transpose(0, 2, 1))
    count = g.frames_text(x)
    place = g.put(f"tract_core_range(0, {count}, 1)", lambda env: None)
    past, future = g.draw([0, 1, 2, 5, 30]), g.draw([0, 0, 1, 3])
    distance = g.put(f"unsqueeze({place}, axes = [0, 2]) - unsqueeze({place}, axes = [0, 1])",
                  lambda env: None)
    seen = g.put(f"and(ge({distance}, {-future}), le({distance}, {past}))", lambda env: None)
    one = g.put(f"tract_core_cast({seen}, to = 'f32')", lambda env: None)

    def value(env):
        v = env[rows.name]
        i = np.arange(v.shape[1])
        d = i[:, None] - i[None]
        return ((d >= -future) & (d <= past)).astype(float) @ v
    out = g.put(f"matmul({one}, {rows.name})", value)
    return g.wire(x, f"transpose({out}, axes = [0, 2, 1])",
                  lambda env: env[out].transpose(0, 2, 1), exact=x.exact, bound=x.bound * 35)


def uneven_stream(g, x):
    """A second input whose length is not S: S + 3, 2*S - 5, (S + 1)/2, ..."""
    offset = g.size(1) * g.draw([1, 1, -1])
    factor, divisor = g.draw([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2), (2, 3)])
    y = g.stream(x.channels, factor, offset, x.features, divisor=divisor)
    g.all.append(y)
    if g.chance(0.4):
        y = g.bounded(g.draw([G.conv, G.shifted, G.running, G.trim, G.padded, G.pool])(g, y))
        g.all.append(y)
    if factor > 1 and divisor == 1:
        k = int(g.dice.integers(0, factor))
        y = g.of(y, f"tract_core_downsample({y.name}, axis = 2, stride = {factor}, modulo = {k})",
                 lambda v: v[:, :, k::factor],
                 frames=lambda s, n=y.frames: max(0, -(-(n(s) - k) // factor)))
    try:
        less = y.frames(10**6) - x.frames(10**6)
    except Undefined:
        return x
    if less != 0 and same(x, y, less) and abs(less) < 10**6:
        cut = g.draw([(0, abs(less)), (abs(less), 0)])
        x, y = (x, G.sliced(g, y, *cut)) if less > 0 else (G.sliced(g, x, *cut), y)
    return G.added_if_equal(g, x, y)


def same(x, y, less):
    try:
        return all(y.frames(s) - x.frames(s) == less for s in (5000, 777777, 1234567))
    except Undefined:
        return False


def batch_merged(g, x):
    """[B, C, T, F] as [B*T, F, C], a convolution over features, back."""
    if not x.features or x.features < 2:
        return x
    c, f, b = x.channels, x.features, g.fixed_batch()
    kernel = g.weights(c, c, 2)
    t = g.of(x, f"transpose({x.name}, axes = [0, 2, 1, 3])", lambda v: v.transpose(0, 2, 1, 3))
    m = g.of(t, f"reshape({t.name}, shape = [-1], axis_start = 0, axis_count = 2)",
             lambda v: v.reshape(v.shape[0] * v.shape[1], *v.shape[2:]))
    y = g.of(m, f"conv({m.name}, {G.text_of(kernel)}, 0.0, padding = [(1, 0)], "
             "border = 'constant')",
             lambda v: w.conv(v, kernel, np.zeros(c), 1, 1, 1, 0), bound=4 * c * x.bound)
    k = g.frames_text(x)
    r = g.of(y, f"reshape({y.name}, shape = [{b}, {k}], axis_start = 0, axis_count = 1)",
             lambda v: v.reshape(b, v.shape[0] // b, *v.shape[1:]))
    return g.of(r, f"transpose({r.name}, axes = [0, 2, 1, 3])", lambda v: v.transpose(0, 2, 1, 3))


def window_mean(g, x):
    """Means of blocks, repeated and subtracted."""
    k = g.draw([2, 3, 5])
    x = rounded(g, x) if g.chance(0.5) else x
    n = x.frames

    def length(s):
        if n(s) % k:
            raise Undefined
        return n(s)

    def value(env):
        v = env[x.name]
        if v.shape[2] % k:
            raise Undefined("left over")
        b = v.reshape(*v.shape[:2], v.shape[2] // k, k, *v.shape[3:]).max(3) if v.shape[2] else v
        return v - np.repeat(b, k, 2)
    s1 = g.put(f"reshape({x.name}, shape = [-1, {k}], axis_start = 2, axis_count = 1)",
               lambda env: None)
    s2 = g.put(f"max_reduce({s1}, axes = [3])", lambda env: None)
    reps = ", ".join(["1", "1", "1", str(k)] + (["1"] if x.features else []))
    s3 = g.put(f"tile({s2}, repeats = [{reps}])", lambda env: None)
    s4 = g.put(f"reshape({s3}, shape = [-1], axis_start = 2, axis_count = 2)", lambda env: None)
    return g.wire(x, f"{x.name} - {s4}", value, frames=length, bound=2 * x.bound)


def clipped_slice(g, x):
    """Remove x[max(n - k, 0):] at the end: x[:max(n - k, 0)]."""
    k = g.size(1)
    count = g.frames_text(x)
    n = x.frames
    end = g.put(f"max({count} - {k}, 0)", lambda env: None)
    return g.of(x, f"slice({x.name}, axes = [2], begin = [0], end = [{end}])",
                lambda v: v[:, :, :max(0, v.shape[2] - k)], frames=lambda s: max(0, n(s) - k))


def selected(g, x):
    """Select by data: the condition is a separate stream."""
    if not x.exact:
        return x
    y = G.shifted(g, x)
    n = x.frames
    return g.wire(x, f"select({y.name} > 0.5, {x.name}, {y.name})",
                  lambda env: np.where(env[y.name] > 0.5, env[x.name], env[y.name]),
                  bound=max(x.bound, y.bound), exact=x.exact and y.exact, frames=y.frames)


def resampled_sum(g, x):
    """Upsample, convolve, downsample and add."""
    k = g.draw([2, 3])
    y = G.resized_nearest(g, x, k)
    y = g.bounded(g.draw([G.conv, G.shifted, G.running, G.trim, G.padded])(g, y))
    n = y.frames
    m = int(g.dice.integers(0, k))
    y = g.of(y, f"tract_core_downsample({y.name}, axis = 2, stride = {k}, modulo = {m})",
             lambda v: v[:, :, m::k], frames=lambda s: max(0, (n(s) - m + k - 1) // k))
    return G.added_if_equal(g, x, y)


def chain(g, x):
    for _ in range(g.draw([4, 8, 12])):
        x = g.bounded(g.draw([G.trim, G.strided, G.padded, G.shifted, G.conv])(g, x))
        g.all.append(x)
    return x


def aligned(g, x):
    """Two branches of unequal length, each cropped to the shorter, as in U-Nets."""
    y = g.bounded(G.conv(g, x))
    y = y if y.channels == x.channels else x
    less = None
    try:
        less = {x.frames(s) - y.frames(s) for s in (5000, 777777, 1234567)}
    except Undefined:
        return x
    if len(less) != 1:
        return y
    d = less.pop()
    a = G.sliced(g, x, d // 2, d - d // 2) if d > 0 else x
    b = G.sliced(g, y, (-d) // 2, -d - (-d) // 2) if d < 0 else y
    return G.added(g, a, b)


CURVES = [("d * d <= 9.0", lambda d: d * d <= 9),
          ("exp(d * d * -0.05) >= 0.05", lambda d: np.exp(d * d * -0.05) >= 0.05),
          ("(tanh(abs(d) * 0.1) <= 0.3) && (d >= 0.0)",
           lambda d: (np.tanh(abs(d) * 0.1) <= 0.3) & (d >= 0)),
          ("sqr(d - 3.0) <= 16.5", lambda d: (d - 3) ** 2 <= 16.5),
          ("sqrt(abs(d)) <= 5.5", lambda d: np.sqrt(abs(d)) <= 5.5),
          ("(exp(d * -0.01) >= 0.5) && (d > -3.0)",
           lambda d: (np.exp(d * -0.01) >= 0.5) & (d > -3)),
          ("log(abs(d) * 3.0 + 1.0) < 2.2", lambda d: np.log(abs(d) * 3 + 1) < 2.2)]


def curved_attention(g, x):
    """Attention in a band: a key is visible if a comparison of functions of its distance holds."""
    if x.features:
        return x
    x = g.bounded(x)
    g.square = True
    rows = g.of(x, f"transpose({x.name}, axes = [0, 2, 1])", lambda v: v.transpose(0, 2, 1))
    count = g.frames_text(x)
    place = g.put(f"tract_core_cast(tract_core_range(0, {count}, 1), to = 'f32')", lambda env: None)
    d = g.put(f"unsqueeze({place}, axes = [0, 2]) - unsqueeze({place}, axes = [0, 1])",
              lambda env: None)
    text, curve = CURVES[int(g.dice.integers(len(CURVES)))]
    seen = g.put(re.sub(r"\bd\b", d, text), lambda env: None)
    scores = g.put(f"matmul({rows.name}, {rows.name}, transposeB = true) * 0.05", lambda env: None)
    hidden = f"{scores} * 0.0 - 1.0 / 0.0"
    weights = g.put(f"softmax(select({seen}, {scores}, {hidden}), axes = [2])", lambda env: None)

    def value(env):
        v = env[rows.name]
        if v.shape[1] == 0:
            return v
        i = np.arange(v.shape[1], dtype=float)
        z = np.where(curve(i[:, None] - i[None]), v @ v.transpose(0, 2, 1) * 0.05, -np.inf)
        p = np.exp(z - z.max(2, keepdims=True))
        return p / p.sum(2, keepdims=True) @ v
    out = g.put(f"matmul({weights}, {rows.name})", value)
    return g.wire(x, f"transpose({out}, axes = [0, 2, 1])",
                  lambda env: env[out].transpose(0, 2, 1), exact=False)


def near_the_end(g, x):
    """Frames that are counted from the end, or from the start of a block near the end."""
    count = g.frames_text(x)
    k, m, far = g.draw([2, 4, 7]), g.size(1), g.draw([1, 2, 3])
    how = g.draw(["places", "block", "clamped", "up"])
    if how == "places":
        at = [g.draw([-1, 1]) * int(g.dice.integers(1, 5)) for _ in range(g.draw([1, 2, 4]))]
        text = f"tract_core_gather({x.name}, {at}, axis = 2)"

        def value(v):
            if v.shape[2] <= max(max(at), -min(at) - 1):
                raise Undefined("frames that do not exist")
            return v[:, :, at]
    elif how == "block":
        begin = f"{count} / {k} * {k} - {m}"
        text = f"slice({x.name}, axes = [2], begin = [{begin}], end = [{begin} + {min(far, m)}])"

        def value(v):
            b = v.shape[2] // k * k - m
            if b < 0:
                raise Undefined("frames that do not exist")
            return v[:, :, b:b + min(far, m)]
    elif how == "clamped":
        begin = f"max({count} - {m}, 0)"
        text = f"slice({x.name}, axes = [2], begin = [{begin}], end = [{begin} + 1])"

        def value(v):
            if v.shape[2] < 1:
                raise Undefined("no frame")
            b = max(v.shape[2] - m, 0)
            return v[:, :, b:b + 1]
    else:
        text = f"tract_core_gather({x.name}, ({count} + {k - 1}) / {k} * {k} - {k}, axis = 2)"

        def value(v):
            if v.shape[2] < 1:
                raise Undefined("no frame")
            return v[:, :, (v.shape[2] + k - 1) // k * k - k]
    y = g.of(x, text, value)
    g.outputs.append((y.name, y.exact))
    return x


LINKS = [(4, rational), (2, every_by_gather), (2, later_by_gather), (4, joined_pieces), (3, rounded),
         (4, moving_sum), (4, prefix_attention), (3, band_product), (4, uneven_stream),
         (3, batch_merged), (3, window_mean), (2, clipped_slice), (3, selected), (4, resampled_sum),
         (2, chain), (4, aligned), (4, curved_attention), (4, near_the_end)]
