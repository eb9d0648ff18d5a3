target_sources(rill_core PRIVATE
  graph/graph.cpp
  graph/nnef.cpp
  graph/op.cpp
  graph/pulse.cpp
  graph/rewrite.cpp
  optim/optim.cpp
  exec/lowering.cpp
  exec/plan.cpp
  exec/session.cpp
)
