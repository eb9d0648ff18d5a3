// Evaluates tall expressions bottom up with a stack on the heap, so that their height does not use
// the thread's stack.

#include "nnef_loader/build/builder.h"
#include "nnef_loader/build/call.h"
#include "nnef_loader/build/limits.h"

namespace rill::nnef {
namespace {

struct Part {
  const RValue* expression = nullptr;
  bool creates_symbols = false;
};

/// Add an expression as a separate part, unless it is a name, a literal or a list of these: those
/// are evaluated with their parent.
void add_part(const RValue& expression, bool creates_symbols, std::vector<Part>* parts) {
  const bool list = expression.as<ArrayExpr>() || expression.as<TupleExpr>();
  if (expression.height > (list ? 2 : 1)) parts->push_back({&expression, creates_symbols});
}

void add_arguments(const Invocation& call, OpIndex& index, std::vector<Part>* parts) {
  const auto callee = index.find(call.callee);
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const Argument& argument = call.arguments[i];
    std::string_view parameter = argument.name;
    if (parameter.empty() && callee.ok() && i < callee->decl->parameters.size()) {
      parameter = callee->decl->parameters[i].name;
    }
    add_part(argument.value, creates_symbols(call.callee, parameter), parts);
  }
}

/// Return the operands of an expression, in the order of the text; for a choice, its condition.
std::vector<Part> parts_of(const RValue& expression, OpIndex& index) {
  std::vector<Part> parts;
  if (const auto* list = expression.as<ArrayExpr>()) {
    for (const RValue& item : list->items) add_part(item, false, &parts);
  } else if (const auto* tuple = expression.as<TupleExpr>()) {
    for (const RValue& item : tuple->items) add_part(item, false, &parts);
  } else if (const auto* binary = expression.as<BinaryExpr>()) {
    add_part(*binary->left, false, &parts);
    add_part(*binary->right, false, &parts);
  } else if (const auto* unary = expression.as<UnaryExpr>()) {
    add_part(*unary->operand, false, &parts);
  } else if (const auto* subscript = expression.as<SubscriptExpr>()) {
    add_part(*subscript->base, false, &parts);
    add_part(*subscript->index, false, &parts);
  } else if (const auto* choice = expression.as<IfElseExpr>()) {
    add_part(*choice->condition, false, &parts);
  } else if (const auto* call = expression.as<Invocation>()) {
    add_arguments(*call, index, &parts);
  }
  return parts;
}

/// An expression whose parts are being evaluated.
struct Pending {
  Part asked;
  const RValue* taken = nullptr;  ///< its value's expression: of a choice, the branch taken
  std::vector<Part> parts;
  size_t next = 0;  ///< the part that comes next
};

[[gnu::noinline]] void set_parts(Pending* pending, OpIndex& index) {
  pending->parts = parts_of(*pending->taken, index);
  pending->next = 0;
  for (Part& part : pending->parts) part.creates_symbols |= pending->asked.creates_symbols;
}

[[gnu::noinline]] Pending pending_of(Part asked, OpIndex& index) {
  Pending pending{asked, asked.expression, {}, 0};
  set_parts(&pending, index);
  return pending;
}

void forget(const std::vector<Part>& parts, Scope* scope) {
  for (const Part& part : parts) scope->parts.erase(part.expression);
}

}  // namespace

Result<Value> Builder::eval_tall(const RValue& expression, Scope& scope, const Naming& naming,
                                 bool creates_symbols) {
  std::vector<Pending> pending;
  pending.push_back(pending_of({&expression, creates_symbols}, index_));
  const auto inner = std::make_unique<const Naming>(naming.nested());
  for (;;) {
    Pending& top = pending.back();
    if (top.next < top.parts.size()) {
      const Part& part = top.parts[top.next++];
      if (part.expression->height > kLevelsAtOnce) {
        pending.push_back(pending_of(part, index_));
      } else {
        RILL_TRY(
            keep_part(*part.expression, *part.expression, scope, *inner, part.creates_symbols));
      }
    } else if (const auto* choice = top.taken->as<IfElseExpr>()) {
      RILL_ASSIGN(top.taken, branch_of(*choice, scope, *inner));
      set_parts(&top, index_);
    } else if (pending.size() > 1) {
      RILL_TRY(
          keep_part(*top.asked.expression, *top.taken, scope, *inner, top.asked.creates_symbols));
      forget(top.parts, &scope);
      pending.pop_back();
    } else {
      Result<Value> value = eval_at_once(*top.taken, scope, naming, creates_symbols);
      forget(top.parts, &scope);
      return value;
    }
  }
}

[[gnu::noinline]] Status Builder::keep_part(const RValue& asked, const RValue& taken, Scope& scope,
                                            const Naming& naming, bool creates_symbols) {
  RILL_ASSIGN(scope.parts[&asked], eval_at_once(taken, scope, naming, creates_symbols));
  return {};
}

}  // namespace rill::nnef
