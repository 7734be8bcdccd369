# chiaro_metal_api: what src/backend/metal compiles and links against. On a Mac Apple's metal-cpp, found (Homebrew's
# metal-cpp, or -DCHIARO_METAL_CPP=FOLDER) or fetched, and the frameworks; elsewhere softmetal, which has its names.
add_library(chiaro_metal_api INTERFACE)
if(NOT APPLE)
  target_link_libraries(chiaro_metal_api INTERFACE softmetal)
  target_compile_definitions(chiaro_metal_api INTERFACE CHIARO_SOFTMETAL=1)
  return()
endif()

# Residency sets are part of the headers from macOS 15 on; with these the program still runs on macOS 14.
find_path(CHIARO_METAL_CPP Metal/MTLResidencySet.hpp DOC "Folder of Apple's metal-cpp (macOS 15 or later)")
if(NOT CHIARO_METAL_CPP)
  include(FetchContent)
  FetchContent_Declare(metal_cpp
    URL https://developer.apple.com/metal/cpp/files/metal-cpp_macOS15.2_iOS18.2.zip
    URL_HASH SHA256=3437e4abfbd3d45217f34772ef3502f31ba3358e5fb6ac9d0ca952a047bcfe25
    DOWNLOAD_EXTRACT_TIMESTAMP TRUE)
  FetchContent_MakeAvailable(metal_cpp)
  set(CHIARO_METAL_CPP ${metal_cpp_SOURCE_DIR})
endif()
target_include_directories(chiaro_metal_api SYSTEM INTERFACE ${CHIARO_METAL_CPP})
# CoreGraphics is for MTLCopyAllDevices, which without it finds nothing in programs without windows.
target_link_libraries(chiaro_metal_api INTERFACE "-framework Foundation" "-framework Metal" "-framework CoreGraphics"
  "-framework QuartzCore")
