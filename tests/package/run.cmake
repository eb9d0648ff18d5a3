# Shared by the scripts of this folder.

# run(<command> ...): fail, with what it printed, unless it succeeds.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nstatus ${status}\n${text}")
  endif()
endfunction()

# check_plugin(<folder> [<programs>]): the plugin built there runs in its host, and shows its entry alone.
function(check_plugin folder)
  set(programs "${folder}")
  if(ARGC GREATER 1)
    set(programs "${ARGV1}")
  endif()
  run("${programs}/host" "${folder}/plugin.so" "${MODELS}/kws_gru/model.nnef.tgz")
  execute_process(COMMAND "${NM}" -D --defined-only "${folder}/plugin.so" OUTPUT_VARIABLE seen
                  COMMAND_ERROR_IS_FATAL ANY)
  string(STRIP "${seen}" seen)
  if(NOT seen MATCHES "^[0-9a-f]+ T plugin_entry$")
    message(FATAL_ERROR "expected the symbol plugin_entry alone, found\n${seen}")
  endif()
endfunction()
