# find_package(softmetal): the target softmetal::softmetal, and softmetal_add_kernels(target FILES.gpu...).
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/softmetalTargets.cmake)
get_filename_component(SOFTMETAL_KERNEL_INCLUDES ${CMAKE_CURRENT_LIST_DIR}/../../../include/softmetal/kernel ABSOLUTE)
include(${CMAKE_CURRENT_LIST_DIR}/SoftmetalKernels.cmake)
