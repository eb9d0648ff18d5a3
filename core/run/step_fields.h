#pragma once

#include <array>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/run/plan.h"
#include "core/run/touches.h"

namespace rill {

// Argument types that need graphs. A plan with such arguments cannot be written to a file.
class Dim;
class Op;
class Tensor;
using OpPtr = std::shared_ptr<const Op>;
using TensorPtr = std::shared_ptr<const Tensor>;

/// A kernel in a list: its name, and whether it may run on this CPU.
struct KernelName {
  std::string_view name;
  bool runs = true;
};

/// Visits each argument of a step once, by name, and may change it. Generic operations on steps
/// (print, compare, write to a file, read from a file) are such visitors.
/// The arguments of a step are an aggregate that `RILL_STEP_FIELDS` describes. Its members are
/// numbers, addresses, operands, kernels from the list of a family, operators, and arrays, lists
/// and aggregates of these.
class StepFields {
 public:
  /// `wants_names`: whether the visitor needs names; finding them takes longer than reading
  /// numbers.
  explicit StepFields(bool wants_names = true) : wants_names_(wants_names) {}
  virtual ~StepFields() = default;

  virtual void field(std::string_view name, int64_t& value) = 0;  ///< also a bool or an enumerator
  virtual void field(std::string_view name, double& value) = 0;
  virtual void field(std::string_view name, Text& value) = 0;
  virtual void field(std::string_view name, Dim& value) = 0;
  virtual void field(std::string_view name, TensorPtr& value) = 0;
  virtual void field(std::string_view name, Extent& value) = 0;
  virtual void field(std::string_view name, Ref& value) = 0;
  virtual void field(std::string_view name, PlacedView& value) = 0;
  virtual void field(std::string_view name, OpPtr& value) = 0;
  virtual void field(std::string_view name, List<Step>& value) = 0;
  /// Visit a kernel of a family, by its index in `names`; -1: none.
  virtual void kernel(std::string_view name, std::span<const KernelName> names,
                      int64_t& index) = 0;
  /// Visit an address that is set when the step runs, and is null before.
  virtual void address(std::string_view name, bool is_null) = 0;
  /// Begin the members or elements of `name`, which end at `end`. The visitor may change the
  /// `count` of a list.
  virtual void begin(std::string_view name) = 0;
  virtual void begin_list(std::string_view name, int64_t& count) = 0;
  virtual void end() = 0;
  /// Report a member whose value is invalid for its type or operator.
  virtual void wrong(std::string_view name) { (void)name; }
  /// Return whether list elements are stored. A visitor that only counts visits each element and
  /// drops it.
  virtual bool stores() const { return true; }
  /// Return memory for the elements of a list that lives as long as the arguments; null: use the
  /// heap.
  virtual void* memory(int64_t bytes, size_t alignment) {
    (void)bytes, (void)alignment;
    return nullptr;
  }

  /// Visit members; `names` lists their names, separated by commas.
  template <class... T>
  [[gnu::cold]] void all(std::string_view names, T&... members) {
    (next(&names, plain(members)), ...);
  }

  template <class T>
  void member(std::string_view name, T& value) {
    next(&name, plain(value));
  }

 private:
  bool wants_names_;

  /// Remove and return the first name, if there is one and the visitor needs names.
  std::string_view first_of(std::string_view* names) const;

  /// Treat enumerators of one byte as bytes, so that they share one copy of the code.
  template <class T>
  static auto& plain(T& value) {
    if constexpr (std::is_enum_v<T>) {
      static_assert(std::is_same_v<std::underlying_type_t<T>, unsigned char>);
      return reinterpret_cast<unsigned char&>(value);
    } else {
      return value;
    }
  }

  /// Visit a member or, without names, an element. Calls pass only the address, so that they stay
  /// small: there are about a thousand.
  template <class T>
  [[gnu::noinline, gnu::cold]] void next(std::string_view* names, T& value) {
    const std::string_view name = first_of(names);
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      auto number = static_cast<int64_t>(value);
      field(name, number);
      value = static_cast<T>(number);
      if (static_cast<int64_t>(value) != number) wrong(name);
    } else if constexpr (std::is_floating_point_v<T>) {
      auto number = static_cast<double>(value);
      field(name, number);
      value = static_cast<T>(number);
    } else if constexpr (requires { field(name, value); }) {
      field(name, value);
    } else if constexpr (requires { kernels_like(value); }) {
      kernel_of(name, kernels_like(value), value);
    } else if constexpr (std::is_pointer_v<T>) {
      static_assert(!std::is_function_v<std::remove_pointer_t<T>>, "no list of such functions");
      address(name, value == nullptr);
    } else if constexpr (requires { describe(*this, value); }) {
      begin(name);
      describe(*this, value);
      end();
    } else {
      elements(name, value);
    }
  }

  template <class List, class T>
  void kernel_of(std::string_view name, const List& all, T& value) {
    KernelName names[List::kMost];
    int64_t index = -1;
    for (size_t i = 0; i < all.count; ++i) {
      names[i] = {all[i].name, runs_here(all[i])};
      if (address_of(all[i], value) == value) index = static_cast<int64_t>(i);
    }
    kernel(name, {names, all.count}, index);
    value = index < 0 ? nullptr : address_of(all[static_cast<size_t>(index)], value);
  }
  /// Identify a kernel by its list entry, or by the function in that entry.
  template <class Named, class T>
  static T address_of(const Named& entry, T) {
    if constexpr (std::is_convertible_v<const Named*, T>) {
      return &entry;
    } else {
      return entry.run;
    }
  }

  template <class T>
  void elements(std::string_view name, std::optional<T>& value) {
    int64_t count = value ? 1 : 0;
    begin_list(name, count);
    if (count == 0) value.reset();
    if (count == 1 && !value) value.emplace();
    if (value) next(nullptr, *value);
    end();
  }
  template <class T>
  void elements(std::string_view name, List<T>& value) {
    auto count = static_cast<int64_t>(value.size());
    begin_list(name, count);
    if (!stores()) {
      see_elements<T>(count);
    } else if (static_cast<size_t>(count) != value.size()) {
      make_list(static_cast<size_t>(count), &value);
    }
    for (T& each : value) next(nullptr, each);
    end();
  }
  template <class T>
  void see_elements(int64_t count) {
    memory(count * static_cast<int64_t>(sizeof(T)), alignof(T));
    for (int64_t i = 0; i < count; ++i) {
      T one{};
      next(nullptr, one);
    }
  }
  template <class T>
  void make_list(size_t count, List<T>* value) {
    void* const place = memory(static_cast<int64_t>(count * sizeof(T)), alignof(T));
    if (place == nullptr) return value->resize(count);
    T* const first = static_cast<T*>(place);
    for (size_t i = 0; i < count; ++i) new (first + i) T();
    *value = List<T>::at(first, count);
  }
  template <class First, class Second>
  void elements(std::string_view name, std::pair<First, Second>& value) {
    begin(name);
    all("first, second", value.first, value.second);
    end();
  }
  template <class T, size_t kCount>
  void elements(std::string_view name, std::array<T, kCount>& value) {
    begin(name);
    for (T& each : value) next(nullptr, each);
    end();
  }
  template <class T, size_t kCount>
  void elements(std::string_view name, T (&value)[kCount]) {
    begin(name);
    for (T& each : value) next(nullptr, each);
    end();
  }
};

/// Describe an aggregate by all of its members, in order; the compiler rejects a list that lacks
/// one. Must follow the aggregate, in the same namespace.
#define RILL_STEP_FIELDS(Type, ...)                       \
  inline void describe(StepFields& to_fields, Type& of) { \
    auto& [__VA_ARGS__] = of;                             \
    to_fields.all(#__VA_ARGS__, __VA_ARGS__);             \
  }

#if defined(RILL_STEPS_UNSEEN)
inline constexpr bool kStepsAreSeen = false;
#else
inline constexpr bool kStepsAreSeen = true;
#endif

/// Set how arguments are made, visited and checked. A build without plan files and programs omits
/// this.
template <class Args, TouchStep<Args> kTouch>
constexpr void see_step(StepKind* kind) {
  if constexpr (kStepsAreSeen) {
    kind->args_bytes = sizeof(Args);
    kind->args_alignment = alignof(Args);
    kind->construct = [](void* memory) { new (memory) Args(); };
    kind->destroy = [](void* args) { static_cast<Args*>(args)->~Args(); };
    kind->describe = [](void* args, StepFields& fields) {
      describe(fields, *static_cast<Args*>(args));
    };
#ifndef RILL_NO_CHECKS
    if constexpr (kTouch != nullptr) {
      kind->touch = [](const void* args, StepTouches& touches) {
        kTouch(*static_cast<const Args*>(args), touches);
      };
    }
#endif
  }
}

#if defined(RILL_NO_HEAP)
inline constexpr bool kStepsTogether = false;
#else
inline constexpr bool kStepsTogether = true;
#endif

/// Set how a step runs for several streams. Programs without a heap have no `rill_step_together`,
/// and omit this.
template <class Args, RunTogether<Args> kTogether>
constexpr void together_of(StepKind* kind) {
  if constexpr (kTogether != nullptr && kStepsTogether) {
    kind->run_together = [](const void* args,
                            std::span<const Frame> frames) noexcept RILL_NONBLOCKING {
      return kTogether(*static_cast<const Args*>(args), frames);
    };
  }
}

/// Describe a kind of step: its function, the memory that it accesses, its argument visitor, and
/// its function for several streams.
template <class Args, RunStep<Args> kRun, TouchStep<Args> kTouch = nullptr,
          RunTogether<Args> kTogether = nullptr>
constexpr StepKindOf<Args> step_kind(const char* name) {
  StepKindOf<Args> kind;
  kind.name = name;
  kind.run = [](const Step& step, const Frame& frame) noexcept RILL_NONBLOCKING {
    kRun(*static_cast<const Args*>(step.args), frame);
  };
  together_of<Args, kTogether>(&kind);
  see_step<Args, kTouch>(&kind);
  return kind;
}

/// Describe a kind of step whose units may run in any order and concurrently: `kRun` runs a share.
/// The result of a unit must not depend on its share.
template <class Args, RunShare<Args> kRun, TouchStep<Args> kTouch = nullptr,
          RunTogether<Args> kTogether = nullptr>
constexpr PartedStepKindOf<Args> step_kind(const char* name) {
  PartedStepKindOf<Args> kind;
  kind.name = name;
  kind.run = [](const Step& step, const Frame& frame) noexcept RILL_NONBLOCKING {
    const StepParts& parts = step.parts;
    kRun(*static_cast<const Args*>(step.args), frame,
         {0, parts.units, frame.ptr<std::byte>(parts.scratch)});
  };
  kind.run_share = [](const void* args, const Frame& frame,
                      const Share& share) noexcept RILL_NONBLOCKING {
    kRun(*static_cast<const Args*>(args), frame, share);
  };
  together_of<Args, kTogether>(&kind);
  see_step<Args, kTouch>(&kind);
  return kind;
}

}  // namespace rill
