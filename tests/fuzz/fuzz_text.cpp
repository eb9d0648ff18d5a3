// The input is a graph.nnef. Parsing and printing an accepted text twice gives the same text.

#include "nnef_loader/syntax/parser.h"
#include "nnef_loader/syntax/printer.h"
#include "tests/fuzz/target.h"

using namespace rill;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto document = nnef::parse_document(test::text_of(data, size), "fuzz");
  test::expect_explained(document);
  if (!document.ok()) return 0;
  const std::string text = nnef::print_document(*document);
  const auto again = nnef::parse_document(text, "print");
  if (!again.ok()) test::finding("the print does not parse: " + again.error().to_string());
  if (nnef::print_document(*again) != text) test::finding("the print of the print differs");
  return 0;
}
