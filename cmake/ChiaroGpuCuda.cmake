# The kernels of every kernel.gpu with all variants as CUDA C++, for the target cuda-check. Nothing of it is in `all`.
find_program(CHIARO_NVCC nvcc PATHS /usr/local/cuda/bin)

# After chiaro_finish_ops(): `cuda-check` writes a .cu per kernel.gpu and compiles it for sm_80 and sm_90.
function(chiaro_gpu_cuda_check)
  find_package(Python3 COMPONENTS Interpreter)
  if(NOT CHIARO_NVCC OR NOT Python3_FOUND)
    return()
  endif()
  get_property(kernels GLOBAL PROPERTY CHIARO_GPU_KERNEL_FILES)
  set(gen ${PROJECT_BINARY_DIR}/generated/gpu/cuda)
  file(MAKE_DIRECTORY ${gen})
  set(outputs "")
  foreach(kernel IN LISTS kernels)
    get_filename_component(folder ${kernel} DIRECTORY)
    get_filename_component(name ${folder} NAME)
    add_custom_command(OUTPUT ${gen}/${name}.cu
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/gpu/cuda_variants.py ${kernel} ${gen}/${name}.cu
      DEPENDS ${kernel} ${PROJECT_SOURCE_DIR}/tools/gpu/cuda_variants.py ${PROJECT_SOURCE_DIR}/tools/gpu/kernel_text.py
      VERBATIM)
    add_custom_command(OUTPUT ${gen}/${name}.fatbin
      COMMAND ${CHIARO_NVCC} -std=c++17 -O3 -fmad=false -prec-div=true -prec-sqrt=true
              -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90 -I ${PROJECT_SOURCE_DIR}/src
              -fatbin -MD -MF ${gen}/${name}.d -o ${gen}/${name}.fatbin ${gen}/${name}.cu
      DEPENDS ${gen}/${name}.cu DEPFILE ${gen}/${name}.d COMMENT "nvcc ${name}" VERBATIM)
    list(APPEND outputs ${gen}/${name}.fatbin)
  endforeach()
  add_custom_target(cuda-check DEPENDS ${outputs})
endfunction()
