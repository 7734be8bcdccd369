# chiaro_gpu_profiles(out_var): a .cpp with the files of src/gpu/profiles, written when CMake runs.
function(chiaro_gpu_profiles out_var)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/profiles/*.json)
  set(entries "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    string(APPEND entries "      {\"${name}\", R\"json(${text})json\"},\n")
  endforeach()
  set(out ${PROJECT_BINARY_DIR}/generated/gpu/profiles.cpp)
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT "// Generated from src/gpu/profiles.
#include \"gpu/profile.h\"

namespace chiaro::gpu {

std::vector<ProfileText> profile_texts() {
  return {
@entries@  };
}

}  // namespace chiaro::gpu
")
  set(${out_var} ${out} PARENT_SCOPE)
endfunction()
