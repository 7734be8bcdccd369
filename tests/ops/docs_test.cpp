// docs/generated/ops.md says what the code says. CHIARO_UPDATE_DOCS=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ops/catalogue.h"
#include "runtime/ops_docs.h"

namespace chiaro {
namespace {

TEST(OpsDocs, ThePageIsNotStale) {
  const std::filesystem::path path = std::filesystem::path(CHIARO_SOURCE_DIR) / "docs" / "generated" / "ops.md";
  const std::string page = ops_markdown();
  if (std::getenv("CHIARO_UPDATE_DOCS") != nullptr) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << page;
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream there;
  there << file.rdbuf();
  EXPECT_EQ(there.str(), page) << "run with CHIARO_UPDATE_DOCS=1 and commit the page";
}

// Winograd takes none, as it pays for larger pictures only: conformance_test.cpp runs it on all of them.
TEST(OpsDocs, EveryKernelTakesSomething) {
  for (const OpDef* op : op_catalogue()) {
    for (const KernelTakes& kernel : kernels_take(*op, cpu_kernel_table(), {})) {
      EXPECT_EQ(kernel.inputs.empty(), kernel.kernel == "cpu.conv2d_winograd") << kernel.kernel;
    }
  }
}

TEST(OpsDocs, ACardNamesWhatTheKernelTakes) {
  const std::string card = op_card(*find_op("group_norm"));
  EXPECT_NE(card.find("groups=32"), std::string::npos) << card;
  EXPECT_NE(card.find("weight? [C]"), std::string::npos) << card;
  EXPECT_NE(card.find("cpu.group_norm"), std::string::npos) << card;
  EXPECT_NE(card.find("x f32 f16 bf16; weight f32 f16 bf16 f8_e4m3 f8_e5m2"), std::string::npos) << card;
}

}  // namespace
}  // namespace chiaro
