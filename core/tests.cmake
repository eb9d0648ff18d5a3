rill_test(core_base_test SOURCES base/closest_test.cpp base/number_text_test.cpp base/printable_test.cpp base/splitmix_test.cpp base/text_test.cpp DEPENDS rill_core
          LABELS core)
rill_test(core_dim_test SOURCES dim/dim_test.cpp dim/fraction_test.cpp dim/lines_test.cpp dim/pattern_test.cpp
          dim/scope_test.cpp DEPENDS rill_core LABELS core)
rill_test(core_convert_test SOURCES tensor/convert_test.cpp DEPENDS rill_core LABELS core)
rill_test(core_workers_test SOURCES exec/workers_test.cpp DEPENDS rill_core LABELS core)
# These make their graphs of real operators, from text.
rill_test(core_graph_test SOURCES graph/graph_test.cpp positions/course_test.cpp DEPENDS rill_property LABELS core)
rill_test(core_exec_test
          SOURCES exec/session_test.cpp exec/feed_test.cpp exec/shared_weights_test.cpp exec/weights_test.cpp
          DEPENDS rill_property LABELS core)
# Ops derive from a class without type information.
set_source_files_properties(graph/graph_test.cpp positions/course_test.cpp PROPERTIES COMPILE_OPTIONS -fno-rtti)
