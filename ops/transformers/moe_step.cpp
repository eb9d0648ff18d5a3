#include "ops/transformers/moe_step.h"

#include <algorithm>
#include <cmath>

namespace rill::ops {
namespace {

float activated(MoeActivation kind, float x) {
  if (kind == MoeActivation::kRelu) return x < 0.0F ? 0.0F : x;
  if (kind == MoeActivation::kGelu) {
    return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
  }
  return x / (1.0F + std::exp(-x));
}

/// Compute y = x W + b of one expert: W is [from, to], or [to, from] if `linear`.
void product(const float* x, const float* w, const float* bias, bool linear, int64_t from,
             int64_t to, float* y) {
  for (int64_t j = 0; j < to; ++j) y[j] = bias ? bias[j] : 0.0F;
  if (linear) {
    for (int64_t j = 0; j < to; ++j) {
      float sum = 0.0F;
      for (int64_t i = 0; i < from; ++i) sum += x[i] * w[j * from + i];
      y[j] += sum;
    }
    return;
  }
  for (int64_t i = 0; i < from; ++i) {
    for (int64_t j = 0; j < to; ++j) y[j] += x[i] * w[i * to + j];
  }
}

/// Clamp the index of a chosen expert: in a hostile plan, other memory may overlap the indices.
int64_t in_range(int64_t chosen, int64_t experts) {
  return std::clamp<int64_t>(chosen, 0, experts - 1);
}

/// Return the weight of a chosen expert, given the logits of all experts and the chosen ones.
float gate_weight(MoeGate kind, const float* logits, int64_t experts,
                  const int64_t* chosen, int64_t k, float own) {
  if (kind == MoeGate::kRaw) return own;
  if (kind == MoeGate::kSigmoid) return 1.0F / (1.0F + std::exp(-own));
  const bool all = kind == MoeGate::kSoftmaxAll;
  const int64_t count = all ? experts : k;
  const auto logit = [&](int64_t i) { return logits[all ? i : in_range(chosen[i], experts)]; };
  float max = -INFINITY;
  for (int64_t i = 0; i < count; ++i) max = std::fmax(max, logit(i));
  float sum = 0.0F;
  for (int64_t i = 0; i < count; ++i) sum += std::exp(logit(i) - max);
  return std::exp(own - max) / sum;
}

/// Choose the experts of the k highest logits, ties to the lower one.
void choose(const float* logits, int64_t experts, int64_t k, int64_t* chosen) {
  int64_t kept = 0;
  for (int64_t e = 0; e < experts; ++e) {
    int64_t slot = kept;
    while (slot > 0 && logits[e] > logits[chosen[slot - 1]]) --slot;
    if (slot >= k) continue;
    kept = std::min(kept + 1, k);
    for (int64_t i = kept - 1; i > slot; --i) chosen[i] = chosen[i - 1];
    chosen[slot] = e;
  }
}

}  // namespace

float hidden_value(const MoeHow& how, float h, float up) {
  if (!how.clamped) return activated(how.activation, h) * (how.has_w3 ? up : 1.0F);
  const float g = std::fmin(h, how.limit);
  const float u = std::fmax(-how.limit, std::fmin(up, how.limit));
  return (u + 1.0F) * (g / (1.0F + std::exp(-how.alpha * g)));
}

void run_moe(const MoeArgs& a, const Frame& frame) noexcept {
  const MoeHow& how = a.how;
  auto* logits = frame.ptr<float>(a.logits);
  auto* chosen = frame.ptr<int64_t>(a.chosen);
  auto* h = frame.ptr<float>(a.h);
  auto* up = frame.ptr<float>(a.up);
  const int64_t d = a.width;
  const auto bias = [&](bool has, int which, int64_t row, int64_t length) -> const float* {
    return has ? frame.ptr<const float>(a.bias[which]) + row * length : nullptr;
  };
  for (int64_t token = 0; token < a.tokens; ++token) {
    const float* x = frame.ptr<const float>(a.x) + token * d;
    float* y = frame.ptr<float>(a.y) + token * d;
    std::fill(y, y + d, 0.0F);
    product(x, frame.ptr<const float>(a.wg), bias(how.has_bias[0], 0, 0, 0), true, d, a.experts,
            logits);
    choose(logits, a.experts, how.k, chosen);
    for (int64_t i = 0; i < how.k; ++i) {
      const int64_t e = in_range(chosen[i], a.experts);
      const int64_t matrix = e * d * a.hidden;
      product(x, frame.ptr<const float>(a.w1) + matrix, bias(how.has_bias[1], 1, e, a.hidden),
              how.linear, d, a.hidden, h);
      if (how.has_w3) {
        product(x, frame.ptr<const float>(a.w3) + matrix, bias(how.has_bias[2], 2, e, a.hidden),
                how.linear, d, a.hidden, up);
      }
      for (int64_t j = 0; j < a.hidden; ++j) {
        h[j] = hidden_value(how, h[j], up[j]);
      }
      product(h, frame.ptr<const float>(a.w2) + matrix, bias(how.has_bias[3], 3, e, d), how.linear,
              a.hidden, d, up);
      const float weight = gate_weight(how.gate, logits, a.experts, chosen, how.k, logits[e]);
      for (int64_t j = 0; j < d; ++j) y[j] += weight * up[j];
    }
  }
}

void touch_moe(const MoeArgs& a, StepTouches& touches) {
  for (const int64_t count : {a.tokens, a.width, a.hidden, a.experts}) {
    touches.within(count, 0, int64_t{1} << 20);
  }
  touches.within(a.how.k, 0, a.experts);
  touches.within(static_cast<int64_t>(a.how.activation), 0,
                 static_cast<int64_t>(MoeActivation::kSwiglu));
  touches.within(static_cast<int64_t>(a.how.gate), 0, static_cast<int64_t>(MoeGate::kRaw));
  if (!touches.holds()) return;
  const auto floats = [](const Ref& ref, int64_t rows, int64_t each) {
    return region<float>(ref).over(rows, each).over(each);
  };
  const int64_t matrix = a.width * a.hidden;
  touches.works({a.tokens, a.how.k, matrix, 3});
  touches.reads(floats(a.x, a.tokens, a.width));
  touches.writes(floats(a.y, a.tokens, a.width));
  touches.reads(floats(a.wg, a.experts, a.width));
  touches.reads(floats(a.w1, a.experts, matrix));
  touches.reads(floats(a.w2, a.experts, matrix));
  if (a.how.has_w3) touches.reads(floats(a.w3, a.experts, matrix));
  if (a.how.has_bias[0]) touches.reads(floats(a.bias[0], 1, a.experts));
  if (a.how.has_bias[1]) touches.reads(floats(a.bias[1], a.experts, a.hidden));
  if (a.how.has_w3 && a.how.has_bias[2]) touches.reads(floats(a.bias[2], a.experts, a.hidden));
  if (a.how.has_bias[3]) touches.reads(floats(a.bias[3], a.experts, a.width));
  touches.writes(floats(a.logits, 1, a.experts));
  touches.writes(region<int64_t>(a.chosen).over(a.how.k));
  touches.writes(floats(a.h, 1, a.hidden));
  touches.writes(floats(a.up, 1, std::max(a.hidden, a.width)));
}

extern const StepKind moe_kind;
const StepKind moe_kind = kMoe;

}  // namespace rill::ops
