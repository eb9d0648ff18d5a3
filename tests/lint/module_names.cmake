# Prints what RillOps.cmake reads as the names of operators in SOURCES, a line each.
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/RillOps.cmake")
foreach(source IN LISTS SOURCES)
  rill_op_names("${source}" names)
  foreach(name IN LISTS names)
    message("${name}")
  endforeach()
endforeach()
