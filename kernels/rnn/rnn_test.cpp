#include "kernels/rnn/rnn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/math/functions.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/test_support.h"
#include "kernels/matmul_packed/matmul_packed.h"
#include "kernels/matmul_packed/rounding_support.h"

namespace rill::kernels {
namespace {

/// A float whose multiply-add rounds twice, as on SSE4.2.
struct Unfused {
  float v = 0.0f;
  Unfused() = default;
  Unfused(float value) : v(value) {}
};
Unfused operator+(Unfused a, Unfused b) { return a.v + b.v; }
Unfused operator*(Unfused a, Unfused b) { return a.v * b.v; }
Unfused mul_add(Unfused a, Unfused b, Unfused c) { return a * b + c; }
Unfused divide(Unfused a, Unfused b) { return a.v / b.v; }
Unfused operator-(Unfused a, Unfused b) { return a.v - b.v; }
Unfused negate(Unfused a) { return -a.v; }
Unfused magnitude(Unfused a) { return std::fabs(a.v); }
Unfused with_sign_of(Unfused a, Unfused s) { return std::copysign(a.v, s.v); }
Unfused two_to_shifted(Unfused k) { return std::exp2(k.v - math::kWholeShift); }
Unfused pick(bool m, Unfused a, Unfused b) { return m ? a : b; }
bool operator>(Unfused a, Unfused b) { return a.v > b.v; }
bool operator>=(Unfused a, Unfused b) { return a.v >= b.v; }

struct Functions {
  float (*sigmoid)(float);
  float (*tanh)(float);
};

template <class V>
constexpr Functions kFunctions{[](float x) { return math::sigmoid(V(x)).v; },
                               [](float x) { return math::tanh(V(x)).v; }};

enum class Kind { kGru, kLstm, kTanh, kRelu };

/// A recurrent layer on random data, its projections side by side in rows of x.
struct Layer {
  Kind kind;
  int64_t steps, hidden;
  bool backwards = false, bias = false;
  std::vector<float> x, w, b_hn, h0, c0;

  struct Result {
    std::vector<float> h, c, y;
  };

  int64_t gates() const { return kind == Kind::kGru ? 3 : kind == Kind::kLstm ? 4 : 1; }
  int64_t row() const { return gates() * hidden + 1; }
  int64_t y_row() const { return hidden + 2; }

  Layer(std::mt19937& rng, Kind k, int64_t step_count, int64_t units)
      : kind(k), steps(step_count), hidden(units) {
    backwards = random_int(rng, 0, 1) == 1;
    bias = random_int(rng, 0, 1) == 1;
    x = random_floats(rng, steps * row());
    for (float& v : x) v *= 4.0f;
    w = random_floats(rng, hidden * gates() * hidden);
    b_hn = random_floats(rng, hidden);
    h0 = random_floats(rng, hidden);
    c0 = random_floats(rng, hidden);
  }

  Result run(Tier tier, int64_t steps_per_call, bool with_y = true) const {
    AlignedFloats packed(rnn_f32_packed_floats(rnn_f32(tier), gates(), hidden));
    rnn_f32_pack(rnn_f32(tier), gates(), hidden, w.data(), packed.data());
    std::vector<float> scratch(size_t(hidden), kNan);
    Result r{h0, c0, std::vector<float>(size_t(steps * y_row()), kGuard)};
    for (int64_t done = 0; done < steps; done += steps_per_call) {
      const int64_t first = backwards ? steps - 1 - done : done;
      const int64_t sign = backwards ? -1 : 1;
      const int64_t count = std::min(steps_per_call, steps - done);
      const float* from = x.data() + first * row();
      float* to = with_y ? r.y.data() + first * y_row() : nullptr;
      call(tier, count, from, sign, packed.data(), to, scratch.data(), r);
    }
    return r;
  }

  void call(Tier tier, int64_t count, const float* from, int64_t sign,
            const float* packed, float* to, float* scratch, Result& r) const {
    RnnLane lane{{}, {r.h.data(), scratch}, r.c.data(), to};
    for (int64_t gate = 0; gate < gates(); ++gate) lane.x[gate] = from + gate * hidden;
    RnnF32Args a = arguments();
    a.steps = count;
    a.x_stride = sign * row();
    a.y_stride = sign * y_row();
    a.w = packed;
    a.lane = &lane;
    run_kernel(tier, a);
  }

  /// The arguments that all calls share.
  RnnF32Args arguments() const {
    RnnF32Args a;
    a.hidden = hidden;
    if (kind == Kind::kGru && bias) a.b_hn = b_hn.data();
    if (kind == Kind::kRelu) a.activation = RnnActivation::kRelu;
    return a;
  }

  void run_kernel(Tier tier, const RnnF32Args& a) const {
    if (kind == Kind::kGru) return gru_f32(tier).run(a);
    if (kind == Kind::kLstm) return lstm_f32(tier).run(a);
    rnn_f32(tier).run(a);
  }

  /// Compute the products of the states with W as sums of integers.
  void int8_sums(const std::vector<float>& h, std::vector<float>* sums) const {
    const Int8Values states = rounded_to_int8(h);
    for (size_t j = 0; j < sums->size(); ++j) {
      const auto column = column_of(w, hidden, gates() * hidden, static_cast<int64_t>(j));
      (*sums)[j] = int8_product(states, rounded_to_int8(column));
    }
  }

  /// The formulas of rnn.h as separate operations: W times h by the matmul of the tier, or by
  /// integers; sigmoid and tanh one float at a time.
  Result reference(Tier tier, bool int8 = false) const {
    const auto [sigmoid, hyperbolic_tangent] =
        tier == Tier::kSse42 ? kFunctions<Unfused> : kFunctions<math::ScalarLane>;
    const MatmulF32& matmul = matmul_f32(tier);
    const int64_t n = gates() * hidden;
    AlignedFloats packed(matmul_f32_packed_floats(matmul, hidden, n));
    matmul_f32_pack(matmul, hidden, n, w.data(), n, 1, packed.data());
    Result r{h0, c0, std::vector<float>(size_t(steps * y_row()), kGuard)};
    std::vector<float> s(static_cast<size_t>(n));
    MatmulF32Args g;
    g.m = 1;
    g.n = n;
    g.segment_len = hidden;
    g.a = r.h.data();
    g.b = packed.data();
    g.c = s.data();
    for (int64_t done = 0; done < steps; ++done) {
      const int64_t step = backwards ? steps - 1 - done : done;
      if (int8) {
        int8_sums(r.h, &s);
      } else {
        matmul.run(g);
      }
      for (int64_t i = 0; i < hidden; ++i) {
        const auto in = [&](int64_t gate) { return x[size_t(step * row() + gate * hidden + i)]; };
        const auto sum = [&](int64_t gate) { return s[size_t(gate * hidden + i)]; };
        float& h = r.h[size_t(i)];
        float& c = r.c[size_t(i)];
        if (kind == Kind::kGru) {
          const float gate_r = sigmoid(in(0) + sum(0)), gate_z = sigmoid(in(1) + sum(1));
          const float inner = bias ? sum(2) + b_hn[size_t(i)] : sum(2);
          const float scaled = gate_r * inner;
          const float fresh = hyperbolic_tangent(in(2) + scaled);
          const float rest = 1.0f - gate_z, fresh_part = rest * fresh, old_part = gate_z * h;
          h = fresh_part + old_part;
        } else if (kind == Kind::kLstm) {
          const float kept = sigmoid(in(1) + sum(1)) * c;
          const float added = sigmoid(in(0) + sum(0)) * hyperbolic_tangent(in(2) + sum(2));
          c = kept + added;
          h = sigmoid(in(3) + sum(3)) * hyperbolic_tangent(c);
        } else {
          const float v = in(0) + sum(0);
          h = kind == Kind::kTanh ? hyperbolic_tangent(v) : v > 0.0f ? v : 0.0f;
        }
        r.y[size_t(step * y_row() + i)] = h;
      }
    }
    return r;
  }
};

/// Run layers of equal weights as the lanes of one loop. `how` packs W in fewer bits; null for f32.
/// Return the results of all layers, concatenated.
Layer::Result run_together(const std::vector<Layer>& layers, Tier tier,
                           const MatmulPacked* how = nullptr) {
  const Layer& like = layers[0];
  const auto lanes = static_cast<int64_t>(layers.size());
  const int64_t hidden = like.hidden;
  AlignedFloats packed(rnn_f32_packed_floats(rnn_f32(tier), like.gates(), hidden));
  rnn_f32_pack(rnn_f32(tier), like.gates(), hidden, like.w.data(), packed.data());
  std::vector<float> scratch(size_t(lanes * hidden), kNan);
  const RnnF32& kernel = rnn_f32(tier);
  AlignedFloats wide(
      how ? rnn_few_bits_wide_floats(kernel, how->format, like.gates(), hidden) : 0);
  std::vector<std::byte> few;
  if (how) {
    few.resize(size_t(rnn_few_bits_bytes(kernel, how->format, like.gates(), hidden)));
    rnn_few_bits_pack(kernel, *how, like.gates(), hidden, packed.data(), few.data());
  }
  std::vector<float> x;
  Layer::Result r{{}, {}, std::vector<float>(size_t(lanes * like.steps * like.y_row()), kGuard)};
  for (const Layer& layer : layers) {
    x.insert(x.end(), layer.x.begin(), layer.x.end());
    r.h.insert(r.h.end(), layer.h0.begin(), layer.h0.end());
    r.c.insert(r.c.end(), layer.c0.begin(), layer.c0.end());
  }
  const int64_t sign = like.backwards ? -1 : 1, first = like.backwards ? like.steps - 1 : 0;
  std::vector<RnnLane> places(layers.size());
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t frame = lane * like.steps + first;
    RnnLane& place = places[size_t(lane)];
    for (int64_t gate = 0; gate < like.gates(); ++gate) {
      place.x[gate] = x.data() + frame * like.row() + gate * hidden;
    }
    place.h[0] = r.h.data() + lane * hidden;
    place.h[1] = scratch.data() + lane * hidden;
    place.c = r.c.data() + lane * hidden;
    place.y = r.y.data() + frame * like.y_row();
  }
  RnnF32Args a = like.arguments();
  a.steps = like.steps;
  a.x_stride = sign * like.row();
  a.y_stride = sign * like.y_row();
  a.lane = places.data();
  a.lanes = lanes;
  a.w = how ? nullptr : packed.data();
  if (how) {
    a.few_bits = rnn_few_bits(kernel, *how);
    a.few_bits.w = few.data();
    a.few_bits.block_bytes = rnn_few_bits_block_bytes(kernel, how->format, like.gates(), hidden);
    a.few_bits.wide = wide.data();
  }
  like.run_kernel(tier, a);
  return r;
}

/// A small layer with random input for each lane. `together` runs the fused kernel;
/// `with_projections` returns layers whose projections a matmul computed, for `run_together`.
struct SmallLayers {
  const Layer& like;
  int64_t lanes, inputs;
  std::vector<float> x, w, bias;

  SmallLayers(std::mt19937& rng, const Layer& layer, int64_t lane_count, int64_t input_count)
      : like(layer), lanes(lane_count), inputs(input_count) {
    x = random_floats(rng, lanes * x_lane());
    w = random_floats(rng, inputs * columns());
    bias = random_floats(rng, columns());
    for (float& v : x) v *= 4.0f;
  }
  int64_t columns() const { return like.gates() * like.hidden; }
  int64_t x_row() const { return inputs + 3; }
  int64_t x_lane() const { return like.steps * x_row(); }
  int64_t sign() const { return like.backwards ? -1 : 1; }
  int64_t first() const { return like.backwards ? like.steps - 1 : 0; }

  std::vector<Layer> with_projections(Tier tier) const {
    const MatmulF32& matmul = matmul_f32(tier);
    AlignedFloats packed(matmul_f32_packed_floats(matmul, inputs, columns()));
    matmul_f32_pack(matmul, inputs, columns(), w.data(), columns(), 1, packed.data());
    std::vector<Layer> layers(static_cast<size_t>(lanes), like);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      MatmulF32Args g;
      g.m = like.steps;
      g.n = columns();
      g.segment_len = inputs;
      g.a = x.data() + lane * x_lane();
      g.lda = x_row();
      g.b = packed.data();
      g.bias = bias.data();
      g.c = layers[size_t(lane)].x.data();
      g.ldc = like.row();
      matmul.run(g);
    }
    return layers;
  }

  Layer::Result together(Tier tier, int64_t steps_per_call, bool with_y = true) const {
    const bool is_gru = like.kind == Kind::kGru;
    const SmallGruF32& gru = small_gru_f32(tier, like.hidden);
    const SmallLstmF32& lstm = small_lstm_f32(tier, like.hidden);
    const RnnKernel& kernel = is_gru ? static_cast<const RnnKernel&>(gru) : lstm;
    AlignedFloats packed(small_rnn_f32_packed_floats(kernel, like.gates(), inputs, like.hidden));
    small_rnn_f32_pack(kernel, like.gates(), inputs, like.hidden,
                       {bias.data(), w.data(), like.w.data(), is_gru ? like.b_hn.data() : nullptr},
                       packed.data());
    Layer::Result r{{}, {}, std::vector<float>(size_t(lanes * like.steps * like.y_row()), kGuard)};
    for (int64_t lane = 0; lane < lanes; ++lane) {
      r.h.insert(r.h.end(), like.h0.begin(), like.h0.end());
      r.c.insert(r.c.end(), like.c0.begin(), like.c0.end());
    }
    for (int64_t done = 0; done < like.steps; done += steps_per_call) {
      SmallRnnF32Args a;
      a.steps = std::min(steps_per_call, like.steps - done);
      a.inputs = inputs;
      a.hidden = like.hidden;
      a.x_stride = sign() * x_row();
      a.w = packed.data();
      a.has_bias = is_gru && like.bias;
      a.y_stride = sign() * like.y_row();
      std::vector<RnnLane> places(static_cast<size_t>(lanes));
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t frame = lane * like.steps + first() + sign() * done;
        RnnLane& place = places[size_t(lane)];
        place.x[0] = x.data() + frame * x_row();
        place.h[0] = r.h.data() + lane * like.hidden;
        place.c = is_gru ? nullptr : r.c.data() + lane * like.hidden;
        place.y = with_y ? r.y.data() + frame * like.y_row() : nullptr;
      }
      a.lane = places.data();
      a.lanes = lanes;
      (is_gru ? gru.run : lstm.run)(a);
    }
    return r;
  }
};

class Rnn : public ::testing::TestWithParam<int> {};  // the parameter is the hidden size

constexpr Kind kKinds[] = {Kind::kGru, Kind::kLstm, Kind::kTanh, Kind::kRelu};

TEST_P(Rnn, GivesTheBitsOfSeparateElementwiseOperations) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()));
  for (const Kind kind : kKinds) {
    const Layer layer(rng, kind, 5, GetParam());
    for (Tier tier : tiers()) {
      const Layer::Result got = layer.run(tier, layer.steps), want = layer.reference(tier);
      for (size_t i = 0; i < got.y.size(); ++i) {
        ASSERT_TRUE(same(got.y[i], want.y[i]))
            << rnn_f32(tier).name << " kind " << int(kind) << " float " << i << ": " << got.y[i]
            << " for " << want.y[i];
      }
    }
  }
}

TEST_P(Rnn, AStreamCutAnywhereGivesTheBitsOfTheWhole) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 1000);
  for (const Kind kind : kKinds) {
    const Layer layer(rng, kind, 7, GetParam());
    for (Tier tier : tiers()) {
      const Layer::Result whole = layer.run(tier, layer.steps);
      for (const int64_t per_call : {1, 3}) {
        const Layer::Result cut = layer.run(tier, per_call);
        EXPECT_TRUE(same(whole.y, cut.y)) << rnn_f32(tier).name;
        EXPECT_TRUE(same(whole.h, cut.h)) << rnn_f32(tier).name;
        EXPECT_TRUE(same(whole.c, cut.c)) << rnn_f32(tier).name;
      }
      const Layer::Result silent = layer.run(tier, layer.steps, /*with_y=*/false);
      EXPECT_TRUE(same(whole.h, silent.h)) << rnn_f32(tier).name;
    }
  }
}

TEST_P(Rnn, AUnitHasTheSameBitsWhereverItLies) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 2000);
  for (Tier tier : tiers()) {
    // All units are equal, so units in whole SIMD vectors must have the bits of the units in the
    // remainder.
    Layer layer(rng, Kind::kGru, 4, GetParam());
    for (auto* v : {&layer.x, &layer.w, &layer.b_hn, &layer.h0}) v->assign(v->size(), 0.3f);
    const Layer::Result r = layer.run(tier, layer.steps);
    for (float h : r.h) EXPECT_TRUE(same(h, r.h[0])) << rnn_f32(tier).name;
  }
}

TEST_P(Rnn, LanesGiveTheBitsOfEachAlone) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 3000);
  constexpr int64_t kLanes = 7;
  for (const Kind kind : kKinds) {
    std::vector<Layer> layers;
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      layers.emplace_back(rng, kind, 5, GetParam());
      layers.back().w = layers[0].w;
      layers.back().b_hn = layers[0].b_hn;
      layers.back().bias = layers[0].bias;
      layers.back().backwards = layers[0].backwards;
    }
    for (Tier tier : tiers()) {
      const Layer::Result together = run_together(layers, tier);
      Layer::Result alone;
      for (const Layer& layer : layers) {
        const Layer::Result one = layer.run(tier, layer.steps);
        alone.h.insert(alone.h.end(), one.h.begin(), one.h.end());
        alone.c.insert(alone.c.end(), one.c.begin(), one.c.end());
        alone.y.insert(alone.y.end(), one.y.begin(), one.y.end());
      }
      EXPECT_TRUE(same(together.h, alone.h)) << rnn_f32(tier).name << " kind " << int(kind);
      EXPECT_TRUE(same(together.y, alone.y)) << rnn_f32(tier).name << " kind " << int(kind);
      if (kind == Kind::kLstm) {
        EXPECT_TRUE(same(together.c, alone.c)) << rnn_f32(tier).name;
      }
    }
  }
}

// Builds that compile no models have no kernels of kQ8 and kQ4.
#ifdef RILL_STEPS_UNSEEN
constexpr PackedFormat kFewBits[] = {PackedFormat::kF16};
#else
constexpr PackedFormat kFewBits[] = {PackedFormat::kF16, PackedFormat::kQ8, PackedFormat::kQ4};
#endif

TEST_P(Rnn, FewBitsGiveTheBitsOfTheUnpackedWeights) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 4000);
  for (const Kind kind : kKinds) {
    for (const PackedFormat format : kFewBits) {
      std::vector<Layer> exact, rounded;
      for (int64_t lane = 0; lane < random_int(rng, 1, 5); ++lane) {
        exact.emplace_back(rng, kind, 5, GetParam());
        exact.back().w = exact[0].w;
        exact.back().b_hn = exact[0].b_hn;
        exact.back().bias = exact[0].bias;
        exact.back().backwards = exact[0].backwards;
        rounded.push_back(exact.back());
        rounded.back().w = rounded_columns(format, exact[0].w, exact[0].hidden,
                                           exact[0].gates() * exact[0].hidden);
      }
      for (Tier tier : tiers()) {
        const MatmulPacked& how = matmul_packed(tier, format);
        const Layer::Result alone = run_together({exact[0]}, tier, &how);
        EXPECT_TRUE(same(alone.y, run_together({rounded[0]}, tier).y))
            << rnn_f32(tier).name << " kind " << int(kind);
        const Layer::Result got = run_together(exact, tier, &how);
        const Layer::Result want = run_together(rounded, tier);
        EXPECT_TRUE(same(got.y, want.y)) << rnn_f32(tier).name << " kind " << int(kind);
        EXPECT_TRUE(same(got.h, want.h)) << rnn_f32(tier).name << " kind " << int(kind);
        if (kind == Kind::kLstm) {
          EXPECT_TRUE(same(got.c, want.c)) << rnn_f32(tier).name;
        }
      }
    }
  }
}

/// Return the kernels of kInt8 of a tier that this CPU can run.
std::vector<const MatmulPacked*> int8_kernels(Tier tier) {
  std::vector<const MatmulPacked*> out;
  const KernelList<MatmulPacked> all = kernels_like(static_cast<const MatmulPacked*>(nullptr));
  for (size_t i = 0; i < all.count; ++i) {
    const MatmulPacked& each = all[i];
    if (each.format == PackedFormat::kInt8 && each.tier == tier && runs_here(each)) {
      out.push_back(&each);
    }
  }
  return out;
}

/// Set a random share of the blocks of 8 columns by 4 rows to zeros.
void clear_blocks(std::mt19937& rng, Layer* layer) {
  const int64_t columns = layer->gates() * layer->hidden, percent = random_int(rng, 30, 100);
  for (int64_t p = 0; p < layer->hidden; p += 4) {
    for (int64_t j = 0; j < columns; j += 8) {
      if (random_int(rng, 0, 99) >= percent) continue;
      for (int64_t i = 0; i < 32; ++i) {
        const int64_t row = p + i / 8, column = j + i % 8;
        if (row < layer->hidden && column < columns) {
          layer->w[static_cast<size_t>(row * columns + column)] = 0.0f;
        }
      }
    }
  }
}

/// Compare layers that share W with the int8 reference. `sparse`: W has blocks of zeros.
void expect_exact_int8(std::mt19937& rng, int64_t hidden, bool sparse) {
  for (const Kind kind : kKinds) {
    std::vector<Layer> layers;
    for (int64_t lane = 0; lane < random_int(rng, 1, 4); ++lane) {
      layers.emplace_back(rng, kind, 5, hidden);
      if (sparse && lane == 0) clear_blocks(rng, &layers[0]);
      layers.back().w = layers[0].w;
      layers.back().b_hn = layers[0].b_hn;
      layers.back().bias = layers[0].bias;
      layers.back().backwards = layers[0].backwards;
    }
    for (Tier tier : tiers()) {
      Layer::Result want;
      for (const Layer& layer : layers) {
        const Layer::Result one = layer.reference(tier, true);
        want.h.insert(want.h.end(), one.h.begin(), one.h.end());
        want.c.insert(want.c.end(), one.c.begin(), one.c.end());
        want.y.insert(want.y.end(), one.y.begin(), one.y.end());
      }
      for (const MatmulPacked* how : int8_kernels(tier)) {
        const Layer::Result got = run_together(layers, tier, how);
        EXPECT_TRUE(same(got.y, want.y)) << how->name << " kind " << int(kind);
        EXPECT_TRUE(same(got.h, want.h)) << how->name << " kind " << int(kind);
        if (kind == Kind::kLstm) {
          EXPECT_TRUE(same(got.c, want.c)) << how->name;
        }
      }
    }
  }
}

TEST_P(Rnn, Int8GivesTheBitsOfExactSums) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 4500);
  expect_exact_int8(rng, GetParam(), false);
}

TEST_P(Rnn, Int8WithBlocksOfZerosGivesTheBitsOfExactSums) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 4700);
  expect_exact_int8(rng, GetParam(), true);
}

/// A NaN among the states reaches every unit in the next step.
TEST(RnnInt8, ANanReachesAllUnits) {
  std::mt19937 rng(9);
  for (const Kind kind : kKinds) {
    Layer layer(rng, kind, 2, 33);
    layer.h0[20] = kNan;
    for (Tier tier : tiers()) {
      for (const MatmulPacked* how : int8_kernels(tier)) {
        const Layer::Result got = run_together({layer}, tier, how);
        for (const float h : got.h) EXPECT_TRUE(std::isnan(h)) << how->name;
      }
    }
  }
}

class SmallRnn : public ::testing::TestWithParam<int> {};  // the parameter is the hidden size

TEST_P(SmallRnn, GivesTheBitsOfTheProductAndTheLoop) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 5000);
  for (const Kind kind : {Kind::kGru, Kind::kLstm}) {
    for (const int64_t inputs : {int64_t{1}, int64_t{2}, random_int(rng, 3, kSmallRnnUnits)}) {
      const Layer layer(rng, kind, 6, GetParam());
      const SmallLayers small(rng, layer, random_int(rng, 1, 5), inputs);
      for (Tier tier : tiers()) {
        const Layer::Result want = run_together(small.with_projections(tier), tier);
        const Layer::Result got = small.together(tier, layer.steps);
        const char* name = small_gru_f32(tier, layer.hidden).name;
        EXPECT_TRUE(same(got.y, want.y)) << name << " kind " << int(kind) << " of " << inputs;
        EXPECT_TRUE(same(got.h, want.h)) << name << " kind " << int(kind) << " of " << inputs;
        if (kind == Kind::kLstm) {
          EXPECT_TRUE(same(got.c, want.c)) << name << " of " << inputs;
        }
      }
    }
  }
}

TEST_P(SmallRnn, AStreamCutAnywhereGivesTheBitsOfTheWhole) {
  std::mt19937 rng(static_cast<uint32_t>(GetParam()) + 6000);
  for (const Kind kind : {Kind::kGru, Kind::kLstm}) {
    const Layer layer(rng, kind, 7, GetParam());
    const SmallLayers small(rng, layer, 2, random_int(rng, 1, 5));
    for (Tier tier : tiers()) {
      const Layer::Result whole = small.together(tier, layer.steps);
      for (const int64_t per_call : {1, 3}) {
        const Layer::Result cut = small.together(tier, per_call);
        EXPECT_TRUE(same(whole.y, cut.y)) << tier_name(tier) << " kind " << int(kind);
        EXPECT_TRUE(same(whole.h, cut.h)) << tier_name(tier) << " kind " << int(kind);
        EXPECT_TRUE(same(whole.c, cut.c)) << tier_name(tier) << " kind " << int(kind);
      }
      const Layer::Result silent = small.together(tier, layer.steps, /*with_y=*/false);
      EXPECT_TRUE(same(whole.h, silent.h)) << tier_name(tier) << " kind " << int(kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hidden, SmallRnn,
                         ::testing::Values(1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48));

INSTANTIATE_TEST_SUITE_P(Hidden, Rnn, ::testing::Values(1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 96));

}  // namespace
}  // namespace rill::kernels
