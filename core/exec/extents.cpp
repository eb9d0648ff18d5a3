#include "core/exec/extents.h"

#include <string>
#include <vector>

namespace rill {
namespace {

using Do = Extent::Do;

Do operation_of(DimAtom::Kind kind) {
  switch (kind) {
    case DimAtom::Kind::kMin:
      return Do::kMin;
    case DimAtom::Kind::kMax:
      return Do::kMax;
    case DimAtom::Kind::kGe:
      return Do::kGe;
    case DimAtom::Kind::kEq:
      return Do::kEq;
    default:
      return Do::kBroadcast;
  }
}

class Writer {
 public:
  void add(const Dim& dim) {
    if (dim.is_const()) return number(*dim.to_int());
    bool first = dim.sum()->constant == 0;
    if (!first) number(dim.sum()->constant);
    for (const DimTerm& term : dim.sum()->terms) {
      number(term.coefficient);
      for (const auto& factor : term.factors) {
        add_atom(*factor);
        parts_.push_back({Do::kMul, 0});
      }
      if (!first) parts_.push_back({Do::kAdd, 0});
      first = false;
    }
  }
  bool one_symbol() const { return one_symbol_; }
  List<Extent::Part> parts() const { return parts_; }

 private:
  void number(int64_t value) { parts_.push_back({Do::kNumber, value}); }
  void add_atom(const DimAtom& atom) {
    if (atom.kind == DimAtom::Kind::kSymbol) {
      one_symbol_ &= symbol_.empty() || symbol_ == atom.text;
      symbol_ = atom.text;
      parts_.push_back({Do::kSymbol, 0});
      return;
    }
    for (size_t i = 0; i < atom.args.size(); ++i) {
      add(atom.args[i]);
      if (i > 0) parts_.push_back({operation_of(atom.kind), 0});
    }
    if (atom.kind == DimAtom::Kind::kDiv) parts_.push_back({Do::kDiv, atom.divisor});
  }

  std::string symbol_;
  bool one_symbol_ = true;
  std::vector<Extent::Part> parts_;
};

Dim joined(Do what, const Dim& a, const Dim& b) {
  switch (what) {
    case Do::kAdd:
      return a + b;
    case Do::kMul:
      return a * b;
    case Do::kMin:
      return min(a, b);
    case Do::kMax:
      return max(a, b);
    case Do::kGe:
      return ge(a, b);
    case Do::kEq:
      return eq(a, b);
    default:
      return broadcast(a, b);
  }
}

}  // namespace

Result<Extent> extent_of(const Dim& dim) {
  if (!dim.valid()) return Extent();
  Writer writer;
  writer.add(dim);
  if (!writer.one_symbol()) return Extent();
  Extent extent(writer.parts());
  if (!extent.sound()) return fail(Code::kUnsupported, "an extent nests too deep: ", dim);
  return extent;
}

Dim dim_of(const Extent& extent, std::string_view symbol) {
  if (!extent.valid() || !extent.sound()) return Dim::invalid();
  std::vector<Dim> waiting;
  for (const Extent::Part& part : extent.parts()) {
    if (part.what == Do::kNumber) {
      waiting.emplace_back(part.number);
    } else if (part.what == Do::kSymbol) {
      waiting.push_back(Dim::symbol(symbol));
    } else if (part.what == Do::kDiv) {
      waiting.back() = floor_div(waiting.back(), part.number);
    } else {
      const Dim b = waiting.back();
      waiting.pop_back();
      waiting.back() = joined(part.what, waiting.back(), b);
    }
  }
  return waiting[0];
}

}  // namespace rill
