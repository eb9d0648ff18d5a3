# rill_plugin(<library>): the plugin, and the program that loads it.
function(rill_plugin library)
  add_library(plugin MODULE "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/plugin.c")
  set_target_properties(plugin PROPERTIES C_VISIBILITY_PRESET hidden PREFIX "" SUFFIX .so)
  target_compile_definitions(plugin PRIVATE STREAM_C="${EXAMPLES}/stream_c.c")
  target_link_libraries(plugin PRIVATE ${library})
  add_executable(host "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/host.c")
  target_link_libraries(host PRIVATE ${CMAKE_DL_LIBS})
endfunction()
