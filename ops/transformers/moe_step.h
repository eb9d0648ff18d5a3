#pragma once

#include "core/run/step_fields.h"

namespace rill::ops {

enum class MoeActivation : uint8_t { kSilu, kRelu, kGelu, kSwiglu };
enum class MoeGate : uint8_t { kSoftmaxTopk, kSoftmaxAll, kSigmoid, kRaw };

struct MoeHow {
  int64_t k = 1;
  MoeActivation activation = MoeActivation::kSilu;
  MoeGate gate = MoeGate::kSoftmaxTopk;
  bool linear = false;
  bool clamped = false;
  float alpha = 1.0F;
  float limit = 0.0F;
  bool has_w3 = false;
  bool has_bias[4] = {};  ///< of wg, w1, w3, w2
};
RILL_STEP_FIELDS(MoeHow, k, activation, gate, linear, clamped, alpha, limit, has_w3, has_bias)

struct MoeArgs {
  MoeHow how;
  int64_t tokens = 0;
  int64_t width = 0;
  int64_t hidden = 0;
  int64_t experts = 0;
  Ref x;
  Ref y;
  Ref wg;
  Ref w1;
  Ref w2;
  Ref w3;
  Ref bias[4];  ///< of wg, w1, w3, w2
  Ref logits;
  Ref chosen;
  Ref h;
  Ref up;
};
RILL_STEP_FIELDS(MoeArgs, how, tokens, width, hidden, experts, x, y, wg, w1, w2, w3, bias, logits,
                 chosen, h, up)

/// Return a hidden value, given the elements h of x w1 + b1 and `up` of x w3 + b3.
float hidden_value(const MoeHow& how, float h, float up) RILL_NONBLOCKING;

void run_moe(const MoeArgs& args, const Frame& frame) noexcept RILL_NONBLOCKING;
void touch_moe(const MoeArgs& args, StepTouches& touches);

inline constexpr auto kMoe = step_kind<MoeArgs, run_moe, touch_moe>("moe");

}  // namespace rill::ops
