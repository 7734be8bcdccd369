# softmetal_add_kernels(target FILES.gpu...): each file becomes a Metal text, embedded as `extern const char NAME_metal[]`
# (NAME: the first argument of the file's GPU_KERNELS; declared in "NAME_metal.h"), and, where there is no Metal, the
# same kernels for the software GPU, registered with softmetal. Headers that the file includes are looked for beside it
# and in INCLUDES. SOFTMETAL_KERNEL_INCLUDES holds the dialect's own.
function(softmetal_add_kernels target)
  set(here ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  # Off the warnings that do not fit kernels: parameters that a variant does not use; aliasing, as kernels read bytes as
  # elements. A double where a float was meant is told, as a GPU has none.
  set(options -O2 -fno-strict-aliasing -ffp-contract=off -Wno-unused-parameter -Wdouble-promotion
    -Wframe-larger-than=16384)
  cmake_parse_arguments(ARG "" "" "INCLUDES" ${ARGN})
  set(gen ${CMAKE_CURRENT_BINARY_DIR}/softmetal_${target})
  file(MAKE_DIRECTORY ${gen})
  foreach(file IN LISTS ARG_UNPARSED_ARGUMENTS)
    get_filename_component(kernel ${file} ABSOLUTE)
    get_filename_component(folder ${kernel} DIRECTORY)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${kernel})
    file(STRINGS ${kernel} last REGEX "^GPU_KERNELS\\([a-z]")
    if(NOT last MATCHES "GPU_KERNELS\\(([A-Za-z0-9_]+),")
      message(FATAL_ERROR "softmetal_add_kernels: ${file} has no line GPU_KERNELS(name, kernels...)")
    endif()
    set(name ${CMAKE_MATCH_1})
    set(flags "")
    foreach(dir IN LISTS SOFTMETAL_KERNEL_INCLUDES folder ARG_INCLUDES)
      list(APPEND flags -I ${dir})
    endforeach()
    add_custom_command(OUTPUT ${gen}/${name}.metal
      COMMAND ${CMAKE_CXX_COMPILER} -E -P -undef -nostdinc -x c++ -std=c++17 -DGPU_MSL=1 ${flags}
              -MD -MF ${gen}/${name}.d -MT ${gen}/${name}.metal ${kernel} -o ${gen}/${name}.metal
      DEPENDS ${kernel} DEPFILE ${gen}/${name}.d COMMENT "Metal text of ${name}" VERBATIM)
    add_custom_command(OUTPUT ${gen}/${name}_metal.cpp
      COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DIN=${gen}/${name}.metal -DOUT=${gen}/${name}_metal.cpp
              -DREGISTER=$<NOT:$<PLATFORM_ID:Darwin>> -P ${here}/SoftmetalEmbed.cmake
      DEPENDS ${gen}/${name}.metal ${here}/SoftmetalEmbed.cmake VERBATIM)
    file(CONFIGURE OUTPUT ${gen}/${name}_metal.h @ONLY CONTENT
      "// Generated: the Metal text of ${name}.\n#pragma once\nextern const char ${name}_metal[];\n")
    target_sources(${target} PRIVATE ${gen}/${name}_metal.cpp)
    target_include_directories(${target} PRIVATE ${gen})
    if(NOT APPLE)
      foreach(mode IN ITEMS checked fast)
        set(checked 0)
        if("${mode}" STREQUAL "checked")
          set(checked 1)
        endif()
        set(wrapper ${gen}/${name}_${mode}.cpp)
        file(CONFIGURE OUTPUT ${wrapper} CONTENT "#define CHIARO_GPU_CHECKED ${checked}\n#include \"${kernel}\"\n" @ONLY)
        set_source_files_properties(${wrapper} PROPERTIES COMPILE_OPTIONS "${options};${flags}")
        target_sources(${target} PRIVATE ${wrapper})
      endforeach()
    endif()
  endforeach()
endfunction()
