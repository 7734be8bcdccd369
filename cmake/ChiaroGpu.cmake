# GPU kernels: a kernel.gpu becomes two objects for the software GPU (with and without checks) and a Metal text that is
# embedded. cmake/ChiaroGpuCuda.cmake compiles the same files with nvcc where there is one.
include(ChiaroGpuCuda)

# Off the warnings that do not fit kernels: parameters that a variant does not use; aliasing, as kernels read bytes as
# elements. A double where a float was meant is an error, as on a GPU.
set(CHIARO_GPU_SOFT_OPTIONS -O2 -fno-strict-aliasing -Wno-unused-parameter -Wdouble-promotion
  -Wframe-larger-than=16384 -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

# chiaro_gpu_soft(target FILES...): objects of kernel.gpu files for the software GPU, in one static library.
function(chiaro_gpu_soft target)
  foreach(mode IN ITEMS checked fast)
    set(wrappers "")
    foreach(kernel IN LISTS ARGN)
      # By its path in the tree, so that a compiler cache finds the object from any checkout.
      file(RELATIVE_PATH kernel ${PROJECT_SOURCE_DIR} ${kernel})
      string(MD5 hash ${kernel})
      string(SUBSTRING ${hash} 0 8 hash)
      get_filename_component(folder ${kernel} DIRECTORY)
      get_filename_component(name ${folder} NAME)
      set(wrapper ${PROJECT_BINARY_DIR}/generated/gpu/soft/${name}_${hash}_${mode}.cpp)
      set(checked 0)
      if("${mode}" STREQUAL "checked")
        set(checked 1)
      endif()
      file(CONFIGURE OUTPUT ${wrapper} CONTENT "#define CHIARO_GPU_CHECKED ${checked}\n#include \"${kernel}\"\n" @ONLY)
      list(APPEND wrappers ${wrapper})
    endforeach()
    list(APPEND sources ${wrappers})
  endforeach()
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC chiaro_gpu)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  # Of the files, so that they stand behind -Wextra: clang goes by the order.
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${CHIARO_GPU_SOFT_OPTIONS}")
endfunction()

# chiaro_gpu_metal(name kernel.gpu out_var): the text that Apple's compiler gets, and a .cpp that embeds it.
function(chiaro_gpu_metal name kernel out_var)
  set(gen ${PROJECT_BINARY_DIR}/generated/gpu/metal)
  file(MAKE_DIRECTORY ${gen})
  add_custom_command(OUTPUT ${gen}/${name}.metal
    COMMAND ${CMAKE_CXX_COMPILER} -E -P -undef -nostdinc -x c++ -std=c++17 -DGPU_MSL=1 -I ${PROJECT_SOURCE_DIR}/src
            -MD -MF ${gen}/${name}.d -MT ${gen}/${name}.metal ${kernel} -o ${gen}/${name}.metal
    DEPENDS ${kernel} DEPFILE ${gen}/${name}.d COMMENT "Metal text of ${name}" VERBATIM)
  add_custom_command(OUTPUT ${gen}/${name}.cpp
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DIN=${gen}/${name}.metal -DOUT=${gen}/${name}.cpp
            -P ${PROJECT_SOURCE_DIR}/cmake/ChiaroGpuEmbed.cmake
    DEPENDS ${gen}/${name}.metal ${PROJECT_SOURCE_DIR}/cmake/ChiaroGpuEmbed.cmake VERBATIM)
  set_property(GLOBAL APPEND PROPERTY CHIARO_METAL_TEXTS ${gen}/${name}.metal)
  set_property(GLOBAL APPEND PROPERTY CHIARO_GPU_KERNEL_FILES ${kernel})
  set(${out_var} ${gen}/${name}.cpp PARENT_SCOPE)
endfunction()
