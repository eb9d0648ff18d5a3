#include "plan_file/bytes.h"

#include <bit>
#include <cstring>

#include "core/base/bits.h"
#include "core/run/plan_format.h"
#include "core/run/read_extent.h"

namespace rill::plan_file {
namespace {

static_assert(std::endian::native == std::endian::little, "plan files are little-endian");

using Kind = DimAtom::Kind;

// Limits of an expression's stack and length; real ones stay far below.
constexpr size_t kMostWaiting = 64;
constexpr int kMostCodes = 4096;
// The maximum number of terms to which the expressions of a record may expand. A product of sums
// has as many terms as the product of their counts, so a short text may exceed any memory.
constexpr int64_t kMostTerms = 1 << 16;

int64_t terms_of(const Dim& dim) {
  return dim.is_const() || !dim.valid() ? 1 : static_cast<int64_t>(dim.sum()->terms.size()) + 1;
}

void write_code(RecordWriter* to, DimCode code) { to->natural(static_cast<uint64_t>(code)); }

void write_sum(RecordWriter* to, const Dim& value);

void write_atom(RecordWriter* to, const DimAtom& atom) {
  if (atom.kind == Kind::kSymbol) {
    write_code(to, DimCode::kSymbol);
    return to->text(atom.text);
  }
  if (atom.kind == Kind::kInvalid) return write_code(to, DimCode::kInvalid);
  for (size_t i = 0; i < atom.args.size(); ++i) {
    write_sum(to, atom.args[i]);
    if (i == 0 && atom.kind != Kind::kDiv) continue;
    switch (atom.kind) {
      case Kind::kMin:
        write_code(to, DimCode::kMin);
        break;
      case Kind::kMax:
        write_code(to, DimCode::kMax);
        break;
      case Kind::kBroadcast:
        write_code(to, DimCode::kBroadcast);
        break;
      case Kind::kGe:
        write_code(to, DimCode::kAtLeast);
        break;
      case Kind::kEq:
        write_code(to, DimCode::kEqual);
        break;
      default:
        write_code(to, DimCode::kDivide);
        to->number(atom.divisor);
    }
  }
}

void write_number(RecordWriter* to, int64_t value) {
  write_code(to, DimCode::kNumber);
  to->number(value);
}

void write_sum(RecordWriter* to, const Dim& value) {
  if (value.is_const()) return write_number(to, *value.to_int());
  const DimSum& sum = *value.sum();
  write_number(to, sum.constant);
  for (const DimTerm& term : sum.terms) {
    write_number(to, term.coefficient);
    for (const auto& factor : term.factors) {
      write_atom(to, *factor);
      write_code(to, DimCode::kMultiply);
    }
    write_code(to, DimCode::kAdd);
  }
}

Dim joined(DimCode code, const Dim& a, const Dim& b) {
  switch (code) {
    case DimCode::kAdd:
      return a + b;
    case DimCode::kMultiply:
      return a * b;
    case DimCode::kMin:
      return min(a, b);
    case DimCode::kMax:
      return max(a, b);
    case DimCode::kBroadcast:
      return broadcast(a, b);
    case DimCode::kAtLeast:
      return ge(a, b);
    case DimCode::kEqual:
      return eq(a, b);
    default:
      return Dim::invalid();
  }
}

}  // namespace

void RecordWriter::natural(uint64_t value) {
  while (value >= 0x80) {
    bytes_.push_back(static_cast<std::byte>(value | 0x80U));
    value >>= 7U;
  }
  bytes_.push_back(static_cast<std::byte>(value));
}

void RecordWriter::real(double value) { natural(__builtin_bswap64(bit_cast<uint64_t>(value))); }

void RecordWriter::text(std::string_view value) {
  natural(value.size());
  for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
}

void RecordWriter::dim(const Dim& value) {
  if (value.valid()) {
    write_sum(this, value);
  } else {
    write_code(this, DimCode::kInvalid);
  }
  write_code(this, DimCode::kEnd);
}

void RecordWriter::raw(uint64_t value) {
  for (unsigned i = 0; i < 64; i += 8) bytes_.push_back(static_cast<std::byte>(value >> i));
}

void RecordWriter::append(const RecordWriter& other) {
  bytes_.insert(bytes_.end(), other.bytes_.begin(), other.bytes_.end());
}

Dim RecordReader::dim() {
  std::vector<Dim> waiting;
  for (int i = 0; i < kMostCodes && good(); ++i) {
    const auto code = static_cast<DimCode>(natural());
    if (code == DimCode::kEnd) {
      if (waiting.size() == 1) return waiting[0];
      break;
    }
    if (waiting.size() > kMostWaiting) break;
    if (code == DimCode::kNumber) {
      waiting.emplace_back(number());
    } else if (code == DimCode::kSymbol) {
      waiting.push_back(Dim::symbol(text()));
    } else if (code == DimCode::kInvalid) {
      waiting.push_back(Dim::invalid());
    } else if (code == DimCode::kDivide && !waiting.empty()) {
      waiting.back() = floor_div(waiting.back(), number());
    } else if (code > DimCode::kInvalid || waiting.size() < 2) {
      break;
    } else {
      const Dim last = waiting.back();
      waiting.pop_back();
      terms_ += terms_of(waiting.back()) * terms_of(last);
      if (terms_ > kMostTerms) break;
      waiting.back() = joined(code, waiting.back(), last);
    }
  }
  fail("an expression is malformed");
  return Dim::invalid();
}

Extent RecordReader::extent() {
  std::vector<Extent::Part> parts;
  bool known = true;
  walk_extent(this, [&](const Extent::Part& part, bool has_value) {
    parts.push_back(part);
    known &= has_value;
  });
  if (!good() || !known) return {};
  Extent out{List<Extent::Part>(parts)};
  if (out.valid() && out.sound()) return out;
  fail("an expression is malformed");
  return {};
}

}  // namespace rill::plan_file
