# Options and compiler settings shared by every target.
option(CHIARO_TESTS "Build the tests" ON)
option(CHIARO_BENCH "Build bench/ (Google Benchmark)" OFF)
option(CHIARO_FUZZ "Build the fuzzers (clang with libFuzzer)" OFF)
option(CHIARO_ONE_TARGET "Compile one SIMD target only (faster builds; used by the dev preset)" OFF)
option(CHIARO_LIBCXX "Build against libc++ (clang only); used by the clang-libcxx preset" OFF)
option(CHIARO_STATIC "Link the archives of libraries where they are installed; used by the macos-arm64 preset" OFF)
option(CHIARO_CCACHE "Compile through ccache if it is there" ON)
set(CHIARO_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize= (address,undefined or thread)")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

if(CHIARO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CHIARO_CCACHE_PROGRAM ccache)
  if(CHIARO_CCACHE_PROGRAM)
    set(CMAKE_C_COMPILER_LAUNCHER ${CHIARO_CCACHE_PROGRAM})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CHIARO_CCACHE_PROGRAM})
  endif()
endif()
if(CHIARO_LIBCXX)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-stdlib=libc++>)
  add_link_options(-stdlib=libc++)
endif()

# No -ffast-math anywhere: the order of floating point operations is part of what we promise ("same request, same
# bytes"), and -ffp-contract=off keeps the compiler from fusing what the source does not fuse.
add_library(chiaro_flags INTERFACE)
target_compile_options(chiaro_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion
  -Wno-sign-conversion $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual> -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these inside std::variant and std::string at -O2 and -O3 where nothing is wrong.
  target_compile_options(chiaro_flags INTERFACE -Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds
    -Wno-stringop-overflow -Wno-psabi)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    # Highway compiles its NEON functions with the crypto extension, which they so need in any case. GCC gives
    # constructors that it makes itself what the command line has, and would refuse to inline vectors into them.
    target_compile_options(chiaro_flags INTERFACE -march=armv8-a+crypto)
  endif()
endif()
if(CHIARO_SANITIZE)
  target_compile_options(chiaro_flags INTERFACE -fsanitize=${CHIARO_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(chiaro_flags INTERFACE -fsanitize=${CHIARO_SANITIZE})
  if(CHIARO_SANITIZE MATCHES "undefined")
    # Two checks at every access make a third of the time that a file takes to compile. AddressSanitizer finds null too;
    # the fuzzers' build checks the alignment of what readers read.
    target_compile_options(chiaro_flags INTERFACE -fno-sanitize=null,alignment)
  endif()
endif()
if(CHIARO_ONE_TARGET)
  target_compile_definitions(chiaro_flags INTERFACE CHIARO_ONE_TARGET=1)
endif()
if(CHIARO_STATIC AND APPLE)
  # Homebrew has Highway as a shared library alone. Only the choice among instruction sets at run time needs it, and on
  # these processors there is none to make; the linker then drops it.
  target_compile_definitions(chiaro_flags INTERFACE HWY_COMPILE_ONLY_STATIC=1)
  target_link_options(chiaro_flags INTERFACE -Wl,-dead_strip_dylibs)
endif()
target_include_directories(chiaro_flags INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
  ${PROJECT_BINARY_DIR}/generated)
