# cmake -DBUILD= -DSOURCE= -DWORK= -DCXX= -P: installs softmetal into an empty folder, builds the example there, outside
# of this build, and runs it right and wrong.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${ARGN} ended with ${result}\n${output}")
  endif()
endfunction()
# The example's run: its exit code (or `signal`) and what it prints.
function(expect mode code text)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env SOFTMETAL_LEAKS=fatal SOFTMETAL_DEVICES=apple7,apple9
    ${WORK}/build/example ${mode} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  set(ended ${result})
  if(code STREQUAL "signal" AND NOT result MATCHES "^[0-9]$")
    set(ended signal)
  endif()
  if(NOT ended STREQUAL code OR NOT output MATCHES "${text}")
    message(FATAL_ERROR "example ${mode} ended with ${result} and printed\n${output}")
  endif()
  message(STATUS "example ${mode}:\n${output}")
endfunction()

run(${CMAKE_COMMAND} --build ${BUILD} --target softmetal_package)
run(${CMAKE_COMMAND} --install ${BUILD} --component softmetal --prefix ${WORK}/prefix)
file(COPY ${SOURCE}/softmetal/example/ DESTINATION ${WORK}/example)
run(${CMAKE_COMMAND} -S ${WORK}/example -B ${WORK}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_FLAGS=${FLAGS} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
expect("" 0 "total 500 on softmetal apple7")
expect(race 1 "race on threadgroup memory.*part\\[1\\].*blur.gpu:[0-9]+")
expect(foreign signal "foreign device.*is of another device")
