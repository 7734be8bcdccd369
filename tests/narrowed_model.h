// The shipped model in fewer bits, as `chiaro convert` writes it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/dtype.h"
#include "core/thread_pool.h"
#include "weights/convert_folder.h"

namespace chiaro::testing {

struct NarrowedModel {
  std::string path;  // empty where it failed
  int64_t bytes = 0;
  int narrowed = 0;  // tensors of that type
};

// Convolutions too, whose rows no block divides, in joined rows. `name`: of the folder, in the tests' own.
inline NarrowedModel narrowed_model(DType type, const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path out = fs::path(CHIARO_TMP_DIR) / name / std::string(dtype_name(type));
  fs::remove_all(out);
  fs::create_directories(out.parent_path());
  ThreadPool pool(0);
  ConvertRequest request;
  request.in = std::string(CHIARO_SOURCE_DIR) + "/models/tiny";
  request.out = out;
  request.type = type;
  request.join_rows = true;
  request.pool = &pool;
  const auto report = convert_folder(request);
  EXPECT_TRUE(report.ok()) << report.error().format();
  NarrowedModel made;
  if (!report.ok()) return made;
  made.path = out.string();
  for (const auto& [part, component] : report->components) {
    made.bytes += component.bytes;
    for (const ConvertedTensor& tensor : component.tensors) made.narrowed += tensor.to == type ? 1 : 0;
  }
  EXPECT_GT(made.narrowed, 50) << dtype_name(type);
  return made;
}

}  // namespace chiaro::testing
