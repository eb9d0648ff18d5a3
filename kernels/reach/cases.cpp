#include <algorithm>
#include <memory>

#include "kernels/depthwise/depthwise.h"
#include "kernels/fft/fft.h"
#include "kernels/int8/int8.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/pointwise/pointwise.h"
#include "kernels/pool/pool.h"
#include "kernels/reach/reach.h"
#include "kernels/reduce/reduce.h"
#include "kernels/rnn/rnn.h"
#include "kernels/softmax/softmax.h"

namespace rill::kernels {
namespace {

/// Floats aligned to 64 bytes, padded at the end for whole vectors.
class Floats {
 public:
  explicit Floats(int64_t count, float value = 0.25f)
      : floats_(static_cast<size_t>(count + 32), value) {}
  float* data() {
    const auto at = reinterpret_cast<uintptr_t>(floats_.data());
    return floats_.data() + (64 - at % 64) % 64 / 4;
  }

 private:
  std::vector<float> floats_;
};

int64_t bytes_of(int64_t floats) { return 4 * floats; }

/// Return the extents as text, such as "8x96x288".
std::string joined(std::initializer_list<int64_t> extents) {
  std::string out;
  for (const int64_t extent : extents) out += (out.empty() ? "" : "x") + std::to_string(extent);
  return out;
}

/// The function of a kernel, and its name in the list of its family.
template <class Function>
struct Named {
  Function function;
  const char* name;
};
/// Return the name of a function in a list.
template <class Function, size_t kCount>
std::string name_of(Function function, const Named<Function> (&list)[kCount]) {
  for (const auto& entry : list) {
    if (entry.function == function) return entry.name;
  }
  return "unknown";
}

ReachCase matmul_case(int64_t m, int64_t k, int64_t n) {
  ReachCase work{
      "matmul", joined({m, k, n}), 2.0 * double(m * k * n), bytes_of(m * k + k * n + m * n), {}};
  work.make = [=](Tier tier) {
    const MatmulF32& kernel = matmul_f32(tier);
    struct Data {
      Floats a, b, c, panels;
      MatmulF32Args args;
    };
    auto data = std::make_shared<Data>(Data{Floats(m * k),
                                            Floats(k * n),
                                            Floats(m * n),
                                            Floats(matmul_f32_packed_floats(kernel, k, n)),
                                            {}});
    matmul_f32_pack(kernel, k, n, data->b.data(), n, 1, data->panels.data());
    MatmulF32Args& args = data->args;
    args.m = m;
    args.n = args.ldc = n;
    args.segment_len = args.lda = k;
    args.a = data->a.data();
    args.b = data->panels.data();
    args.c = data->c.data();
    return ReachRun{kernel.name, [data, &kernel] { kernel.run(data->args); }};
  };
  return work;
}

/// Return the case of an f32 matmul with f16 weights, which have half the bytes.
ReachCase f16_case(int64_t m, int64_t k, int64_t n) {
  ReachCase work = matmul_case(m, k, n);
  work.family = "matmul f16";
  work.bytes -= 2 * k * n;
  work.make = [=](Tier tier) {
    const MatmulPacked& kernel = matmul_packed(tier, PackedFormat::kF16);
    const bool pays = kernel.tier == tier && tier != Tier::kSse42;
    if (!pays) return matmul_case(m, k, n).make(tier);  // as plans do
    struct Data {
      Floats a, b, c, panels, scratch;
      MatmulPackedArgs args;
    };
    auto data = std::make_shared<Data>(Data{Floats(m * k),
                                            Floats(k * n),
                                            Floats(m * n),
                                            Floats(matmul_packed_bytes(kernel, k, n) / 4),
                                            Floats(0),
                                            {}});
    auto* panels = reinterpret_cast<std::byte*>(data->panels.data());
    matmul_floats_pack(kernel, k, n, data->b.data(), n, 1, panels);
    MatmulF32Args& args = data->args.product;
    args.m = m;
    args.n = args.ldc = n;
    args.segment_len = args.lda = k;
    args.a = data->a.data();
    args.c = data->c.data();
    data->scratch = Floats(matmul_packed_scratch_floats(kernel, args));
    data->args.b = panels;
    data->args.scratch = data->scratch.data();
    return ReachRun{kernel.name, [data, &kernel] { kernel.run(data->args); }};
  };
  return work;
}

/// Return the case of an int8 matmul with 32-bit sums.
ReachCase int8_case(int64_t m, int64_t k, int64_t n) {
  ReachCase work{"matmul int8",
                 joined({m, k, n}),
                 2.0 * double(m * k * n),
                 m * k + k * n + bytes_of(m * n),
                 {}};
  work.make = [=](Tier tier) {
    const MatmulInt8& kernel = matmul_int8(tier);
    struct Data {
      Floats a, b, c, start, scratch;
      MatmulInt8Args args;
    };
    auto data = std::make_shared<Data>(
        Data{Floats(m * k / 4), Floats(matmul_int8_bytes(kernel, k, n) / 4), Floats(m * n),
             Floats(n), Floats(matmul_int8_scratch_bytes(kernel, m, k) / 4), {}});
    MatmulInt8Args& args = data->args;
    args.m = m;
    args.n = args.ldc = n;
    args.segment_len = args.lda = k;
    args.a = reinterpret_cast<const uint8_t*>(data->a.data());
    args.b = reinterpret_cast<const int8_t*>(data->b.data());
    args.start = reinterpret_cast<const int32_t*>(data->start.data());
    args.c = reinterpret_cast<int32_t*>(data->c.data());
    args.scratch = reinterpret_cast<uint8_t*>(data->scratch.data());
    return ReachRun{"int8_" + std::string(tier_name(tier)),
                    [data, &kernel] { kernel.run(data->args); }};
  };
  return work;
}

ReachCase depthwise_case(int64_t frames, int64_t channels, int64_t taps) {
  ReachCase work{"depthwise",
                 joined({frames, channels, taps}),
                 2.0 * double(frames * channels * taps),
                 bytes_of((2 * frames + 2 * taps) * channels),
                 {}};
  work.make = [=](Tier tier) {
    const DepthwiseF32& kernel = depthwise_f32(tier);
    struct Data {
      Floats x, w, y;
      DepthwiseF32Args args;
    };
    auto data = std::make_shared<Data>(Data{Floats((frames + taps) * channels),
                                            Floats(taps * channels),
                                            Floats(frames * channels),
                                            {}});
    DepthwiseF32Args& args = data->args;
    args.frames = frames;
    args.channels = channels;
    args.taps = taps;
    args.x = data->x.data();
    args.x_frame_stride = args.x_tap_stride = channels;
    args.w = data->w.data();
    args.y = data->y.data();
    args.y_frame_stride = channels;
    return ReachRun{kernel.name, [data, &kernel] { kernel.run(data->args); }};
  };
  return work;
}

ReachCase pool_case(int64_t frames, int64_t channels, int64_t taps, bool max) {
  ReachCase work{max ? "pool max" : "pool sum",
                 joined({frames, channels, taps}),
                 0,
                 bytes_of((2 * frames + taps) * channels),
                 {}};
  work.make = [=](Tier tier) {
    const PoolF32& kernel = pool_f32(tier);
    struct Data {
      Floats x, y;
      PoolF32Args args;
    };
    auto data = std::make_shared<Data>(
        Data{Floats((frames + taps) * channels), Floats(frames * channels), {}});
    PoolF32Args& args = data->args;
    args.frames = frames;
    args.channels = channels;
    args.taps = taps;
    args.x = data->x.data();
    args.x_frame_stride = args.x_tap_stride = channels;
    args.y = data->y.data();
    args.y_frame_stride = channels;
    args.scale = 1.0f / float(taps);
    const auto run = max ? kernel.max : kernel.sum;
    return ReachRun{kernel.name, [data, run] { run(data->args); }};
  };
  return work;
}

/// Arrays of a recurrent layer with `gates` gates.
struct Recurrent {
  Recurrent(Tier tier, int64_t gates, int64_t steps, int64_t hidden)
      : x(steps * gates * hidden),
        w(rnn_f32_packed_floats(rnn_f32(tier), gates, hidden)),
        h(hidden),
        c(hidden),
        y(steps * hidden),
        scratch(hidden) {
    Floats plain(hidden * gates * hidden, 0.01f);
    rnn_f32_pack(rnn_f32(tier), gates, hidden, plain.data(), w.data());
  }
  Floats x, w, h, c, y, scratch;
  RnnLane lane{{}, {h.data(), scratch.data()}, c.data(), y.data()};
};

ReachCase rnn_case(int64_t steps, int64_t hidden, bool lstm) {
  const int64_t gates = lstm ? 4 : 3;
  ReachCase work{lstm ? "lstm" : "gru",
                 joined({steps, hidden}),
                 2.0 * double(steps * gates * hidden * hidden),
                 // The weights are read at every step.
                 steps * bytes_of(gates * hidden * hidden),
                 {}};
  work.make = [=](Tier tier) {
    const GruF32& loop = gru_f32(tier);
    const LstmF32& cells = lstm_f32(tier);
    auto data = std::make_shared<Recurrent>(tier, gates, steps, hidden);
    for (int64_t gate = 0; gate < gates; ++gate) {
      data->lane.x[gate] = data->x.data() + gate * hidden;
    }
    RnnF32Args args;
    args.steps = steps;
    args.hidden = hidden;
    args.x_stride = gates * hidden;
    args.y_stride = hidden;
    args.w = data->w.data();
    if (!lstm) args.b_hn = data->h.data();
    args.lane = &data->lane;
    return ReachRun{lstm ? cells.name : loop.name, [=, &loop, &cells] {
                      static_cast<void>(data);
                      lstm ? cells.run(args) : loop.run(args);
                    }};
  };
  return work;
}

#define RILL_KERNEL(needs, name) {name, #name},

ReachCase softmax_case(int64_t rows, int64_t n, bool log) {
  static constexpr Named<SoftmaxF32Fn> kList[] = {
#include "kernels/softmax/kernels.inc"
  };
  ReachCase work{log ? "log softmax" : "softmax", joined({rows, n}), 0, bytes_of(2 * rows * n), {}};
  work.make = [=](Tier tier) {
    const SoftmaxF32Fn run = softmax_f32(tier);
    auto x = std::make_shared<Floats>(rows * n);
    auto y = std::make_shared<Floats>(rows * n);
    const SoftmaxF32Args args{rows, n, x->data(), n, y->data(), n, log};
    return ReachRun{name_of(run, kList), [x, y, run, args] { run(args); }};
  };
  return work;
}

ReachCase reduce_case(int64_t outer, int64_t reduced, int64_t inner) {
  static constexpr Named<ReduceF32Fn> kList[] = {
#include "kernels/reduce/kernels.inc"
  };
  ReachCase work{
      "reduce", joined({outer, reduced, inner}), 0, bytes_of(outer * inner * (reduced + 1)), {}};
  work.make = [=](Tier tier) {
    const ReduceF32Fn run = reduce_f32(tier);
    auto x = std::make_shared<Floats>(outer * reduced * inner);
    auto y = std::make_shared<Floats>(outer * inner);
    ReduceF32Args args;
    args.outer = outer;
    args.reduced = reduced;
    args.inner = inner;
    args.x = x->data();
    args.x_outer = reduced * inner;
    args.x_reduced = inner;
    args.x_inner = 1;
    args.y = y->data();
    args.y_outer = inner;
    args.y_inner = 1;
    return ReachRun{name_of(run, kList), [x, y, run, args] { run(args); }};
  };
  return work;
}

ReachCase pointwise_case(const char* name, PointwiseOp op, int inputs, int64_t rows, int64_t n) {
  static constexpr Named<PointwiseFn> kList[] = {
#include "kernels/pointwise/kernels.inc"
  };
  ReachCase work{name, joined({rows, n}), 0, bytes_of((inputs + 1) * rows * n), {}};
  work.make = [=](Tier tier) {
    struct Data {
      Floats x, z, y, scratch;
      PointwiseArgs args;
    };
    auto data =
        std::make_shared<Data>(Data{Floats(rows * n),
                                    Floats(rows * n),
                                    Floats(rows * n),
                                    Floats(static_cast<int64_t>(pointwise_scratch_floats())),
                                    {}});
    PointwiseArgs& args = data->args;
    args.extent[2] = rows;
    args.extent[3] = n;
    args.inputs = inputs;
    for (int i = 0; i < inputs; ++i) {
      args.in[i].ptr = i == 0 ? data->x.data() : data->z.data();
      args.in[i].stride[2] = n;
      args.in[i].stride[3] = 1;
    }
    args.out = data->y.data();
    args.out_stride[2] = n;
    args.out_stride[3] = 1;
    args.code_len = 1;
    args.code[0].op = op;
    args.code[0].dst = 2;
    args.code[0].b = 1;
    pointwise_collapse(&args);
    const PointwiseFn run = pointwise_f32(tier);
    return ReachRun{name_of(run, kList), [data, run] { run(data->args, data->scratch.data()); }};
  };
  return work;
}

#undef RILL_KERNEL

ReachCase fft_case(int64_t n, FftKind kind) {
  const bool real = kind == FftKind::kReal;
  double log2 = 0;
  while ((int64_t{1} << static_cast<int>(log2)) < n) log2 += 1;
  // A radix-2 FFT counts 5 n log2 n operations, half of that on real input.
  ReachCase work{real ? "real fft" : "fft",
                 joined({n}),
                 (real ? 2.5 : 5.0) * double(n) * log2,
                 bytes_of(real ? 2 * n : 4 * n),
                 {}};
  work.make = [=](Tier tier) {
    struct Data {
      FftPlan plan;
      Floats tables, scratch, re, im, out_re, out_im;
    };
    auto data =
        std::make_shared<Data>(Data{{},
                                    Floats(static_cast<int64_t>(fft_tables_floats(n, kind))),
                                    Floats(0),
                                    Floats(n),
                                    Floats(n),
                                    Floats(n),
                                    Floats(n)});
    fft_init(&data->plan, n, kind, data->tables.data(), tier);
    data->scratch = Floats(static_cast<int64_t>(fft_scratch_floats(data->plan)));
    const std::string kernel = std::string(real ? "rfft_f32_" : "fft_f32_") + tier_name(tier);
    return ReachRun{kernel, [data, real, n] {
                      if (real) {
                        rfft_execute(data->plan, data->re.data(), nullptr, data->out_re.data(),
                                     data->out_im.data(), n / 2 + 1, data->scratch.data());
                      } else {
                        fft_execute(data->plan, data->re.data(), data->im.data(),
                                    data->out_re.data(), data->out_im.data(), false,
                                    data->scratch.data());
                      }
                    }};
  };
  return work;
}

}  // namespace

std::vector<ReachCase> reach_cases() {
  return {
      matmul_case(512, 512, 512),
      matmul_case(256, 256, 256),
      matmul_case(197, 768, 768),
      matmul_case(8, 96, 288),
      matmul_case(4, 320, 128),
      matmul_case(1, 96, 288),
      matmul_case(1, 1024, 1024),
      matmul_case(1, 4096, 4096),
      f16_case(512, 512, 512),
      f16_case(8, 1024, 1024),
      f16_case(1, 1024, 1024),
      f16_case(1, 4096, 4096),
      int8_case(512, 512, 512),
      int8_case(8, 1024, 1024),
      int8_case(1, 1024, 1024),
      int8_case(1, 4096, 4096),
      depthwise_case(4, 64, 13),
      depthwise_case(100, 64, 9),
      pool_case(100, 64, 3, true),
      pool_case(100, 64, 3, false),
      rnn_case(8, 96, false),
      rnn_case(8, 128, true),
      softmax_case(8, 64, false),
      softmax_case(4, 12, true),
      softmax_case(1, 4096, true),
      reduce_case(8, 64, 1),
      reduce_case(1, 100, 64),
      pointwise_case("add", PointwiseOp::kAdd, 2, 64, 64),
      pointwise_case("sigmoid", PointwiseOp::kSigmoid, 1, 8, 96),
      pointwise_case("tanh", PointwiseOp::kTanh, 1, 1, 4096),
      fft_case(400, FftKind::kReal),
      fft_case(512, FftKind::kReal),
      fft_case(1024, FftKind::kComplex),
  };
}

}  // namespace rill::kernels
