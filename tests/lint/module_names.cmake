# Prints the operator names that RillOps.cmake reads from SOURCES, one per line.
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/RillOps.cmake")
foreach(source IN LISTS SOURCES)
  rill_op_names("${source}" names)
  foreach(name IN LISTS names)
    message("${name}")
  endforeach()
endforeach()
