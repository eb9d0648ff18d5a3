# rill_op(<group>/<op>) adds the room ops/<group>/<op>.cpp to the op table. The room exports
# `const OpRoom <op>_room` in namespace rill::ops. From the list of rooms CMake writes op_table.cpp:
# no registration runs before main, and a static link cannot drop an op.
#
# RILL_OPS names the rooms of the table, all if it is empty. The code of the others is compiled too,
# as rooms make operators of each other; the linker keeps what the table leads to. Of what is left out
# the library knows the names alone, to tell which room a model lacks.

# Some code is behind `if constexpr (built("room"))` (ops/built.h): where it makes operators of rooms
# that are left out, and acts on nothing else. Forms are such code without a room of its own.

set(RILL_OP_FORMS attention nested)
set_property(GLOBAL PROPERTY RILL_OP_ROOMS "")
set_property(GLOBAL PROPERTY RILL_OP_ROOMS_LEFT_OUT "")

function(rill_op path)
  get_filename_component(op "${path}" NAME)
  target_sources(rill_ops PRIVATE ${path}.cpp)
  if(NOT RILL_OPS OR op IN_LIST RILL_OPS)
    set_property(GLOBAL APPEND PROPERTY RILL_OP_ROOMS ${op})
    return()
  endif()
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/${path}.cpp")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
  rill_leave_out("${source}" ${op})
endfunction()

function(rill_leave_out source op)
  rill_op_names("${source}" names)
  foreach(name IN LISTS names)
    set_property(GLOBAL APPEND_STRING PROPERTY RILL_OP_ROOMS_LEFT_OUT "${name} ${op}\n")
  endforeach()
endfunction()

# Every operator of the dialect stands in its room as its registry and its name, in two literals.
function(rill_op_names source out)
  file(READ "${source}" text)
  string(REGEX MATCHALL "\"(tract_(nnef|core|pulse|extra|onnx|transformers|resource)|rill_pulse)\",[ \n]*\"(fragment )?[a-z_0-9]+" found "${text}")
  set(names "")
  foreach(each IN LISTS found)
    string(REGEX REPLACE ".*[\" ]" "" name "${each}")
    list(APPEND names "${name}")
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

function(rill_write_op_table file)
  get_property(rooms GLOBAL PROPERTY RILL_OP_ROOMS)
  if(RILL_OPS AND NOT nested IN_LIST RILL_OPS)
    rill_leave_out("${PROJECT_SOURCE_DIR}/nnef_loader/build/nested.cpp" nested)
  endif()
  get_property(left_out GLOBAL PROPERTY RILL_OP_ROOMS_LEFT_OUT)
  foreach(op IN LISTS RILL_OPS)
    if(NOT op IN_LIST rooms AND NOT op IN_LIST RILL_OP_FORMS)
      message(FATAL_ERROR "RILL_OPS: there is no room ${op}")
    endif()
  endforeach()
  set(declarations "")
  set(entries "")
  foreach(op IN LISTS rooms)
    string(APPEND declarations "extern const OpRoom ${op}_room;\n")
    string(APPEND entries "    &${op}_room,\n")
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/op_table.cpp.in" "${file}" @ONLY)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/built.h.in"
                 "${PROJECT_BINARY_DIR}/generated/ops/built.h" @ONLY)
  target_include_directories(rill_ops PUBLIC "${PROJECT_BINARY_DIR}/generated")
endfunction()

# The kinds of steps, by the lines of the sources that hand them out: `const StepKind <name>_kind =`.
function(rill_write_step_table file)
  get_target_property(sources rill_ops SOURCES)
  set(declarations "")
  set(core_declarations "")
  set(entries "")
  list(APPEND sources "${PROJECT_SOURCE_DIR}/core/exec/lowering.cpp"
       "${PROJECT_SOURCE_DIR}/core/run/copy_step.cpp")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source)
    if(NOT EXISTS "${source}")
      continue()
    endif()
    file(READ "${source}" text)
    string(REGEX MATCHALL "const StepKind [a-z_0-9]+_kind =" found "${text}")
    if(found)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    endif()
    foreach(each IN LISTS found)
      string(REGEX REPLACE ".* ([a-z_0-9]+) =" "\\1" kind "${each}")
      if(source MATCHES "core/(exec|run)/[a-z_]*.cpp$")
        string(APPEND core_declarations "extern const StepKind ${kind};\n")
      else()
        string(APPEND declarations "extern const StepKind ${kind};\n")
      endif()
      string(APPEND entries "    &${kind},\n")
    endforeach()
  endforeach()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/step_table.cpp.in" "${file}" @ONLY)
endfunction()
