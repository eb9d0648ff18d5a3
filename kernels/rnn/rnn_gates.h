#pragma once

// The arithmetic of one step for a vector of hidden units, the same for a batch and for one float.
// Products and sums are not fused: this must round like a graph of elementwise operations.

#include "kernels/math/functions.h"

namespace rill::kernels {
namespace {

template <class V>
struct GruSums {
  V r, z, n;  // h W of the three gates, b_hn added to the last one
};

template <class V>
inline V gru_step(V x_r, V x_z, V x_n, const GruSums<V>& s, V h) {
  const V r = math::sigmoid(x_r + s.r);
  const V z = math::sigmoid(x_z + s.z);
  const V n = math::tanh(x_n + r * s.n);
  return (V(1.0f) - z) * n + z * h;
}

template <class V>
struct LstmStates {
  V h, c;
};

/// Return the next states. Each gate argument is the sum of the input projection and h W.
template <class V>
inline LstmStates<V> lstm_step(V i, V f, V g, V o, V c) {
  const V next = math::sigmoid(f) * c + math::sigmoid(i) * math::tanh(g);
  return {math::sigmoid(o) * math::tanh(next), next};
}

template <class V>
inline V rnn_step(V sum, bool relu) {
  return relu ? math::max_or_second(V(0.0f), sum) : math::tanh(sum);
}

}  // namespace
}  // namespace rill::kernels
