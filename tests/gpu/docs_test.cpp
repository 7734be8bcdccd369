// docs/generated/kernels.md. CHIARO_UPDATE_DOCS=1 writes it anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "ops/gpu_kernel.h"
#include "runtime/kernels_docs.h"

namespace chiaro {
namespace {

TEST(KernelsDocs, ThePageIsNotStale) {
  const std::filesystem::path path = std::filesystem::path(CHIARO_SOURCE_DIR) / "docs" / "generated" / "kernels.md";
  const auto page = kernels_markdown();
  ASSERT_TRUE(page.ok()) << page.error().format();
  if (std::getenv("CHIARO_UPDATE_DOCS") != nullptr) std::ofstream(path, std::ios::binary) << *page;
  std::ifstream file(path, std::ios::binary);
  std::stringstream there;
  there << file.rdbuf();
  EXPECT_EQ(there.str(), *page) << "run with CHIARO_UPDATE_DOCS=1 and commit the page";
}

TEST(KernelsDocs, EveryOpIsThere) {
  const auto page = kernels_markdown();
  ASSERT_TRUE(page.ok()) << page.error().format();
  for (const Kernels& kernels : gpu_kernel_table()) {
    const std::string op = "**" + std::string(kernels.front().op) + "**";
    EXPECT_NE(page->find(op), std::string::npos) << op;
  }
  for (const char* line : {"**group_norm** [1,64,64,512]", "**group_norm** [1,256,256,256]"}) {
    EXPECT_NE(page->find(line), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace chiaro
