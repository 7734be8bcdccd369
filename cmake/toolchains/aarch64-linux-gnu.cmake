# Cross-compiles for 64-bit Arm on Debian: g++-aarch64-linux-gnu, and the libraries that tools/neon_check.sh unpacked
# into CHIARO_ARM64_ROOT.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CHIARO_ARM64_ROOT)
set(CMAKE_FIND_ROOT_PATH ${CHIARO_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Libraries of libraries: linked for their names alone, found by the emulator when the program runs.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${CHIARO_ARM64_ROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu
    -E LD_LIBRARY_PATH=${CHIARO_ARM64_ROOT}/usr/lib/aarch64-linux-gnu)
