#include "test_paths.h"

namespace chiaro_test_paths {

const char* source_dir() {
  return CHIARO_TEST_SOURCE_DIR;
}

const char* tmp_dir() {
  return CHIARO_TEST_TMP_DIR;
}

}  // namespace chiaro_test_paths
