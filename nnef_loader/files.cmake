rill_library(rill_nnef_files SMALL
  SOURCES
    syntax/ast.cpp
    syntax/expression.cpp
    syntax/json.cpp
    syntax/lexer.cpp
    syntax/numbers.cpp
    syntax/parser.cpp
    syntax/printer.cpp
    syntax/quant.cpp
    syntax/token_stream.cpp
    tensor_file/read_tensor.cpp
    tensor_file/write_tensor.cpp
  # Optimised for size, a level of an expression would take more of the stack.
  FAST
    syntax/expression.cpp
    syntax/lexer.cpp
    syntax/token_stream.cpp
  DEPENDS rill_core rill_archive_${RILL_ARCHIVE}
)

rill_test(rill_syntax_test
  SOURCES syntax/json_test.cpp syntax/parser_test.cpp syntax/printer_test.cpp syntax/quant_test.cpp
          syntax/real_graphs_test.cpp
  DEPENDS rill_nnef_files
)
rill_test(rill_tensor_file_test
  SOURCES tensor_file/tensor_file_test.cpp
  DEPENDS rill_nnef_files
)
