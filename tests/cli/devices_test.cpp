// `chiaro devices` on a machine with Metal devices, which softmetal stands in for, and features switched by hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>

#include "program.h"

#if defined(CHIARO_SOFTMETAL)

namespace chiaro {
namespace {

using namespace testing;

// Of the environment, for the programs that are started meanwhile.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

int lines_like(const Outcome& outcome, const std::string& pattern) {
  int count = 0;
  for (const std::string& line : outcome.out_lines()) {
    count += std::regex_match(line, std::regex(pattern)) ? 1 : 0;
  }
  return count;
}

TEST(Devices, OfTheMachineMayAlsoBeNamed) {
  const Variable machine("SOFTMETAL_DEVICES", "apple7,apple9");
  const Folder folder("devices");
  const Outcome listed = folder.run({"devices"});
  ASSERT_EQ(listed.code, 0) << listed.err;
  for (const char* name : {"metal0", "metal1", "cpu"}) EXPECT_EQ(lines_like(listed, name), 1) << listed.out;
  EXPECT_EQ(lines_like(listed, ".*private storage.*"), 0) << listed.out;
  const Outcome named = folder.run({"devices", "--devices", "metal0,storage=private"});
  ASSERT_EQ(named.code, 0) << named.err;
  for (const char* name : {"metal0", "metal1", "cpu"}) EXPECT_EQ(lines_like(named, name), 1) << named.out;
  EXPECT_EQ(lines_like(named, ".*private storage.*"), 1) << named.out;
}

TEST(Devices, WithoutAMacMetalIsNotASoftwareGpu) {
  const Folder folder("devices");
  const Outcome outcome = folder.run({"devices", "--devices", "metal0"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("softmetal:PROFILE"), std::string::npos) << outcome.err;
}

TEST(Devices, TellWhatIsAdvertisedForcedAndUsed) {
  const Folder folder("devices");
  const Outcome plain = folder.run({"devices", "--devices", "softmetal:apple7"});
  ASSERT_EQ(plain.code, 0) << plain.err;
  EXPECT_EQ(lines_like(plain, " *simd_reduce +yes +- +yes"), 1) << plain.out;
  const Variable features("CHIARO_METAL_FEATURES", "+simd_reduce,-bf16");
  const Outcome forced = folder.run({"devices", "--devices", "softmetal:apple5-vm"});
  ASSERT_EQ(forced.code, 0) << forced.err;
  EXPECT_EQ(lines_like(forced, " *simd_reduce +no +on +yes"), 1) << forced.out;
  EXPECT_EQ(lines_like(forced, " *simd_matrix +no +- +no"), 1) << forced.out;
  EXPECT_EQ(lines_like(forced, " *bf16 +no +off +no"), 1) << forced.out;
}

}  // namespace
}  // namespace chiaro

#endif
