#include "ops/nn/einsum_lower.h"

#include <algorithm>

#include "core/base/search.h"
#include "core/base/sorted.h"
#include "ops/math/binary.h"
#include "ops/nn/few_bits.h"
#include "ops/nn/product_step.h"

namespace rill::ops {
namespace {

using kernels::MatmulF32;

bool has(std::string_view letters, char letter) {
  return letters.find(letter) != std::string_view::npos;
}

/// The roles of the letters, given the operand that provides the columns.
struct Roles {
  int rows = 0;     ///< index of the operand that gives the rows
  int columns = 1;  ///< index of the operand that is packed
  std::string summed;
  std::string row_letters;    ///< of the output, if the columns' operand lacks them
  std::string batch_letters;  ///< of both operands and the output
  std::string column_letters;
};

/// Return the roles of the letters; nothing if the sum is not a matmul.
std::optional<Roles> roles_of(const EinSum& op, int columns_operand) {
  if (op.operands != 2) return std::nullopt;
  Roles roles;
  roles.columns = columns_operand;
  roles.rows = 1 - columns_operand;
  const std::string_view a = op.letters(roles.rows);
  const std::string_view b = op.letters(roles.columns);
  const std::string_view out = op.letters(2);
  for (const std::string_view side : {a, b, out}) {
    for (size_t i = 0; i < side.size(); ++i) {
      if (has(side.substr(i + 1), side[i])) return std::nullopt;  // a diagonal
    }
  }
  for (const char c : a) {
    if (has(b, c) && has(out, c)) {
      roles.batch_letters += c;
    } else if (has(out, c)) {
      roles.row_letters += c;
    } else if (has(b, c)) {
      roles.summed += c;
    } else {
      return std::nullopt;
    }
  }
  for (const char c : b) {
    if (has(a, c)) continue;
    if (!has(out, c)) return std::nullopt;
    roles.column_letters += c;
  }
  return roles;
}

int axis_of(std::string_view letters, char letter) {
  const size_t at = letters.find(letter);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

int64_t extent_of(const Operand& operand, std::string_view letters, char letter) {
  const int axis = axis_of(letters, letter);
  return axis < 0 ? 1 : operand.extent(axis);
}

int64_t stride_of(const Operand& operand, std::string_view letters, char letter) {
  const int axis = axis_of(letters, letter);
  return axis < 0 || operand.extent(axis) == 1 ? 0 : operand.step(axis);
}

bool in_blocks(const Tensor& tensor) { return tensor.block_format() != BlockFormat::kNone; }

/// Lowers one matmul.
class ProductLowering {
 public:
  ProductLowering(const EinSum& op, Lowering& lowering, Roles roles)
      : op_(op),
        lowering_(lowering),
        roles_(std::move(roles)),
        la_(op.letters(roles_.rows)),
        lb_(op.letters(roles_.columns)),
        ly_(op.letters(2)) {}

  Status run() {
    place_operands();
    if (y_.volume() == 0) return {};
    kernel_ = &kernels::matmul_f32_of_columns(n_);
    ProductArgs product;
    product.kernel = kernel_;
    product.a = a_.ref;
    product.y = y_.ref;
    product.args.n = n_;
    product.args.segment_len = k_;
    product.args.clip = op_.clip.on;
    product.args.lo = op_.clip.lo;
    product.args.hi = op_.clip.hi;
    size_t extra = 2;
    product.has_bias = op_.has_bias;
    if (op_.has_bias) product.bias = lowering_.in(static_cast<int>(extra++)).ref;
    product.has_residual = op_.has_residual;
    if (op_.has_residual) product.residual = residual_.ref;
    if (lowering_.stored_in(roles_.columns).konst &&
        in_blocks(*lowering_.stored_in(roles_.columns).konst)) {
      place_blocks(&product);
    } else {
      place_columns(&product);
    }
    place_loops(&product);
    if (product.loop_count < 0) {
      return fail(Code::kUnsupported, "a product with too many separate axes");
    }
    emit(product);
    return {};
  }

 private:
  /// Makes the summed axes of the rows' operand contiguous, and the output with the columns
  /// innermost and the rows in the order of that operand.
  void place_operands() {
    const Operand& a = lowering_.in(roles_.rows);
    std::vector<int> order = Lowering::physical_order(a);
    std::vector<int> summed;
    for (const char c : roles_.summed) summed.push_back(axis_of(la_, c));
    if (summed.size() == 1) {
      a_ = lowering_.innermost(a, summed[0]);
    } else {
      std::erase_if(order, [&](int axis) { return contains(summed, axis); });
      order.insert(order.end(), summed.begin(), summed.end());
      a_ = lowering_.ordered(a, order);
    }
    for (const char c : roles_.summed) k_ *= extent_of(a, la_, c);
    const Operand& b = lowering_.stored_in(roles_.columns);
    for (const char c : roles_.column_letters) n_ *= extent_of(b, lb_, c);

    std::string out_order;
    for (const char c : ly_) {
      if (!has(la_, c) && !has(roles_.column_letters, c)) out_order += c;
    }
    for (const int axis : Lowering::physical_order(a_)) {
      if (has(ly_, la_[static_cast<size_t>(axis)])) out_order += la_[static_cast<size_t>(axis)];
    }
    out_order += roles_.column_letters;
    std::vector<int> out_axes;
    for (const char c : out_order) out_axes.push_back(axis_of(ly_, c));
    y_ = lowering_.make_out(0, out_axes);
    if (op_.has_residual) {
      residual_ = lowering_.in(lowering_.inputs() - 1);
      if (!roles_.column_letters.empty()) {
        residual_ = lowering_.innermost(residual_, axis_of(ly_, roles_.column_letters.back()));
      }
    }
  }

  void emit(ProductArgs& product) {
    Lowering::Work work;
    product.slices = slices_of(product.args, *kernel_, product.pack);
    if (product.pack) {
      work.scratch_bytes = 4 * packed_floats(*kernel_, nullptr, k_, n_);
    }
    if (few_bits_ != nullptr) {
      product.slices = slices_of(product.args, *few_bits_);
      work.scratch_bytes =
          4 * kernels::matmul_packed_scratch_floats(*few_bits_, product.args) + 4;
    }
    work.units = product.slices.count;
    for (int l = 0; l < product.loop_count; ++l) work.units *= product.loops[l].count;
    work.multiply_adds = static_cast<double>(y_.volume()) * static_cast<double>(k_) +
                         static_cast<double>(b_.volume()) * kWorkPerWeight;
    std::vector<Touched> reads = {a_, product.b};
    if (product.has_bias) reads.emplace_back(product.bias);
    if (product.has_residual) reads.emplace_back(residual_);
    if (few_bits_ == nullptr) {
      lowering_.step_in_parts(kProduct, product, work, reads, {y_});
    } else {
      const FewBitsProductArgs args{product, few_bits_};
      lowering_.step_in_parts(kFewBitsProduct, args, work, reads, {y_});
    }
  }

  /// Keeps 4-bit weights unconverted, only reordered.
  void place_blocks(ProductArgs* product) {
    b_ = lowering_.stored_in(roles_.columns);
    few_bits_ = &kernels::matmul_packed(kernels::active_tier(), kernels::PackedFormat::kQ4_0);
    auto [ref, packed] =
        lowering_.constant<std::byte>(kernels::matmul_packed_bytes(*few_bits_, k_, n_));
    kernels::matmul_packed_pack(*few_bits_, k_, n_, b_.konst->data<std::byte>(),
                                b_.konst->size_bytes() / n_, packed);
    product->b = ref;
    lowering_.packed(roles_.columns);
  }

  /// Packs constant columns now, and others when the step runs.
  void place_columns(ProductArgs* product) {
    const Operand& b = lowering_.in(roles_.columns);
    // Order [batch..., k..., n...] with contiguous groups, unless one stride per group is enough.
    Operand source = b;
    const bool simple = roles_.summed.size() <= 1 && roles_.column_letters.size() <= 1;
    if (!simple) {
      std::vector<int> order;
      for (const char c : roles_.batch_letters) order.push_back(axis_of(lb_, c));
      for (const char c : roles_.summed) order.push_back(axis_of(lb_, c));
      for (const char c : roles_.column_letters) order.push_back(axis_of(lb_, c));
      source = lowering_.ordered(b, order);
      product->n_stride = 1;
      product->k_stride = n_;
    } else {
      product->k_stride = roles_.summed.empty() ? 0 : stride_of(b, lb_, roles_.summed[0]);
      product->n_stride =
          roles_.column_letters.empty() ? 0 : stride_of(b, lb_, roles_.column_letters[0]);
    }
    b_ = source;
    if (!b.konst || !simple) {
      product->pack = true;
      product->b = source.ref;
      if (b.konst) keep_unpacked(*b.konst);
      return;
    }
    few_bits_ = few_bits_product(lowering_, *kernel_, b.konst, k_, n_);
    packed_floats_ = packed_floats(*kernel_, few_bits_, k_, n_);
    pack_batches(product);
    lowering_.packed(roles_.columns);
  }

  /// Reports that constant columns stay unpacked: the step packs them each time.
  void keep_unpacked(const Tensor& weights) {
    lowering_.keep_weights("its weights have several axes that are summed");
    lowering_.report_weights(weights.shape(), weights.size_bytes(), weights.size_bytes());
  }

  /// Packs each of the constant matrices.
  void pack_batches(ProductArgs* product) {
    int64_t count = 1;
    for (const char c : roles_.batch_letters) count *= extent_of(b_, lb_, c);
    auto [ref, packed] = lowering_.constant<float>(packed_floats_ * count);
    product->b = ref;
    lowering_.report_weights(b_.konst->shape(),
                           4 * count * packed_floats(*kernel_, nullptr, k_, n_),
                           4 * count * packed_floats_);
    const float* from = b_.konst->data<float>();
    for (int64_t i = 0; i < count; ++i, packed += packed_floats_) {
      int64_t at = 0;
      int64_t rest = i;
      for (size_t l = roles_.batch_letters.size(); l-- > 0;) {
        const char c = roles_.batch_letters[l];
        const int64_t extent = extent_of(b_, lb_, c);
        at += rest % extent * stride_of(b_, lb_, c);
        rest /= extent;
      }
      if (few_bits_ != nullptr) {
        kernels::matmul_floats_pack(*few_bits_, k_, n_, from + at, product->k_stride,
                                 product->n_stride, reinterpret_cast<std::byte*>(packed));
      } else {
        kernels::matmul_f32_pack(*kernel_, k_, n_, from + at, product->k_stride, product->n_stride,
                                 packed);
      }
    }
  }

  /// An axis of the output that becomes a loop around the matmul.
  struct LoopAxis {
    ProductLoop loop;
    bool has_columns;  ///< the columns' operand has this axis, too
  };

  /// Assigns the row and batch axes to the rows of the matmul, and to loops around it.
  void place_loops(ProductArgs* product) {
    std::vector<LoopAxis> batches = batch_axes();
    std::vector<LoopAxis> rows;
    for (const char c : roles_.row_letters) {
      const ProductLoop loop = loop_over(c);
      if (loop.count != 1) rows.push_back({loop, false});
    }
    // A batch axis that the columns lack becomes a row axis.
    for (const LoopAxis& axis : batches) {
      if (!axis.has_columns) rows.push_back(axis);
    }
    std::erase_if(batches, [](const LoopAxis& axis) { return !axis.has_columns; });
    sort_list(rows, [](const LoopAxis& x, const LoopAxis& y) { return x.loop.a > y.loop.a; });
    join_runs(&rows);
    take_rows(&rows, product);
    for (const std::vector<LoopAxis>* list : {&batches, &rows}) {
      for (const LoopAxis& axis : *list) {
        if (product->loop_count == kProductLoops) {
          product->loop_count = -1;
          return;
        }
        product->loops[product->loop_count++] = axis.loop;
      }
    }
  }

  /// Return the batch axes, outermost first; their packed columns are contiguous.
  std::vector<LoopAxis> batch_axes() const {
    std::vector<LoopAxis> axes;
    int64_t packed_step = packed_floats_;
    std::string letters = roles_.batch_letters;
    std::reverse(letters.begin(), letters.end());
    for (const char c : letters) {
      ProductLoop loop = loop_over(c);
      const int64_t own = extent_of(b_, lb_, c);
      if (packed_floats_ > 0) {
        loop.b = own == 1 ? 0 : packed_step;
        packed_step *= own;
      }
      if (loop.count != 1) axes.push_back({loop, loop.b != 0});
    }
    std::reverse(axes.begin(), axes.end());
    return axes;
  }

  /// Merges two axes if their rows are evenly spaced.
  void join_runs(std::vector<LoopAxis>* rows) const {
    for (size_t i = 0; i + 1 < rows->size();) {
      ProductLoop& outer = (*rows)[i].loop;
      const ProductLoop& inner = (*rows)[i + 1].loop;
      const bool one_run = outer.a == inner.a * inner.count && outer.y == inner.y * inner.count &&
                           (!op_.has_residual || outer.residual == inner.residual * inner.count);
      if (!one_run) {
        ++i;
        continue;
      }
      outer = {outer.count * inner.count, inner.a, 0, inner.y, inner.residual};
      rows->erase(rows->begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  /// Takes the innermost axis, if there is one, as the rows of the matmul.
  void take_rows(std::vector<LoopAxis>* axes, ProductArgs* product) const {
    ProductLoop rows{1, k_, 0, n_, n_};
    if (!axes->empty()) {
      rows = axes->back().loop;
      axes->pop_back();
    }
    product->args.m = rows.count;
    product->args.lda = rows.a;
    product->args.ldc = rows.y;
    product->args.ldr = rows.residual;
  }

  ProductLoop loop_over(char c) const {
    ProductLoop loop;
    loop.count = extent_of(y_, ly_, c);
    loop.a = stride_of(a_, la_, c);
    loop.b = stride_of(b_, lb_, c);
    loop.y = stride_of(y_, ly_, c);
    loop.residual = op_.has_residual ? stride_of(residual_, ly_, c) : 0;
    return loop;
  }

  const EinSum& op_;
  Lowering& lowering_;
  Roles roles_;
  std::string la_;
  std::string lb_;
  std::string ly_;
  const MatmulF32* kernel_ = nullptr;
  Operand a_;
  Operand b_;
  Operand y_;
  Operand residual_;
  int64_t k_ = 1;
  int64_t n_ = 1;
  int64_t packed_floats_ = 0;
  const kernels::MatmulPacked* few_bits_ = nullptr;  ///< reads the columns; null: they are f32
};

/// Return the operand whose columns are packed: a constant one if there is one, else the right one.
int columns_operand(bool left_constant, bool right_constant) {
  return left_constant && !right_constant ? 0 : 1;
}

}  // namespace

namespace {

/// Return whether 4-bit blocks run along the only summed axis, and the columns are one axis.
bool blocks_fit(const EinSum& op, const Lowering& lowering, int columns) {
  const Tensor& weights = *lowering.stored_in(columns).konst;
  const auto roles = roles_of(op, columns);
  if (weights.block_format() != BlockFormat::kQ4_0 || weights.empty() || !roles ||
      roles->column_letters.size() != 1 || roles->summed.size() != 1) {
    return false;
  }
  const std::string_view letters = op.letters(columns);
  const int64_t summed = weights.extent(axis_of(letters, roles->summed[0]));
  const int64_t outputs = weights.extent(axis_of(letters, roles->column_letters[0]));
  return letters.find(roles->summed) > letters.find(roles->column_letters) && summed % 32 == 0 &&
         weights.volume() == summed * outputs;
}

}  // namespace

bool can_lower_einsum_f32(const EinSum& op, const Lowering& lowering) {
  if (op.operands != 2) return false;
  const auto constant = [&](int i) { return lowering.stored_in(i).konst != nullptr; };
  const int columns = columns_operand(constant(0), constant(1));
  for (int i = 0; i < lowering.inputs(); ++i) {
    const Operand& input = lowering.stored_in(i);
    if (input.dtype != DType::kF32) return false;
    const bool packed = input.konst && in_blocks(*input.konst);
    if (packed && !(i == columns && blocks_fit(op, lowering, columns))) return false;
  }
  const auto roles = roles_of(op, columns);
  if (!roles || roles->column_letters.size() > 1) return false;
  // Broadcasting along a summed axis has no matrix form.
  for (const char c : roles->summed) {
    if (extent_of(lowering.stored_in(0), op.letters(0), c) !=
        extent_of(lowering.stored_in(1), op.letters(1), c)) {
      return false;
    }
  }
  return true;
}

Status lower_einsum_f32(const EinSum& op, Lowering& lowering) {
  const auto constant = [&](int i) { return lowering.stored_in(i).konst != nullptr; };
  auto roles = roles_of(op, columns_operand(constant(0), constant(1)));
  return ProductLowering(op, lowering, std::move(*roles)).run();
}

std::optional<std::pair<int64_t, Tensor>> column_bias(const EinSum& op, const Node& producer,
                                                      const Rewrite& consumer, int input) {
  const auto* binary = consumer.node().op->as<Binary>();
  if (!binary || binary->kind_of != BinaryKind::kAdd) return std::nullopt;
  const TensorPtr& value = consumer.in(1 - input).konst;
  if (!value || value->dtype() != DType::kF32 || value->block_format() != BlockFormat::kNone) {
    return std::nullopt;
  }
  if (!(consumer.out().shape == producer.outputs[0].shape)) return std::nullopt;
  const Graph& old = consumer.old_graph();
  const bool left = old.fact(producer.inputs[0]).konst != nullptr;
  const bool right = old.fact(producer.inputs[1]).konst != nullptr;
  if (!left && !right) return std::nullopt;
  const auto roles = roles_of(op, columns_operand(left, right));
  if (!roles || roles->column_letters.size() != 1) return std::nullopt;
  const int axis = axis_of(op.letters(2), roles->column_letters[0]);
  const auto columns = producer.outputs[0].dim(axis).to_int();
  if (!columns || value->rank() != producer.outputs[0].rank()) return std::nullopt;
  const bool spread = value->volume() == 1;
  if (!spread && (value->volume() != *columns || value->extent(axis) != *columns)) {
    return std::nullopt;
  }
  auto bias = Tensor::zeros(DType::kF32, {*columns});
  if (!bias.ok()) return std::nullopt;
  for (int64_t i = 0; i < *columns; ++i) {
    bias->mutable_data<float>()[i] = value->data<float>()[spread ? 0 : i];
  }
  return std::pair<int64_t, Tensor>{axis, std::move(bias).value()};
}

}  // namespace rill::ops
