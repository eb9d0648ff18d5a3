#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/nonblocking.h"
#include "core/base/number_range.h"
#include "core/graph/fact.h"
#include "core/graph/fields.h"
#include "core/run/clock.h"

namespace rill {

class Graph;
class Lowering;
class Op;
struct Node;
class PulseBuilder;
class Rewrite;
class SaveCtx;
class SizeTrace;
struct Course;
struct SizeRatio;
using OpPtr = std::shared_ptr<const Op>;

/// An axis along which an op works frame by frame: its index in each input and output, or -1 if it
/// is absent. Frame t of the outputs depends only on frame t of the inputs.
struct AxisTrack {
  std::vector<int> in;
  std::vector<int> out;
};

/// Work of one evaluation; multiply-adds count one each.
struct Cost {
  Dim fma = 0;
  Dim bytes = 0;
};

/// How much an op's result may differ between two implementations.
enum class Tolerance : uint8_t { kExact, kRounding, kRandom };

/// The frames before the current pulse that a reader of a wire needs.
struct HistoryNeed {
  int axis = 0;
  int64_t frames = 0;
  TensorPtr pad_value;  ///< their value at the start of a stream; null means zeros
};

/// Whether an operator only moves frames along the axes that it tracks (`Op::axes`), and which
/// frames it adds around them. A frame-by-frame operator downstream can move upstream of it.
enum class Moves : uint8_t { kNo, kFrames, kAmongZeros, kAmongOthers };

/// How an operator takes part in chains. A chain consists of adjacent operators on f16 or bf16
/// tensors that compute in f32, so that only its end rounds. Squares of 300 and sums of 2000 values
/// overflow f16, although the norms and means that use them do not. `core/optim/precision.h` finds
/// the chains.
enum class Precision : uint8_t {
  kRounds,       ///< Its inputs and outputs are rounded: a chain ends before it.
  kRoundsAtEnd,  ///< It rounds at the end of a chain; inside one it forwards its input unrounded.
  kMoves,        ///< It only moves elements, inside a chain or outside.
  kFollows,      ///< It belongs to the chain that it reads, if any.
  kGrows,        ///< It begins a chain: its results may exceed the range of its inputs.
  kSums,         ///< It begins a chain, which also includes the operators that compute its terms.
};

/// Properties of an operator that the rules of other operators use.
struct OpTraits {
  /// The output is the first input with other extents; elements keep their row-major order.
  bool keeps_order = false;
  /// Each output element depends only on the input elements at the same index, and not on the
  /// index.
  bool per_element = false;
  /// For an operator max(x, slope * x): the slope, in (0, 1]. 0 for other operators.
  float slope = 0.0F;
  Moves moves = Moves::kNo;
  // Whether `absorb` fuses such a consumer in the fuse stage: limits; a slope below 0; a sum with
  // another wire of the same shape; a sum with a constant.
  bool takes_limits = false;
  bool takes_slope = false;
  bool takes_sum = false;
  bool takes_constant = false;
  /// It reads input 0 with axis 1 contiguous, and copies an input with another layout.
  bool by_channels = false;
  Precision precision = Precision::kRounds;
};

/// The operands of `eval`. Outputs are allocated, with the shapes that `infer` returned.
struct EvalCtx {
  std::span<const View> in;
  std::span<const View> out;
  void* state = nullptr;               ///< memory of `Op::state_bytes` bytes; may be null
  const StreamClock* clock = nullptr;  ///< null outside streams
  std::string_view symbol;             ///< the stream symbol; empty outside streams
  int64_t symbol_value = 0;

  /// Evaluate an attribute that may contain the stream symbol.
  std::optional<int64_t> value_of(const Dim& dim) const RILL_NONBLOCKING {
    return dim.eval(symbol, symbol_value);
  }
};

/// An operator with its attributes: an immutable value, shared between graphs and threads.
///
/// One module defines the operator: meaning, shapes, evaluation, lowering, streaming rule and NNEF
/// form. `eval` must not allocate, lock, log, or fail for a reason that `infer` could have found,
/// except for strings and dims, which exist only before `prepare`.
class Op {
 public:
  virtual ~Op() = default;

  /// Return the operator's name in tract's dumps: "Conv", "EinSum".
  virtual std::string_view name() const = 0;
  /// Return an address that identifies the class.
  virtual const void* kind() const = 0;
  virtual std::shared_ptr<Op> clone() const = 0;
  /// Visit every attribute once.
  virtual void fields(FieldVisitor& visitor) = 0;
  /// Print the attributes. Ops of one class are equal if these texts and their names are equal.
  virtual std::string attributes() const;
  /// Return the op with a symbol replaced in all attributes; null if nothing changes.
  virtual OpPtr with_symbol(std::string_view symbol, const Dim& by) const;

  /// Return the types and symbolic shapes of the outputs, given those of the inputs.
  virtual Result<Facts> infer(FactSpan in) const = 0;
  /// Append the expressions that must not be negative in a run, and that `infer` cannot decide
  /// while they contain symbols. Example: an index that is a length must lie within its table.
  virtual void demands(FactSpan in, std::vector<Dim>* non_negative) const {
    (void)in, (void)non_negative;
  }
  /// Return the valid numbers of input `input` if it holds indices into known extents. Sessions
  /// refuse other numbers in such an input of the model.
  virtual std::optional<NumberRange> indices(int input, FactSpan in) const {
    (void)input, (void)in;
    return std::nullopt;
  }
  /// Compute the outputs: the reference implementation, correct for every type and stride that
  /// `infer` allows.
  virtual Status eval(EvalCtx& ctx) const RILL_NONBLOCKING = 0;
  /// Return whether the outputs are constant if all inputs are.
  virtual bool foldable() const { return true; }
  /// Return whether every run gives the same results for the same inputs, at every position of a
  /// stream. `prepare` then runs the op's steps only once if they read constants alone.
  virtual bool repeatable() const { return foldable(); }
  /// Return whether equal nodes give different results, because they draw random numbers without a
  /// seed. By default: whether any node of the body does.
  virtual bool draws() const;
  /// Choose kernels, pack weights and emit steps. By default: one step that calls `eval`.
  virtual Status lower(Lowering& lowering) const;
  /// Return the bytes of state that `eval` keeps between calls, zero at the start of a stream.
  virtual int64_t state_bytes(FactSpan in) const {
    (void)in;
    return 0;
  }
  /// Return properties that the rules of other operators use; by default none.
  virtual OpTraits traits() const { return {}; }
  /// Return how elements of the output follow from their indices and from the inputs. By default:
  /// that the op moves elements if its traits say so, else nothing.
  virtual Course course() const;
  /// Return the size that the single output element holds; nothing if it is unknown or not a size.
  /// By default: the size of the input if the op keeps the order of elements.
  virtual std::optional<SizeRatio> size(const SizeTrace& trace) const;
  /// Return the op that starts every evaluation from its initial state; this op has that meaning if
  /// none of its inputs streams. Null if it already is that op.
  virtual OpPtr stateless() const { return nullptr; }
  /// Return which earlier frames of input i the op reads; `prepare` then keeps them in memory
  /// before the new frames.
  virtual std::optional<HistoryNeed> history(int input) const {
    (void)input;
    return std::nullopt;
  }
  /// Return the axes along which the op works frame by frame. By default none: an axis that is not
  /// listed does not stream, unless `pulsify` implements it.
  virtual std::vector<AxisTrack> axes(FactSpan in, FactSpan out) const {
    (void)in, (void)out;
    return {};
  }
  /// Add the nodes that run one pulse at a time. By default: the op itself if `axes` lists the
  /// streaming axis; else fail with kPulse.
  virtual Status pulsify(PulseBuilder& builder) const;
  /// Replace the node by a simpler equivalent, or do nothing. Independent of the hardware.
  virtual Status declutter(Rewrite& rewrite) const {
    (void)rewrite;
    return {};
  }
  /// Replace the node by a faster equivalent. Runs after declutter; the result is never saved.
  virtual Status fuse(Rewrite& rewrite) const {
    (void)rewrite;
    return {};
  }
  /// Fuse a consumer, a node whose input `input` is an output of this op without another reader.
  /// Called in both the declutter and the fuse stage (`Rewrite::fusing`). `producer` is this op's
  /// node.
  virtual Status absorb(const Node& producer, Rewrite& consumer, int input) const {
    (void)producer, (void)consumer, (void)input;
    return {};
  }
  virtual Cost cost(FactSpan in, FactSpan out) const {
    (void)in, (void)out;
    return {};
  }
  /// Return a bound on the operations of `eval`, including those on padding. A plan file is refused
  /// if a step exceeds the limits by this bound. By default: the multiply-adds of `cost`. The
  /// caller adds the elements of operands.
  virtual Dim work(FactSpan in, FactSpan out) const { return cost(in, out).fma; }
  virtual Tolerance tolerance() const { return Tolerance::kExact; }
  /// Write the node as NNEF statements.
  virtual Status save(SaveCtx& ctx) const;
  /// Return the graph that the op runs as its body, or null.
  virtual const Graph* nested() const { return nullptr; }
  /// Return lines for `dump --info`.
  virtual std::vector<std::string> details() const { return {}; }

  template <class T>
  const T* as() const {
    return kind() == &T::kKind ? static_cast<const T*>(this) : nullptr;
  }
};

/// Share an operator made by `new`. All operators share one reference-count class, because one
/// class per operator would increase their code by a tenth.
std::shared_ptr<Op> shared_op(Op* op);

/// Make an operator from its constructor's arguments, or a copy of one.
template <class T, class... Arguments>
OpPtr make_op(Arguments&&... arguments) {
  return shared_op(new T(std::forward<Arguments>(arguments)...));
}
template <class T>
OpPtr make_op(const T& op) {
  return op.clone();
}
template <class T>
OpPtr make_op(T& op) {
  return op.clone();
}

/// Make an operator whose attributes are set afterwards.
template <class T, class... Arguments>
std::shared_ptr<T> draft_op(Arguments&&... arguments) {
  T* const op = new T(std::forward<Arguments>(arguments)...);
  return {shared_op(op), op};
}

/// The base of every op class: identity and copying.
template <class Derived>
class OpBase : public Op {
 public:
  static inline const char kKind = 0;
  const void* kind() const override { return &kKind; }
  std::shared_ptr<Op> clone() const override {
    return shared_op(new Derived(static_cast<const Derived&>(*this)));
  }
};

/// A class of operators, with a name that is the same in every build. `make` makes an operator
/// whose fields a visitor then fills.
struct OpClass {
  const char* name = nullptr;
  const void* kind = nullptr;
  std::shared_ptr<Op> (*make)() = nullptr;
  /// Visits every attribute that an evaluation depends on; `Op::fields` omits attributes that have
  /// their defaults.
  void (*describe)(Op& op, FieldVisitor& visitor) = nullptr;
};

template <class T>
constexpr OpClass op_class(const char* name) {
  OpClass out;
  out.name = name;
  out.kind = &T::kKind;
  out.make = []() -> std::shared_ptr<Op> { return shared_op(new T()); };
  out.describe = [](Op& op, FieldVisitor& visitor) {
    auto& own = static_cast<T&>(op);
    if constexpr (requires { own.all_fields(visitor); }) {
      own.all_fields(visitor);
    } else {
      own.fields(visitor);
    }
  };
  return out;
}

/// Track every axis of an elementwise op; all inputs and outputs must have the same rank.
std::vector<AxisTrack> elementwise_axes(FactSpan in, FactSpan out);

}  // namespace rill
