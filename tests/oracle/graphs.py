"""Random graphs that stream, each as a text and as NumPy functions."""

import numpy as np

import wires as w
from wires import Undefined, Wire

LOOPS = """fragment mod_loop(h: tensor<scalar>, x: tensor<scalar>) -> (h_t: tensor<scalar>) {
  t = h * 3.0 + x;
  h_t = t - floor(t * 0.125) * 8.0;
}
fragment pair_loop(h: tensor<scalar>, x: tensor<scalar>, z: tensor<scalar>)
    -> (h_t: tensor<scalar>) {
  t = h * 3.0 + x + z * 5.0;
  h_t = t - floor(t * 0.125) * 8.0;
}
fragment gru_loop(h: tensor<scalar>, r_x: tensor<scalar>, z_x: tensor<scalar>, n_x: tensor<scalar>,
    W_r: tensor<scalar>, W_z: tensor<scalar>, W_n: tensor<scalar>, b_n: tensor<scalar>)
    -> (h_t: tensor<scalar>) {
  r_t = sigmoid(r_x + matmul(h, W_r, transposeB = true));
  z_t = sigmoid(z_x + matmul(h, W_z, transposeB = true));
  n_t = tanh(n_x + r_t * (matmul(h, W_n, transposeB = true) + b_n));
  h_t = (1.0 - z_t) * n_t + z_t * h;
}
"""


def text_of(array):
    """Return an array as an NNEF literal."""
    if np.ndim(array) == 0:
        return repr(float(array))
    return "[" + ", ".join(text_of(row) for row in array) + "]"


class Graph:
    def __init__(self, seed):
        self.dice = np.random.default_rng(seed)
        self.statements = []  # (text, names, function of the environment)
        self.inputs = []      # (name, shape function of S, streams, kind)
        self.asserts = []
        self.outputs = []     # wires, or (name, exact) of outputs that do not stream
        self.batch = self.draw([1, 1, 1, 2, 3])
        self.open_batch = self.chance(0.3)  # a symbol in the file, unless a literal contains the batch
        self.features = self.draw([0, 0, 0, 2, 3])
        self.most = self.draw([4, 4, 30, 30, 1000, 100000])
        self.loops = False   # NumPy loops over frames
        self.square = False  # attention between frames
        self.all = []
        self.count = 0

    # ---- chance ----

    def draw(self, values):
        return values[int(self.dice.integers(len(values)))]

    def chance(self, share):
        return self.dice.random() < share

    def size(self, least=0):
        """Draw log-uniformly, up to a limit of the graph."""
        if least == 0 and self.chance(0.2):
            return 0
        return int(np.exp(self.dice.uniform(np.log(max(1, least)), np.log(self.most + 1))))

    def rate(self):
        return self.draw([1, 2, 2, 3, 4, 5]) if self.most < 1000 or self.chance(0.8) else \
            int(self.dice.integers(1, 40))

    def weights(self, *shape):
        out = self.dice.integers(-2, 3, shape).astype(float)
        out.flat[0] = self.draw([-1.0, 1.0, 2.0])
        return out

    # ---- statements ----

    def name(self):
        self.count += 1
        return f"w{self.count}"

    def put(self, text, function):
        name = self.name()
        self.statements.append((f"  {name} = {text};", name, function))
        return name

    def wire(self, x, text, function, **changes):
        """Return a wire like x, with `changes`. `function` takes the value of x, or the environment."""
        out = Wire(self.put(text, function), x.channels, x.frames, x.bound, x.exact, x.features)
        for key, value in changes.items():
            setattr(out, key, value)
        return out

    def of(self, x, text, function, **changes):
        return self.wire(x, text, lambda env: function(env[x.name]), **changes)

    def bounded(self, x):
        if x.exact and x.bound > 64:
            return self.wrapped(x)
        if not x.exact and x.bound > 8:
            factor = 4.0 / x.bound
            return self.of(x, f"{x.name} * {factor!r}", lambda v: v * np.float32(factor), bound=4)
        return x

    def wrapped(self, x):
        floor = self.of(x, f"floor({x.name} * 0.125)", lambda v: np.floor(v * 0.125))
        return self.wire(x, f"{x.name} - {floor.name} * 8.0",
                         lambda env: env[x.name] - env[floor.name] * 8, bound=8)

    def ones(self, x, head, tail="1"):
        """Return a list with one entry per axis: two of `head`, then the entry of the frames, then ones."""
        return ", ".join([*head, *([tail] * (1 if x.features else 0))])

    def frames_text(self, x):
        """Return a scalar that holds the number of frames of a wire."""
        shape = self.put(f"tract_core_shape_of({x.name})", lambda env: None)
        one = self.put(f"slice({shape}, axes = [0], begin = [2], end = [3])", lambda env: None)
        return self.put(f"squeeze({one}, axes = [0])", lambda env: None)

    def fixed_batch(self):
        """Return the batch, which a literal will contain."""
        self.open_batch = False
        return self.batch

    def constant(self, array):
        array = np.asarray(array, float)
        return self.put(text_of(array), lambda env: array)

    def external(self, shape_text, shape, streams=True, kind="f32"):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, shape, streams, kind))
        head = {"f32": "external<scalar>", "i64": "external<integer>"}[kind]
        self.statements.append((f"  {name} = {head}(shape = [{shape_text}]);", name, None))
        return name

    def stream(self, channels, factor, offset, features, kind="f32", divisor=1):
        """Add an input of (factor * S + offset) / divisor frames, with axes in any order. Return it as a
        wire."""
        frames = f"{factor}*S + {offset}" if offset else (f"{factor}*S" if factor > 1 else "S")
        frames = f"({frames})/{divisor}" if divisor > 1 else frames
        batch = self.batch
        orders = [(0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3)] if self.chance(0.4) else [(0, 1, 2, 3)]
        order = self.draw(orders)  # of the axes [batch, channels, frames, features] in the file
        extents = ["@", str(channels), frames, str(features)]
        rank = 4 if features else 3
        order = [a for a in order if a < rank]

        def length(s):
            frames = (factor * s + offset) // divisor
            if frames < 0:
                raise Undefined("fewer frames than none")
            return frames

        def shape(s):
            full = [batch, channels, length(s), features]
            return [full[a] for a in order]
        name = self.external(", ".join(extents[a] for a in order), shape, True, kind)
        x = Wire(name, channels, length, 4, True, features)
        back = [order.index(a) for a in range(rank)]
        if back != list(range(rank)):
            x = self.of(x, f"transpose({name}, axes = {back})", lambda v: v.transpose(back))
        return x

    # ---- the whole ----

    def text(self):
        names = ", ".join(name for name, _, _, _ in self.inputs)
        results = "".join(f"  y{i} = copy({self.output_name(i)});\n"
                          for i in range(len(self.outputs)))
        return ("version 1.0;\nextension tract_registry tract_core;\n"
                "extension tract_registry tract_extra;\nextension tract_symbol S;\n"
                + ("extension tract_symbol B;\n" if self.open_batch else "")
                + "".join(f"extension tract_symbol R{i};\n" for i in range(len(self.asserts)))
                + "".join(f"extension tract_assert {each};\n" for each in self.asserts)
                + (LOOPS if self.loops else "")
                + f"graph network({names}) -> "
                + f"({', '.join(f'y{i}' for i in range(len(self.outputs)))})\n{{\n"
                + "\n".join(text.replace("@", "B" if self.open_batch else str(self.batch))
                            for text, _, _ in self.statements) + "\n" + results + "}\n")

    def output_name(self, i):
        out = self.outputs[i]
        return out.name if isinstance(out, Wire) else out[0]

    def is_exact(self, i):
        out = self.outputs[i]
        return out.exact if isinstance(out, Wire) else out[1]

    def values(self, s):
        """Return random inputs for a length of S."""
        self.stream_frames = s
        out = []
        for _, shape, _, kind in self.inputs:
            values = self.dice.integers(-4, 5, shape(s))
            out.append(values.astype(np.float32 if kind == "f32" else np.int64))
        return out

    def run(self, values):
        """Return NumPy's outputs. Raises Undefined."""
        env = {name: value.astype(np.float64)
               for (name, _, _, _), value in zip(self.inputs, values)}
        for _, name, function in self.statements:
            if function is not None:
                env[name] = function(env)
        return [env[self.output_name(i)] for i in range(len(self.outputs))]

    def longest(self, s):
        """Return the maximum number of frames of any wire; None if a wire has no length."""
        most = 0
        try:
            for x in self.all:
                most = max(most, x.frames(s))
        except Undefined:
            return None
        return most


# ---- links ---------------------------------------------------------------------------------------

def sliced(g, x, begin, less):
    """x[begin : frames - less], with its end in one of several forms."""
    n = x.frames
    if less == 0 and begin == 0:
        return x
    computed = False
    if less == 0:
        end = "0"
    elif g.chance(0.5):
        end = f"-{less}"
    else:
        end = f"{g.frames_text(x)} - {less}"
        computed = True

    def length(s):
        if computed and n(s) < less:
            raise Undefined  # an end before the first frame counts from the last one
        return max(0, n(s) - less - begin)

    def value(v):
        if computed and v.shape[2] < less:
            raise Undefined("an end in front of the first frame")
        return w.along(v, begin, max(0, v.shape[2] - less))
    return g.of(x, f"slice({x.name}, axes = [2], begin = [{begin}], end = [{end}])", value,
                frames=length)


def trim(g, x):
    return sliced(g, x, g.size(), g.size() if g.chance(0.6) else 0)


def padded(g, x, before=None, after=None, border=None):
    before = g.size() if before is None else before
    after = g.size() if after is None else after
    border = border or g.draw(["constant", "constant", "replicated", "reflect"])
    value = g.draw([0.0, 0.0, 3.0, -1.0])
    widths = g.ones(x, ["(0, 0)", "(0, 0)", f"({before}, {after})"], "(0, 0)")
    n = x.frames

    def length(s):
        if border == "reflect" and max(before, after) > max(0, n(s) - 1):
            raise Undefined
        if border == "replicated" and n(s) == 0:
            raise Undefined
        return n(s) + before + after
    return g.of(x, f"pad({x.name}, padding = [{widths}], border = '{border}', value = {value})",
                lambda v: w.pad(v, before, after, border, value), frames=length,
                bound=max(x.bound, abs(value)))


def spread(g):
    """Return the number of taps, their dilation and their extent."""
    taps = g.draw([1, 2, 2, 3, 3, 4, 5])
    dilation = max(1, g.size()) if g.chance(0.5) else 1
    return taps, dilation, (taps - 1) * dilation + 1


def conv(g, x):
    taps, dilation, extent = spread(g)
    stride = g.rate() if g.chance(0.35) else 1
    before = after = 0
    if g.chance(0.65):
        before = g.draw([extent - 1, 0, int(g.dice.integers(0, extent + 2)), g.size()])
        after = g.draw([max(0, extent - 1 - before), 0, int(g.dice.integers(0, extent + 2))])
    outs = g.draw([1, 2, 3])
    groups = x.channels if g.chance(0.2) else 1
    outs = outs * groups if groups > 1 else outs
    outs = min(outs, 4) // groups * groups or groups
    kernel, bias = g.weights(outs, x.channels // groups, taps), g.weights(outs)
    shown = kernel[..., None] if x.features else kernel
    pads = f"({before}, {after})" + (", (0, 0)" if x.features else "")
    more = ", 1" if x.features else ""
    n = x.frames
    return g.of(x, f"conv({x.name}, {text_of(shown)}, {text_of(bias[None])}, stride = [{stride}"
                f"{more}], dilation = [{dilation}{more}], padding = [{pads}], border = 'constant',"
                f" groups = {groups})",
                lambda v: w.conv(v, kernel, bias, stride, dilation, before, after, groups),
                channels=outs, bound=2 * taps * x.channels * x.bound + 2,
                frames=lambda s: w.windows(n(s), taps, dilation, stride, before, after))


def deconv(g, x):
    taps, dilation, extent = spread(g)
    stride = g.rate()
    before = g.draw([0, int(g.dice.integers(0, extent))])
    after = g.draw([0, int(g.dice.integers(0, extent - before))])
    outs = g.draw([1, 2])
    kernel, bias = g.weights(outs, x.channels, taps), g.weights(outs)
    shown = kernel[..., None] if x.features else kernel
    pads = f"({before}, {after})" + (", (0, 0)" if x.features else "")
    more = ", 1" if x.features else ""
    n = x.frames

    def length(s):
        out = (n(s) - 1) * stride + extent - before - after
        if n(s) == 0 or out < 0:
            raise Undefined
        return out
    return g.of(x, f"deconv({x.name}, {text_of(shown)}, {text_of(bias[None])}, stride = [{stride}"
                f"{more}], dilation = [{dilation}{more}], padding = [{pads}])",
                lambda v: w.deconv(v, kernel, bias, stride, dilation, before, after),
                channels=outs, bound=2 * taps * x.channels * x.bound + 2, frames=length)


def pool(g, x):
    taps, dilation, extent = spread(g)
    stride = g.rate() if g.chance(0.5) else 1
    before, after = (int(g.dice.integers(0, extent)), int(g.dice.integers(0, extent))) \
        if g.chance(0.5) else (0, 0)
    kind = g.draw(["max", "max", "box", "mean"])
    border = "ignore" if kind in ("max", "mean") else "constant"
    head = {"max": "max_pool", "box": "box", "mean": "box"}[kind]
    norm = ", normalize = true" if kind == "mean" else ""
    n = x.frames
    size = g.ones(x, ["1", "1", str(taps)])
    return g.of(x, f"{head}({x.name}, size = [{size}], stride = [{g.ones(x, ['1', '1', str(stride)])}"
                f"], dilation = [{g.ones(x, ['1', '1', str(dilation)])}], padding = ["
                f"{g.ones(x, ['(0, 0)', '(0, 0)', f'({before}, {after})'], '(0, 0)')}], border = "
                f"'{border}'{norm})",
                lambda v: w.pool(v, kind, taps, stride, dilation, before, after, kind == "mean"),
                bound=x.bound * (taps if kind == "box" else 1),
                exact=x.exact and kind != "mean",
                frames=lambda s: w.windows(n(s), taps, dilation, stride, before, after))


def strided(g, x):
    stride = g.rate()
    n = x.frames
    if g.chance(0.5):
        modulo = int(g.dice.integers(0, stride))
        return g.of(x, f"tract_core_downsample({x.name}, axis = 2, stride = {stride}, modulo = "
                    f"{modulo})", lambda v: w.along(v, modulo, None, stride),
                    frames=lambda s: max(0, (n(s) - modulo + stride - 1) // stride))
    begin = max(1, g.size())
    return g.of(x, f"slice({x.name}, axes = [2], begin = [{begin}], end = [0], stride = [{stride}])",
                lambda v: w.along(v, begin, None, stride),
                frames=lambda s: max(0, (n(s) - begin + stride - 1) // stride))


def kept(g, x):
    """Return a wire of a few kept frames, and their number."""
    begin, count = g.size(), g.draw([1, 1, 2, 3])
    n = x.frames

    def length(s):
        if n(s) < begin + count:
            raise Undefined
        return count

    def value(v):
        if v.shape[2] < begin + count:
            raise Undefined("frames that do not exist")
        return w.along(v, begin, begin + count)
    return g.of(x, f"slice({x.name}, axes = [2], begin = [{begin}], end = [{begin + count}])",
                value, frames=length), count


def joined(g, x):
    front = g.chance(0.6)
    n = x.frames
    kind = g.draw(["kept", "first", "last", *(["constant"] if len(g.all) > 3 or
                                              g.inputs[0][3] == "f32" else [])])
    if kind == "kept":
        part, count = kept(g, x)
    elif kind == "constant":
        count = g.draw([1, 2, 3]) if g.chance(0.8) else min(50, g.size(1))
        values = g.dice.integers(-4, 5, [g.fixed_batch(), x.channels, count]
                                 + ([x.features] if x.features else [])).astype(float)
        part = Wire(g.constant(values), x.channels, lambda s: count, 4)
    else:
        count = 1
        begin, end = ("0", "1") if kind == "first" else ("-1", "0")
        if kind == "last":
            begin = f"{g.frames_text(x)} - 1"
            end = g.frames_text(x)

        def one(v):
            if v.shape[2] == 0:
                raise Undefined("no frame")
            return v[:, :, :1] if kind == "first" else v[:, :, -1:]

        def length(s):
            if n(s) == 0:
                raise Undefined
            return 1
        front = kind == "first"
        part = g.of(x, f"slice({x.name}, axes = [2], begin = [{begin}], end = [{end}])", one,
                    frames=length)
    if kind in ("first", "last") and g.chance(0.5):
        count = g.draw([2, 3])
        once = part
        part = g.of(part, f"concat([{', '.join([once.name] * count)}], axis = 2)",
                    lambda v: np.concatenate([v] * count, 2))
    names = [part.name, x.name] if front else [x.name, part.name]
    part_frames = part.frames
    return g.wire(x, f"concat([{names[0]}, {names[1]}], axis = 2)",
                  lambda env: np.concatenate([env[k] for k in names], 2),
                  frames=lambda s: n(s) + count + 0 * part_frames(s), bound=max(x.bound, 4))


def compared_to_kept(g, x):
    part, count = kept(g, x)
    loops = g.most <= 1000 and x.exact and not x.features
    how = g.draw(["sum", "max", *(["loop"] if loops else [])])
    if how == "loop":
        one = loop(g, part, "last")
    elif how == "sum":
        one = g.of(part, f"sum_reduce({part.name}, axes = [2])",
                   lambda v: v.sum(2, keepdims=True), bound=count * x.bound)
    else:
        one = g.of(part, f"max_reduce({part.name}, axes = [2])", lambda v: v.max(2, keepdims=True))
    sign = g.draw(["+", "-"])
    check = part.frames
    n = x.frames
    return g.wire(x, f"{x.name} {sign} {one.name}",
                  lambda env: env[x.name] + (1 if sign == "+" else -1) * env[one.name],
                  bound=x.bound + one.bound, exact=x.exact and one.exact,
                  frames=lambda s: n(s) + 0 * check(s))


def running(g, x):
    x = g.wrapped(x) if x.exact else x
    exclusive = g.chance(0.5)

    def value(v):
        sums = np.cumsum(v, 2)
        return np.concatenate([np.zeros_like(v[:, :, :1]), sums[:, :, :-1]], 2) if exclusive \
            else sums
    out = g.of(x, f"tract_core_cumsum({x.name}, axis = 2, exclusive = {str(exclusive).lower()}, "
               "reverse = false)", value, bound=1 << 22)
    return g.wrapped(out) if out.exact else \
        g.of(out, f"tanh({out.name} * 0.01)", lambda v: np.tanh(v * 0.01), bound=1)


def loop(g, x, output="full"):
    """A loop over frames with an integer state; `output`: "full" or "last"."""
    if x.features or not x.exact:
        return x
    g.loops = True
    if x.bound > 8:
        x = g.wrapped(x)
    rows = g.of(x, f"transpose({x.name}, axes = [2, 0, 1])", lambda v: v.transpose(2, 0, 1))
    start = g.dice.integers(0, 5, [1, g.fixed_batch(), x.channels]).astype(float)
    n = x.frames

    def value(env):
        h, out = start[0], []
        for row in env[rows.name]:
            h = w.wrap(h * 3 + row)
            out.append(h)
        if output == "last":
            return h[None]
        return np.stack(out) if out else np.zeros([0, *h.shape])
    ran = g.put(f"tract_core_scan(body = 'mod_loop', scan = [('x', {rows.name}, 0, 1)], full = [], "
                f"state = [('h', {text_of(start)}, 'h_t')], output = [('h_t', '{output}', 0, 1)], "
                "skip = 0)", value)
    return g.wire(x, f"transpose({ran}, axes = [1, 2, 0])",
                  lambda env: env[ran].transpose(1, 2, 0), bound=8,
                  frames=(lambda s: 1 + 0 * n(s)) if output == "last" else n)


def gru(g, x, output="full"):
    if x.features:
        return x
    g.loops = True
    x = g.bounded(x)
    rows = g.of(x, f"transpose({x.name}, axes = [2, 0, 1])", lambda v: v.transpose(2, 0, 1))
    c = x.channels
    gates = {}
    for key in ("r", "z", "n", "hr", "hz", "hn"):
        gates[key] = np.round(g.dice.uniform(-0.5, 0.5, [c, c]), 3)
    gates["b"] = np.round(g.dice.uniform(-0.5, 0.5, [c]), 3)
    start = np.round(g.dice.uniform(-1, 1, [1, g.fixed_batch(), c]), 3)
    of = {k: g.put(f"matmul({rows.name}, {text_of(gates[k][None])}, transposeB = true)",
                   lambda env: None) for k in ("r", "z", "n")}
    h = {k: g.put(text_of(gates[k][None]), lambda env: None) for k in ("hr", "hz", "hn")}

    def value(env):
        full, last = w.gru(env[rows.name], gates, start[0])
        return last[None] if output == "last" else full
    ran = g.put(
        f"tract_core_scan(body = 'gru_loop', scan = [('r_x', {of['r']}, 0, 1), ('z_x', {of['z']}, "
        f"0, 1), ('n_x', {of['n']}, 0, 1)], full = [('W_r', {h['hr']}), ('W_z', {h['hz']}), ('W_n', "
        f"{h['hn']}), ('b_n', {text_of(gates['b'][None, None])})], state = [('h', {text_of(start)}, "
        f"'h_t')], output = [('h_t', '{output}', 0, 1)], skip = 0)", value)
    n = x.frames
    return g.wire(x, f"transpose({ran}, axes = [1, 2, 0])",
                  lambda env: env[ran].transpose(1, 2, 0), bound=1, exact=False,
                  frames=(lambda s: 1 + 0 * n(s)) if output == "last" else n)


def recurrent(g, x):
    if g.most > 1000:
        return running(g, x)
    return gru(g, x) if g.chance(0.3) else loop(g, x)


def resized(g, x):
    scale = g.draw([2, 2, 4, 3, 0.5])
    kind = g.draw(["nearest", "nearest", "linear", "cubic"])
    place = g.draw(["half_pixel", "asymmetric"])
    # For whole factors, the symmetric form has the same positions.
    named = g.draw([place, "half_pixel_symmetric"]) if place == "half_pixel" and scale > 1 else place
    nearest = g.draw(["floor", "round_prefer_ceil"])
    if kind == "nearest" and scale == 3 and place == "asymmetric" and nearest != "floor":
        nearest = "floor"
    n = x.frames
    scales = g.ones(x, ["1.0", "1.0", repr(float(scale))], "1.0")
    out = g.of(x, f"tract_core_resize({x.name}, scales = [{scales}], interpolator = '{kind}', "
               f"coord_transformer = '{named}', nearest_mode = '{nearest}')",
               lambda v: w.resize(v, scale, kind, place, nearest),
               frames=lambda s: int(np.floor(n(s) * scale)), bound=x.bound * (2 if kind == "cubic" else 1),
               exact=x.exact and kind == "nearest")
    return out


def regrouped(g, x):
    """Reshape channels to frames, or frames to channels if their number allows it."""
    n = x.frames
    if x.features:
        return x
    if x.channels > 1 and g.chance(0.6):
        c = x.channels
        turned = g.of(x, f"transpose({x.name}, axes = [0, 2, 1])", lambda v: v.transpose(0, 2, 1))
        merged = g.of(turned, f"reshape({turned.name}, shape = [-1], axis_start = 1, axis_count = 2)",
                      lambda v: v.reshape(v.shape[0], v.shape[1] * v.shape[2]))
        return g.of(merged, f"unsqueeze({merged.name}, axes = [1])", lambda v: v[:, None],
                    channels=1, frames=lambda s: n(s) * c)
    k = g.draw([2, 3])
    x = resized_nearest(g, x, k) if g.chance(0.5) else x
    m = x.frames
    c = x.channels

    def length(s):
        if m(s) % k:
            raise Undefined
        return m(s) // k

    def value(v):
        if v.shape[2] % k:
            raise Undefined("frames left over")
        return v.reshape(v.shape[0], v.shape[1], v.shape[2] // k, k)
    split = g.of(x, f"reshape({x.name}, shape = [-1, {k}], axis_start = 2, axis_count = 1)", value,
                 frames=length)
    turned = g.of(split, f"transpose({split.name}, axes = [0, 1, 3, 2])",
                  lambda v: v.transpose(0, 1, 3, 2))
    return g.of(turned, f"reshape({turned.name}, shape = [{c * k}], axis_start = 1, axis_count = 2)",
                lambda v: v.reshape(v.shape[0], c * k, v.shape[3]), channels=c * k)


def resized_nearest(g, x, k):
    n = x.frames
    scales = g.ones(x, ["1.0", "1.0", f"{k}.0"], "1.0")
    return g.of(x, f"tract_core_resize({x.name}, scales = [{scales}], interpolator = 'nearest', "
                "coord_transformer = 'asymmetric', nearest_mode = 'floor')",
                lambda v: np.repeat(v, k, 2), frames=lambda s: n(s) * k)


def resized_nearest_2(g, x):
    return resized_nearest(g, x, 2)


def shaped(v, x):
    """Return [frames] as a wire of one channel."""
    return v.reshape([1, 1, -1] + ([1] if x.features else []))


def by_position(g, x):
    count = g.frames_text(x)
    place = g.put(f"tract_core_range(0, {count}, 1)", lambda env: np.arange(env[x.name].shape[2]))
    axes = "[0, 1, 3]" if x.features else "[0, 1]"
    up = g.put(f"unsqueeze({place}, axes = {axes})", lambda env: shaped(env[place], x))
    at = g.size()
    how = g.draw(["before", "after", "number", "modulo", "chunk", "own"])
    if how in ("before", "after"):
        sign = "<" if how == "before" else ">="
        other = g.draw([2.0, -3.0])
        return g.wire(x, f"select({up} {sign} {at}, {x.name}, {x.name} * 0.0 + {other!r})",
                      lambda env: np.where((env[up] < at) == (how == "before"), env[x.name], other),
                      bound=max(3, x.bound))
    if how == "own":
        return g.wire(x, f"{x.name} + tract_core_cast({up}, to = 'f32') * 2.0",
                      lambda env: env[x.name] + env[up] * 2.0, bound=1 << 20)
    if how == "number":
        k = max(1, at)
        return g.wire(x, f"{x.name} + tract_core_cast({up} / {k}, to = 'f32')",
                      lambda env: env[x.name] + env[up] // k, bound=1 << 20)
    k = g.draw([2, 3, 5, 7])
    part = g.put(f"{up} - {up} / {k} * {k}", lambda env: env[up] % k)
    if how == "modulo":
        return g.wire(x, f"{x.name} + tract_core_cast({part}, to = 'f32')",
                      lambda env: env[x.name] + env[part], bound=x.bound + k)
    return g.wire(x, f"select({part} < 1, {x.name}, {x.name} * 0.0 + 1.0)",
                  lambda env: np.where(env[part] < 1, env[x.name], 1.0), bound=max(1, x.bound))


def table(g, x):
    """One row of a constant table per frame."""
    rows = g.draw([5, 40, 300])
    values = g.dice.integers(-4, 5, [1, 1, rows] + ([1] if x.features else [])).astype(float)
    full = g.constant(values)
    n = x.frames
    begin = g.draw([0, 0, 2])

    def length(s):
        if n(s) + begin > rows:
            raise Undefined
        return n(s)

    def value(env):
        m = env[x.name].shape[2]
        if m + begin > rows:
            raise Undefined("rows that do not exist")
        return env[x.name] + values[:, :, begin:begin + m]
    end = f"{g.frames_text(x)} + {begin}" if begin else g.frames_text(x)
    cutout = g.put(f"slice({full}, axes = [2], begin = [{begin}], end = [{end}])",
                   lambda env: None)
    return g.wire(x, f"{x.name} + {cutout}", value, frames=length, bound=x.bound + 4)


def branches(g, x):
    frames = g.size(1)
    one, other = int(g.dice.integers(0, frames + 1)), int(g.dice.integers(0, frames + 1))
    left = sliced(g, x, one, frames - one)
    right = pointwise(g, x)
    if g.chance(0.5) and frames % 2 == 0 and frames <= 4 * g.most:
        k = g.draw([2, 3])
        if frames % (k - 1) == 0:
            kernel = g.weights(x.channels, x.channels, k)
            shown = kernel[..., None] if x.features else kernel
            bias = np.zeros(x.channels)
            d = frames // (k - 1)
            more = ", 1" if x.features else ""
            n0 = right.frames
            y = right
            right = g.of(y, f"conv({y.name}, {text_of(shown)}, 0.0, stride = [1{more}], dilation = "
                         f"[{d}{more}], padding = [(0, 0){', (0, 0)' if x.features else ''}], "
                         "border = 'constant')",
                         lambda v: w.conv(v, kernel, bias, 1, d, 0, 0),
                         bound=2 * k * x.channels * y.bound,
                         frames=lambda s: w.windows(n0(s), k, d, 1, 0, 0))
    else:
        right = sliced(g, right, other, frames - other)
    return added(g, left, right)


def added(g, a, b):
    n, m = a.frames, b.frames

    def length(s):
        if n(s) != m(s):
            raise Undefined
        return n(s)

    def value(env):
        if env[a.name].shape[2] != env[b.name].shape[2]:
            raise Undefined("unequal lengths")
        return env[a.name] + env[b.name] * sign
    sign = g.draw([1, -1])
    return g.wire(a, f"{a.name} {'+' if sign > 0 else '-'} {b.name}", value, frames=length,
                  bound=a.bound + b.bound, exact=a.exact and b.exact,
                  channels=max(a.channels, b.channels))


def shifted(g, x):
    by = g.size(1)
    later = g.chance(0.5)
    cut = sliced(g, x, 0 if later else by, by if later else 0)
    moved = padded(g, cut, by if later else 0, 0 if later else by, g.draw(["constant", "replicated"]))
    return added(g, x, moved)


def pointwise(g, x):
    how = g.draw(["linear", "relu", "mix", "sigmoid"] if not x.exact else ["linear", "relu", "mix"])
    if how == "relu":
        return g.of(x, f"relu({x.name})", lambda v: np.maximum(v, 0))
    if how == "linear":
        a, b = g.draw([1.0, 2.0, -1.0, 3.0]), g.draw([1.0, -2.0, 3.0])
        return g.of(x, f"{x.name} * {a} + {b}", lambda v: v * a + b, bound=x.bound * abs(a) + 3)
    if how == "sigmoid":
        return g.of(x, f"sigmoid({x.name})", w.sigmoid, bound=1, exact=False)
    outs = g.draw([1, 2, 3])
    kernel = g.weights(outs, x.channels)
    shown = kernel[..., None, None] if x.features else kernel[..., None]
    pads = "(0, 0), (0, 0)" if x.features else "(0, 0)"
    return g.of(x, f"conv({x.name}, {text_of(shown)}, 0.0, padding = [{pads}], border = 'constant')",
                lambda v: np.einsum("oc,bc...->bo...", kernel, v), channels=outs,
                bound=2 * x.channels * x.bound)


def static_side(g, x):
    """Combine the stream with a function of a static input."""
    count, channels = g.draw([1, 2, 3, 6]), x.channels
    name = g.external(f"@, {channels}, {count}", lambda s: [g.batch, channels, count], False)
    y = Wire(name, channels, lambda s: count, 4)
    for _ in range(g.draw([0, 1, 1, 2])):
        y = g.bounded(g.draw([lambda a, b: loop(a, b), lambda a, b: gru(a, b), static_conv,
                              lambda a, b: running(a, b)])(g, y))
    if g.chance(0.3):
        y = g.draw([loop, gru] if y.exact else [gru])(g, y, "last")
    else:
        y = g.of(y, f"sum_reduce({y.name}, axes = [2])", lambda v: v.sum(2, keepdims=True),
                 bound=y.bound * 8)
    if x.features:
        y = g.of(y, f"unsqueeze({y.name}, axes = [3])", lambda v: v[..., None])
    if g.chance(0.3):
        g.outputs.append((y.name, y.exact))
    return g.wire(x, f"{x.name} + {y.name}", lambda env: env[x.name] + env[y.name],
                  bound=x.bound + y.bound, exact=x.exact and y.exact)


def static_conv(g, y):
    kernel = g.weights(y.channels, y.channels, 2)
    return g.of(y, f"conv({y.name}, {text_of(kernel)}, 0.0, padding = [(1, 0)], border = 'constant')",
                lambda v: w.conv(v, kernel, np.zeros(len(kernel)), 1, 1, 1, 0),
                bound=4 * y.channels * y.bound)


def tied(g, x):
    """Another input with a separate symbol, which an assertion ties to S."""
    k = g.draw([2, 3, 4])
    slower = g.chance(0.5)
    symbol = f"R{len(g.asserts)}"
    g.asserts.append(f"S == {k}*{symbol}" if slower else f"{symbol} == {k}*S")
    name = g.external(f"@, 2, {symbol}",
                      lambda s: [g.batch, 2, s // k if slower else s * k])

    def length(s):
        if slower and s % k:
            raise Undefined
        return s // k if slower else s * k

    def value(v):
        if slower and g.stream_frames % k:
            raise Undefined("frames left over")
        return v
    y = Wire(name, 2, length, 4)
    y = g.of(y, f"{name} * 2.0", lambda v: value(v) * 2, bound=8)
    g.all.append(y)
    y = g.bounded(g.draw([conv, trim, running, padded])(g, y))
    g.all.append(y)
    g.outputs.append(y)
    return x


def second_stream(g, x):
    """Another input whose length is tied to that of the first, as an output or combined with it."""
    if g.chance(0.3):
        return tied(g, x)
    factor, offset = g.draw([(1, 0), (1, 0), (2, 0), (1, 3), (2, 1), (4, 0)])
    if g.chance(0.3) and offset:
        offset = g.size(1)
    y = g.stream(g.draw([1, 2]), factor, offset, 0)
    g.all.append(y)
    for _ in range(g.draw([0, 1])):
        y = g.bounded(g.draw([conv, trim, running, padded])(g, y))
        g.all.append(y)
    g.outputs.append(y)
    return x


def weighed(g, x):
    """The mean of all frames, weighted by a softmax over them."""
    x = g.bounded(x)
    scores = g.of(x, f"{x.name} * 0.3", lambda v: v * 0.3)
    if g.chance(0.5):
        scores = g.of(scores, f"sum_reduce({scores.name}, axes = [1])",
                      lambda v: v.sum(1, keepdims=True))
    other = g.draw([x, pointwise(g, x)])
    other = other if other.channels == x.channels else x

    def value(env):
        z = env[scores.name]
        if z.shape[2] == 0:
            raise Undefined("nothing to weigh")
        p = np.exp(z - z.max(2, keepdims=True))
        return (p / p.sum(2, keepdims=True) * env[x.name] * env[other.name]).sum(2, keepdims=True)
    weights = g.put(f"softmax({scores.name}, axes = [2])", lambda env: None)
    return g.wire(x, f"sum_reduce({weights} * {x.name} * {other.name}, axes = [2])", value,
                  exact=False)


def known_at_the_end(g, x):
    how = g.draw(["sum", "max", "argmax", "last", "tail", "gru", "length", "weighed"])
    if how in ("last", "gru") and (g.most > 1000 or x.features or not x.exact):
        how = "sum"
    if how == "sum":
        y = g.wrapped(x) if x.exact else x
        y = g.of(y, f"sum_reduce({y.name}, axes = [2])", lambda v: v.sum(2, keepdims=True))
    elif how in ("max", "argmax"):
        def value(v):
            if v.shape[2] == 0:
                raise Undefined("nothing to choose from")
            return v.max(2, keepdims=True) if how == "max" else v.argmax(2)[:, :, None]
        if not x.exact:
            return x
        y = g.of(x, f"{how}_reduce({x.name}, axes = [2])", value)
    elif how == "last":
        y = loop(g, x, "last")
    elif how == "gru":
        y = gru(g, x, "last")
    elif how == "weighed":
        y = weighed(g, x)
    elif how == "length":
        text = g.frames_text(x)
        y = Wire(g.put(f"tract_core_cast({text}, to = 'f32')",
                       lambda env: np.array(float(env[x.name].shape[2]))), 1, None, 0)
    else:
        k = g.draw([1, 2, 3]) if g.chance(0.7) else g.size(1)

        def value(v):
            if v.shape[2] < k:
                raise Undefined("frames that do not exist")
            return v[:, :, -k:]
        count = g.frames_text(x)
        y = g.of(x, f"slice({x.name}, axes = [2], begin = [{count} - {k}], end = [{count}])", value)
    g.outputs.append((y.name, y.exact))
    return x


def gathered(g, x):
    """Frames at indices that count up, shifted and clamped at the ends."""
    count = g.frames_text(x)
    by = g.draw([-1, 1]) * g.size(1)
    place = g.put(f"tract_core_range(0, {count}, 1)", lambda env: None)
    moved = g.put(f"{place} {'+' if by >= 0 else '-'} {abs(by)}", lambda env: None)
    low = g.put(f"max({moved}, 0)", lambda env: None)
    at = g.put(f"min({low}, {count} - 1)", lambda env: None)
    n = x.frames

    def value(v):
        m = v.shape[2]
        if m == 0:
            raise Undefined("nothing to gather")
        return v[:, :, np.clip(np.arange(m) + by, 0, m - 1)]

    def length(s):
        if n(s) == 0:
            raise Undefined
        return n(s)
    return g.of(x, f"tract_core_gather({x.name}, {at}, axis = 2)", value, frames=length)


def stft(g, x):
    """A Fourier transform of four frames, which is exact in integers."""
    if x.features:
        return x
    hop = g.draw([1, 2, 3, 4, 5])
    c = x.channels
    pair = g.of(x, f"unsqueeze({x.name}, axes = [3])", lambda v: v[..., None])
    both = g.wire(pair, f"concat([{pair.name}, {pair.name} * 0.0], axis = 3)",
                  lambda env: np.concatenate([env[pair.name], env[pair.name] * 0], 3))
    n = x.frames

    def length(s):
        if n(s) < 4:
            raise Undefined
        return (n(s) - 4) // hop + 1

    def value(v):
        if v.shape[2] < 4:
            raise Undefined("less than a frame")
        m = (v.shape[2] - 4) // hop + 1
        at = np.arange(m)[:, None] * hop + np.arange(4)
        z = np.fft.fft(v[..., 0][:, :, at], axis=3)
        z = np.stack([z.real, z.imag], -1)
        return np.round(z) if x.exact else z
    out = g.of(both, f"tract_core_stft({both.name}, axis = 2, frame = 4, stride = {hop})", value)
    moved = g.of(out, f"transpose({out.name}, axes = [0, 1, 3, 4, 2])",
                 lambda v: v.transpose(0, 1, 3, 4, 2))
    return g.of(moved, f"reshape({moved.name}, shape = [{c * 8}], axis_start = 1, axis_count = 3)",
                lambda v: v.reshape(v.shape[0], c * 8, v.shape[4]), channels=c * 8, frames=length,
                bound=4 * x.bound)


def attention(g, x):
    """Attention to a band of frames, or to chunks around each frame."""
    if x.features:
        return x
    x = g.bounded(x)
    g.square = True
    rows = g.of(x, f"transpose({x.name}, axes = [0, 2, 1])", lambda v: v.transpose(0, 2, 1))
    count = g.frames_text(x)
    place = g.put(f"tract_core_range(0, {count}, 1)", lambda env: None)
    chunk = g.draw([1, 1, 2, 4, 7])
    if chunk > 1:
        place = g.put(f"{place} / {chunk}", lambda env: None)
    past, future = g.draw([0, 1, 2, 5, 30]), g.draw([0, 0, 1, 3])
    distance = g.put(f"unsqueeze({place}, axes = [0, 2]) - unsqueeze({place}, axes = [0, 1])",
                  lambda env: None)
    seen = g.put(f"and(ge({distance}, {-future}), le({distance}, {past}))", lambda env: None)
    scores = g.put(f"matmul({rows.name}, {rows.name}, transposeB = true) * 0.05", lambda env: None)
    hidden = f"{scores} * 0.0 - {g.draw(['1.0 / 0.0', '100000.0'])}"
    weights = g.put(f"softmax(select({seen}, {scores}, {hidden}), axes = [2])", lambda env: None)

    def value(env):
        v = env[rows.name]
        i = np.arange(v.shape[1]) // chunk
        d = i[:, None] - i[None]
        z = np.where((d >= -future) & (d <= past), v @ v.transpose(0, 2, 1) * 0.05, -np.inf)
        if v.shape[1] == 0:
            return v
        p = np.exp(z - z.max(2, keepdims=True))
        return p / p.sum(2, keepdims=True) @ v
    out = g.put(f"matmul({weights}, {rows.name})", value)
    return g.wire(x, f"transpose({out}, axes = [0, 2, 1])",
                  lambda env: env[out].transpose(0, 2, 1), exact=False)


def length_as_data(g, x):
    """Combine the frames with the length of the wire: a stream is refused unless the length is known."""
    count = g.frames_text(x)
    as_float = g.put(f"tract_core_cast({count}, to = 'f32')", lambda env: None)
    return g.wire(x, f"{x.name} + {as_float}", lambda env: env[x.name] + env[x.name].shape[2],
                  bound=1 << 20)


def normed(g, x):
    if x.features:
        return x
    x = g.bounded(x)
    alpha = 0.75
    start = np.round(g.dice.uniform(1, 2, [g.fixed_batch(), x.channels]), 3)

    def value(v):
        s, out = start, []
        for t in range(v.shape[2]):
            s = v[:, :, t] * (1 - alpha) + s * alpha
            out.append((v[:, :, t] - s) / 2.0)
        return np.stack(out, 2) if out else v
    return g.of(x, f"tract_extra_exp_mean_norm({x.name}, {text_of(start)}, axis = 2, alpha = "
                f"{alpha}, scaling_factor = 2.0)", value, exact=False)


def steady(g, x):
    """One frame, repeated to the length of the stream, with windows and slices, combined with the stream."""
    channels = x.channels
    if g.chance(0.5) or x.features:
        shape = [1, channels, 1] + ([x.features] if x.features else [])
        values = g.dice.integers(-4, 5, shape).astype(float)
        one = g.constant(values)
    else:
        one = g.external(f"@, {channels}, 1", lambda s: [g.batch, channels, 1], False)
    repeats = g.ones(x, ["1", "1", g.frames_text(x)])
    y = g.wire(x, f"tile({one}, repeats = [{repeats}])",
               lambda env: np.repeat(env[one], env[x.name].shape[2], 2), bound=4, exact=True)
    return added_if_equal(g, x, processed(g, y))


def counted(g, x):
    """The frame numbers as a stream, with windows and slices, combined with the stream."""
    place = g.put(f"tract_core_range(0, {g.frames_text(x)}, 1)",
                  lambda env: np.arange(env[x.name].shape[2]))
    axes = "[0, 1, 3]" if x.features else "[0, 1]"
    up = g.put(f"unsqueeze({place}, axes = {axes})", lambda env: shaped(env[place], x))
    y = g.wire(x, f"tract_core_cast({up}, to = 'f32')", lambda env: env[up] * 1.0, channels=1,
               bound=1 << 20, exact=True)
    y.features = 1 if x.features else 0
    return added_if_equal(g, x, processed(g, g.wrapped(y)))


def processed(g, y):
    for _ in range(g.draw([0, 1, 1, 2])):
        y = g.bounded(g.draw([conv, trim, padded, running, strided, shifted, pool])(g, y))
    return y


def added_if_equal(g, x, y):
    """Add y to x if their lengths are equal; else output both."""
    if y.channels in (1, x.channels) and same_length(x, y):
        return added(g, x, y)
    g.all.append(y)
    g.outputs.append(y)
    return x


def across(g, x):
    """Attention of each frame to the frames of a static input."""
    if x.features:
        return x
    x = g.bounded(x)
    c = x.channels
    name = g.external(f"@, 5, {c}", lambda s: [g.batch, 5, c], False)
    rows = g.of(x, f"transpose({x.name}, axes = [0, 2, 1])", lambda v: v.transpose(0, 2, 1))
    scores = g.put(f"matmul({rows.name}, {name}, transposeB = true) * 0.05",
                   lambda env: env[rows.name] @ env[name].transpose(0, 2, 1) * 0.05)

    def value(env):
        p = np.exp(env[scores])
        return p / p.sum(2, keepdims=True) @ env[name]
    out = g.put(f"matmul(softmax({scores}, axes = [2]), {name})", value)
    return g.wire(x, f"transpose({out}, axes = [0, 2, 1])", lambda env: env[out].transpose(0, 2, 1),
                  exact=False, bound=4)


def pair_loop(g, x):
    """A loop over two wires of different delays: one begins later, and the other ends earlier."""
    if x.features or not x.exact or g.most > 1000:
        return x
    g.loops = True
    x = g.wrapped(x)
    by = g.size(1)
    one, other = sliced(g, x, by, 0), sliced(g, x, 0, by)
    if g.chance(0.3):
        one, other = other, one
    rows = [g.of(y, f"transpose({y.name}, axes = [2, 0, 1])", lambda v: v.transpose(2, 0, 1))
            for y in (one, other)]
    start = g.dice.integers(0, 5, [1, g.fixed_batch(), x.channels]).astype(float)

    def value(env):
        h, out = start[0], []
        for a, b in zip(env[rows[0].name], env[rows[1].name]):
            h = w.wrap(h * 3 + a + b * 5)
            out.append(h)
        return np.stack(out) if out else np.zeros([0, *h.shape])
    ran = g.put(f"tract_core_scan(body = 'pair_loop', scan = [('x', {rows[0].name}, 0, 1), ('z', "
                f"{rows[1].name}, 0, 1)], full = [], state = [('h', {text_of(start)}, 'h_t')], "
                "output = [('h_t', 'full', 0, 1)], skip = 0)", value)
    return g.wire(one, f"transpose({ran}, axes = [1, 2, 0])",
                  lambda env: env[ran].transpose(1, 2, 0), bound=8)


def picked(g, x):
    """Gather a few constant indices, in any order, and combine with all frames."""
    at = [g.size() for _ in range(g.draw([1, 2, 3]))]
    n = x.frames

    def length(s):
        if n(s) <= max(at):
            raise Undefined
        return n(s)

    def value(v):
        if v.shape[2] <= max(at):
            raise Undefined("frames that do not exist")
        return v[:, :, at]
    y = g.of(x, f"tract_core_gather({x.name}, {at}, axis = 2)", value)
    y = g.of(y, f"sum_reduce({y.name}, axes = [2])", lambda v: v.sum(2, keepdims=True))
    return g.wire(x, f"{x.name} - {y.name}", lambda env: env[x.name] - env[y.name], frames=length,
                  bound=4 * x.bound)


def at_most(g, x):
    """Crop the stream to a fixed number of frames, if it has that many."""
    most = g.size(1)
    count = g.frames_text(x)
    n = x.frames
    end = g.put(f"min({count}, {most})", lambda env: None)
    return g.of(x, f"slice({x.name}, axes = [2], begin = [0], end = [{end}])",
                lambda v: v[:, :, :most], frames=lambda s: min(n(s), most))


def every_other(g, x):
    """Interleave the frames of two branches."""
    k = g.draw([2, 3])
    x = resized_nearest(g, x, k)
    parts = [g.of(x, f"tract_core_downsample({x.name}, axis = 2, stride = {k}, modulo = {m})",
                  lambda v, m=m: v[:, :, m::k]) for m in range(k)]
    n, c = x.frames, x.channels
    y = g.wire(x, f"concat([{', '.join(p.name for p in parts)}], axis = 1)",
               lambda env: np.concatenate([env[p.name] for p in parts], 1), channels=c * k,
               frames=lambda s: n(s) // k)
    if c * k <= 4:
        return y
    return g.of(y, f"slice({y.name}, axes = [1], begin = [1], end = [3])", lambda v: v[:, 1:3],
                channels=2)


LINKS = [(14, trim), (9, padded), (14, conv), (7, deconv), (7, pool), (5, strided), (6, joined),
         (5, compared_to_kept), (5, running), (5, recurrent), (6, resized), (5, regrouped),
         (6, by_position), (2, table), (6, branches), (5, shifted), (4, pointwise),
         (4, static_side), (3, second_stream), (6, known_at_the_end), (3, gathered), (2, stft),
         (2, attention), (1, length_as_data), (2, normed),
         (4, steady), (3, counted), (1, across), (3, pair_loop), (3, picked), (3, at_most),
         (2, every_other)]
OF_INTEGERS = [trim, padded, joined, strided, shifted, gathered, at_most, picked, resized_nearest_2]


def random_graph(seed):
    g = Graph(seed)
    kind = g.draw(["f32", "f32", "f32", "f32", "i64"])
    x = g.stream(g.draw([1, 2]), g.draw([1, 1, 1, 2, 3]), 0, g.features, kind)
    g.all.append(x)
    if kind == "i64":
        for _ in range(g.draw([0, 1, 2])):
            x = g.draw(OF_INTEGERS)(g, x)
            g.all.append(x)
        x = g.of(x, f"tract_core_cast({x.name}, to = 'f32')", lambda v: v)
        x = g.bounded(x)
    weights = np.array([k for k, _ in LINKS], float)
    kept_wires = [x]
    for _ in range(g.draw([1, 2, 2, 3, 3, 4, 5, 6])):
        link = LINKS[int(g.dice.choice(len(LINKS), p=weights / weights.sum()))][1]
        x = g.bounded(link(g, x))
        g.all.append(x)
        kept_wires.append(x)
        if g.chance(0.1):
            other = g.draw(kept_wires)
            if other.name != x.name and other.channels in (1, x.channels) and \
                    other.features == x.features:
                x = g.bounded(added(g, x, other)) if same_length(x, other) else x
                g.all.append(x)
    g.outputs.insert(0, x)
    if g.chance(0.3):
        g.outputs.append(g.draw(kept_wires))
    return g


def same_length(a, b):
    try:
        return all(a.frames(s) == b.frames(s) for s in (5000, 777777, 1234567))
    except Undefined:
        return False
