// Where tests find the tree, and where they may write. Included before every test's first line by the build: the paths
// are compiled into one small file only, so that a compiler cache finds the tests of another checkout again.
#pragma once

namespace chiaro_test_paths {
const char* source_dir();
const char* tmp_dir();
}  // namespace chiaro_test_paths

#define CHIARO_SOURCE_DIR (::chiaro_test_paths::source_dir())
#define CHIARO_TMP_DIR (::chiaro_test_paths::tmp_dir())
