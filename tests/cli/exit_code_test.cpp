// Exit codes of every kind, and what is left behind.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "program.h"

namespace chiaro {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using Words = std::vector<std::string>;

// A copy of the shipped model whose file `name` ends in `tail`.
fs::path damaged_model(const Folder& folder, const std::string& name, const std::string& tail) {
  const fs::path model = folder / "damaged";
  fs::copy(tiny_model(), model, fs::copy_options::recursive);
  std::fstream file(model / name, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(-static_cast<std::streamoff>(tail.size()), std::ios::end);
  file << tail;
  return model;
}

TEST(ExitCode, ThreeForInputsThatCannotBeRead) {
  const Folder folder("exit");
  std::ofstream(folder / "text.png") << "not a picture";
  std::ofstream(folder / "text.safetensors") << "not a model";
  fs::create_directory(folder / "empty");
  const Words inputs[] = {
      quick({"-m", "no such model"}),
      quick({"-m", "text.safetensors"}),
      quick({"-m", "empty"}),
      {"--from", "no such picture.png"},
      {"--from", "text.png"},
      {"inspect", "no such file"},
      {"inspect", "text.safetensors"},
      {"compare", "text.png", "text.png"},
      {"compare", "no such file.png", "text.png"},
  };
  for (const Words& words : inputs) {
    const Outcome outcome = folder.run(words);
    EXPECT_EQ(outcome.code, 3) << words.front() << " " << words.back() << "\n" << outcome.err;
    EXPECT_EQ(outcome.err.substr(0, 6), "error[") << outcome.err;
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_EQ(folder.names(), (Words{"empty", "text.png", "text.safetensors"}));
}

TEST(ExitCode, ThreeForAModelThatIsCutOff) {
  const Folder folder("exit");
  const fs::path model = folder / "cut";
  fs::copy(tiny_model(), model, fs::copy_options::recursive);
  const fs::path weights = model / "unet" / "diffusion_pytorch_model.safetensors";
  fs::resize_file(weights, fs::file_size(weights) - 1);
  const Outcome outcome = folder.run(quick({"-m", "cut"}));
  EXPECT_EQ(outcome.code, 3) << outcome.err;
  EXPECT_NE(outcome.err.find("diffusion_pytorch_model.safetensors"), std::string::npos) << outcome.err;
}

TEST(ExitCode, FourForAResultThatIsNotFinite) {
  const Folder folder("exit");
  damaged_model(folder, "unet/diffusion_pytorch_model.safetensors", std::string("\x00\x7E", 2));  // a NaN in f16
  const Outcome outcome = folder.run(quick({"-m", "damaged"}));
  EXPECT_EQ(outcome.code, 4) << outcome.err;
  EXPECT_NE(outcome.err.find("error[non-finite]"), std::string::npos) << outcome.err;
  EXPECT_EQ(folder.names(), Words{"damaged"}) << "no picture of it may be left";
}

TEST(ExitCode, FiveForAFullDisk) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Folder folder("exit");
  fs::create_symlink("/dev/full", folder / "full.png");
  const Outcome outcome = folder.run(quick({"-o", "full.png"}));
  EXPECT_EQ(outcome.code, 5) << outcome.err;
  EXPECT_NE(outcome.err.find("error[io]"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
}

// Earlier pictures of a batch stay, and are named, where a later one cannot be saved.
TEST(ExitCode, FiveKeepsTheEarlierPictures) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const Folder folder("exit");
  fs::create_symlink("/dev/full", folder / "a_2.png");
  const Outcome outcome = folder.run(quick({"-b", "3", "-o", "a.png"}));
  EXPECT_EQ(outcome.code, 5) << outcome.err;
  EXPECT_EQ(outcome.out, "a.png\n");
  EXPECT_EQ(folder.names(), (Words{"a.png", "a_2.png"}));
}

TEST(ExitCode, FiveWhereMemoryIsShort) {
  const Folder folder("exit");
  std::ofstream(folder / "limited.sh") << "ulimit -v 1000000\nexec \"$@\"\n";
  // The program under a limit of about 1 GB of address space; the decoder's planes of 4096 x 4096 take more.
  const std::string command = "cd '" + folder.path().string() +
                              "' && sh limited.sh " CHIARO_PROGRAM " -p x --steps 1 -W 8192 -H 8192 -t 1 > out 2> err";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 5) << read_file(folder / "err");
  EXPECT_NE(read_file(folder / "err").find("error[memory]"), std::string::npos) << read_file(folder / "err");
  EXPECT_FALSE(fs::exists(folder / "output.png"));
}

TEST(ExitCode, OneForPicturesThatAreNotAlikeEnough) {
  const Folder folder("exit");
  ASSERT_EQ(folder.run(quick({"-b", "2", "-o", "a.png"})).code, 0);
  ASSERT_EQ(folder.run(quick({"-W", "72", "-o", "wide.png"})).code, 0);
  const Outcome unlike = folder.run({"compare", "a.png", "a_2.png", "--min-psnr", "90"});
  EXPECT_EQ(unlike.code, 1);
  EXPECT_EQ(unlike.out.substr(0, 5), "PSNR ");
  EXPECT_EQ(folder.run({"compare", "a.png", "a_2.png"}).code, 0);
  EXPECT_EQ(folder.run({"compare", "a.png", "a_2.png", "--min-psnr", "0.1"}).code, 0);
  const Outcome same = folder.run({"compare", "a.png", "a.png", "--min-psnr", "90"});
  EXPECT_EQ(same.code, 0);
  EXPECT_EQ(same.out, "identical\n");
  const Outcome sizes = folder.run({"compare", "a.png", "wide.png"});
  EXPECT_EQ(sizes.code, 1);
  EXPECT_NE(sizes.err.find("64x64 against 72x64"), std::string::npos) << sizes.err;
}

}  // namespace
}  // namespace chiaro
