target_sources(rill_core PRIVATE
  graph/ends.cpp
  graph/fingerprint.cpp
  graph/graph.cpp
  graph/nnef.cpp
  graph/onnx.cpp
  graph/op.cpp
  graph/pulse.cpp
  graph/rewrite.cpp
  graph/walk.cpp
  graph/written.cpp
  optim/optim.cpp
  exec/constant_steps.cpp
  exec/extents.cpp
  exec/feed.cpp
  exec/layout.cpp
  exec/lowering.cpp
  exec/op_fields.cpp
  exec/plan.cpp
  exec/saved.cpp
  exec/session.cpp
  exec/touches.cpp
  exec/weights.cpp
  exec/workers.cpp
)
find_package(Threads REQUIRED)
target_link_libraries(rill_core PRIVATE Threads::Threads)
