// PyTorch checkpoints: files that torch.save wrote (tools/reference/torch_goldens.py), and crafted ones.
#include "weights/torch.h"

#include <cstring>

#include "weights/crafted.h"
#include "weights/limited_memory.h"
#include "weights/model_source.h"
#include "weights/pickle.h"

namespace chiaro {
namespace {

using testing::as_bytes;
using testing::error_has;
using testing::expect_within;
using testing::Limited;
using testing::memory_can_be_limited;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;

std::filesystem::path golden(const std::string& name) {
  return std::string(CHIARO_SOURCE_DIR) + "/tests/golden/torch/" + name;
}

TorchFile open(const std::string& name) {
  auto file = TorchFile::open(golden(name));
  EXPECT_TRUE(file.ok()) << file.error().format();
  return std::move(file).value();
}

// The formula of torch_goldens.py.
double formula(const std::string& name, int64_t i) {
  return static_cast<double>((7 * i + static_cast<int64_t>(name.size())) % 61 - 30) / 8;
}

void expect_formula(const TorchFile& file, const std::string& name, DType dtype, const Shape& shape,
                    const std::string& formula_name = "", double factor = 1) {
  const TensorDataPtr t = file.find(name);
  ASSERT_TRUE(t) << name;
  EXPECT_EQ(t->desc, dense(dtype, shape)) << name;
  const std::string& key = formula_name.empty() ? name : formula_name;
  for (int64_t i = 0; i < t->desc.count(); ++i) {
    EXPECT_EQ(load_element(dtype, t->bytes, i), factor * formula(key, i)) << name << " " << i;
  }
}

std::vector<std::string> names_of(const std::vector<SkippedTensor>& list) {
  std::vector<std::string> names;
  for (const SkippedTensor& s : list) names.push_back(s.name);
  return names;
}

class TorchForms : public ::testing::TestWithParam<std::string> {};

TEST_P(TorchForms, TypesAndShapes) {
  const TorchFile file = open("types." + GetParam());
  expect_formula(file, "f32", DType::f32, {3, 5});
  expect_formula(file, "f16", DType::f16, {3, 5});
  expect_formula(file, "bf16", DType::bf16, {3, 5});
  expect_formula(file, "i8", DType::i8, {4}, "", 8);
  expect_formula(file, "scalar", DType::f32, {});
  expect_formula(file, "empty", DType::f32, {0, 4});
  EXPECT_EQ(names_of(file.skipped()), (std::vector<std::string>{"f64", "flag", "i64", "seven"}));
  EXPECT_EQ(file.skipped()[0].reason, "unsupported dtype DoubleStorage");
  EXPECT_EQ(file.skipped()[3].reason, "rank 7 is above 6");
  EXPECT_EQ(file.tensors().size(), 6u);
  EXPECT_TRUE(file.others().empty());
}

TEST_P(TorchForms, TensorsMayShareAStorageAndLieAcrossIt) {
  const TorchFile file = open("shared." + GetParam());
  expect_formula(file, "base", DType::f32, {4, 6});
  EXPECT_EQ(file.find("again")->bytes, file.find("base")->bytes);
  EXPECT_EQ(file.find("rows")->bytes, file.find("base")->bytes + 24);
  expect_formula(file, "parameter", DType::f32, {2, 2});
  const TensorDataPtr turned = file.find("turned"), column = file.find("column");
  ASSERT_EQ(turned->desc.shape, (Shape{6, 4}));
  ASSERT_EQ(column->desc.shape, Shape{4});
  for (int64_t i = 0; i < 24; ++i) {
    EXPECT_EQ(load_element(DType::f32, turned->bytes, i), formula("base", i % 4 * 6 + i / 4)) << i;
  }
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(load_element(DType::f32, column->bytes, i), formula("base", 6 * i + 2));
}

TEST_P(TorchForms, WhatStandsBesideTheWeightsIsNotedAndLeftOut) {
  const TorchFile file = open("nested." + GetParam());
  ASSERT_EQ(file.tensors().size(), 2u);
  expect_formula(file, "a.weight", DType::f16, {2, 3});
  expect_formula(file, "b.bias", DType::f32, {3});
  EXPECT_EQ(names_of(file.others()),
            (std::vector<std::string>{"epoch", "flag", "global_step", "none", "note", "optimizer_states", "rate"}));
  EXPECT_EQ(file.others()[5].reason, "a list");
  EXPECT_EQ(file.metadata().at("global_step"), "470000");
  EXPECT_EQ(file.metadata().at("note"), "made for a test");
  EXPECT_EQ(file.metadata().size(), 4u);
}

TEST_P(TorchForms, AttributesOfAStateDictDoNotMatter) {
  const TorchFile file = open("linear." + GetParam());
  expect_formula(file, "0.weight", DType::f32, {2, 3});
  expect_formula(file, "0.bias", DType::f32, {2});
  expect_formula(file, "1.weight", DType::f32, {2, 2, 1, 1});
  EXPECT_EQ(file.tensors().size(), 4u);
}

INSTANTIATE_TEST_SUITE_P(Forms, TorchForms, ::testing::Values("zip.pt", "legacy.pt"));

TEST(Torch, LaterTypesAndProtocols) {
  const TorchFile fp8 = open("fp8.zip.pt");
  EXPECT_EQ(fp8.find("e4m3")->desc, dense(DType::f8_e4m3, {2, 4}));
  EXPECT_EQ(fp8.find("e5m2")->desc, dense(DType::f8_e5m2, {2, 4}));
  EXPECT_EQ(load_element(DType::f8_e4m3, fp8.find("e4m3")->bytes, 0), -3.25);  // formula(4 letters, 0)
  expect_formula(open("protocol4.zip.pt"), "w", DType::f32, {2, 2});
  expect_formula(open("sizes64.zip.pt"), "0.weight", DType::f32, {2, 3});
  const TorchFile leftovers = open("leftovers.zip.pt");
  expect_formula(leftovers, "w", DType::f32, {2, 2});
  EXPECT_EQ(names_of(leftovers.others()), (std::vector<std::string>{"dict", "score"}));
}

TEST(Torch, RefusesWhatItCannotReadRight) {
  struct Case {
    std::string file;
    ErrorCode code;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases{
      {"evil_system.zip.pt", ErrorCode::unsupported, {"\"posix.system\"", "run code", "weights_only=True"}},
      {"evil_system4.zip.pt", ErrorCode::unsupported, {"\"posix.system\""}},
      {"evil_eval.zip.pt", ErrorCode::unsupported, {"eval"}},
      {"evil.legacy.pt", ErrorCode::unsupported, {"\"posix.system\""}},
      {"repeats.zip.pt", ErrorCode::bad_file, {"\"w\"", "repeats elements"}},
      {"list.zip.pt", ErrorCode::bad_file, {"a list", "not a dict"}},
      {"nothing.zip.pt", ErrorCode::bad_file, {"holds no tensors"}},
      {"script.zip.pt", ErrorCode::unsupported, {"TorchScript"}},
      {"compressed.zip.pt", ErrorCode::unsupported, {"is compressed", "linear.zip/"}},
      {"big_endian.zip.pt", ErrorCode::unsupported, {"big-endian"}},
      {"no_storage.zip.pt", ErrorCode::bad_file, {"storage \"0\"", "does not hold"}},
  };
  for (const Case& c : cases) {
    const auto file = TorchFile::open(golden(c.file));
    ASSERT_FALSE(file.ok()) << c.file;
    EXPECT_EQ(file.error().code, c.code) << c.file << file.error().format();
    for (const std::string& part : c.parts) {
      EXPECT_NE(file.error().format().find(part), std::string::npos) << part << "\n" << file.error().format();
    }
  }
}

// A file cut anywhere is an error, and a byte changed anywhere gives a result or an error, never more.
TEST(Torch, DamagedFiles) {
  for (const std::string name : {"shared.zip.pt", "shared.legacy.pt", "nested.zip.pt"}) {
    const std::string whole = read_file(golden(name));
    const bool zip = name.find("zip") != std::string::npos;
    for (size_t cut = 0; cut < whole.size(); ++cut) {
      EXPECT_FALSE(parse_torch(as_bytes(whole).first(cut), name).ok()) << name << " cut at " << cut;
    }
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ (i % 7 == 0 ? 0xFF : 1 << i % 8));
      const auto parsed = parse_torch(as_bytes(changed), name);
      if (parsed.ok()) continue;
      EXPECT_FALSE(parsed.error().mend.empty()) << zip;
    }
  }
}

// Every cut of a file, and pickles whose lengths are far beyond the file.
TEST(Torch, DamagedFilesTakeLittleMemoryAndTime) {
  if (!memory_can_be_limited()) GTEST_SKIP() << "address space cannot be limited here";
  using namespace std::string_literals;
  std::vector<std::string> files;
  for (const std::string name : {"shared.zip.pt", "shared.legacy.pt"}) {
    const std::string whole = read_file(golden(name));
    for (size_t cut = 0; cut < whole.size(); cut += 7) files.push_back(whole.substr(0, cut));
  }
  const std::vector<std::string> pickles{
      "\x80\x02"
      "B\xFF\xFF\xFF\x7F."s,
      "\x80\x02X\xFF\xFF\xFF\x7F."s, "\x80\x02\x8D\0\0\0\0\0\0\0\x40."s, "\x80\x02\x8B\xFF\xFF\xFF\x7F."s};
  expect_within(Limited::address_space, size_t{1} << 20, 0.010 * static_cast<double>(files.size() + pickles.size()),
                [&] {
                  for (const std::string& file : files) {
                    if (parse_torch(as_bytes(file), "f").ok()) return false;
                  }
                  for (const std::string& pickle : pickles) {
                    if (read_pickle(as_bytes(pickle), "p").ok()) return false;
                  }
                  return true;
                });
}

// Pickles by hand -----------------------------------------------------------------------------------------------------

Error pickle_error(const std::string& body) {
  const std::string text = "\x80\x02" + body;
  auto pickle = read_pickle(as_bytes(text), "p");
  EXPECT_FALSE(pickle.ok()) << "accepted";
  return pickle.ok() ? Error{} : std::move(pickle).error();
}

TEST(PickleReader, EveryOtherNameAndInstructionIsRefused) {
  EXPECT_TRUE(error_has(pickle_error("cos\nsystem\n."), {"\"os.system\""}));
  EXPECT_TRUE(error_has(pickle_error("cbuiltins\nexec\n."), {"\"builtins.exec\""}));
  EXPECT_TRUE(error_has(pickle_error("ctorch\nload\n."), {"\"torch.load\""}));
  EXPECT_TRUE(error_has(pickle_error("ctorch.hub\nload\n)R."), {"\"torch.hub.load\""}));
  EXPECT_TRUE(error_has(pickle_error("cevil\x1b[2J\nname\n."), {"\\x1b"}));
  EXPECT_TRUE(error_has(pickle_error("X\x02\0\0\0osX\x06\0\0\0system\x93."), {"cut off"}));  // the NULs end the text
  // What is allowed as a type is not called, and values are not functions.
  EXPECT_TRUE(error_has(pickle_error("ctorch\nFloatStorage\n)R."), {"call", "FloatStorage"}));
  EXPECT_TRUE(error_has(pickle_error("K\x01)R."), {"call", "integer"}));
  // INST, OBJ, NEWOBJ_EX, EXT1, NEXT_BUFFER, text instructions of protocol 0.
  for (const std::string op : {"i", "o", "\x92", "\x82", "\x97", "I1\n", "S'a'\n", "P1\n", "g0\n", "p0\n"}) {
    EXPECT_EQ(pickle_error(op + ".").code, ErrorCode::unsupported) << op;
  }
}

TEST(PickleReader, DamagedOnesAreRefused) {
  EXPECT_TRUE(error_has(read_pickle(as_bytes("}."), "p").error(), {"not a pickle"}));
  EXPECT_TRUE(error_has(pickle_error("\x80\x06."), {"protocol 6"}));
  for (const std::string body : {".", "s.", "a.", "u.", "0.", "\x86.", "R.", "b.", "Q.", "(.", "t.", "q"}) {
    EXPECT_EQ(pickle_error(body).code, ErrorCode::bad_file) << body;
  }
  EXPECT_TRUE(error_has(pickle_error("h\x05."), {"value 5"}));
  EXPECT_TRUE(error_has(pickle_error("K\x01K\x02"
                                     "a."),
                        {"adds items to an integer"}));
  EXPECT_TRUE(error_has(pickle_error("}(K\x01u."), {"adds items"}));
  EXPECT_TRUE(error_has(pickle_error("B\xFF\xFF\xFF\x7F."), {"cut off"}));
  EXPECT_TRUE(error_has(pickle_error(std::string("\x8D\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9)), {"cut off"}));
}

TEST(PickleReader, Numbers) {
  using namespace std::string_literals;
  const std::string body = "\x80\x02(K\x07M\x01\x02J\xFE\xFF\xFF\xFF\x8A\x01\x80\x8A\x00\x8A\x02\xFF\x00"s +
                           "\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"s + "G\x3F\xF8\x00\x00\x00\x00\x00\x00t."s;
  const auto pickle = read_pickle(as_bytes(body), "p");
  ASSERT_TRUE(pickle.ok()) << pickle.error().format();
  const std::vector<PickleRef>& items = pickle->top().items;
  ASSERT_EQ(items.size(), 8u);
  const std::vector<int64_t> expected{7, 513, -2, -128, 0, 255, INT64_MAX};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ((*pickle)[items[i]].integer, expected[i]) << i;
  EXPECT_EQ((*pickle)[items[7]].real, 1.5);
}

// What makes readers run out of memory or of stack must cost neither.
TEST(PickleReader, BombsEndEarly) {
  EXPECT_TRUE(error_has(pickle_error(std::string(4'000'000, 'N')), {"more than 1500000 values"}));
  EXPECT_TRUE(error_has(pickle_error("N" + std::string(4'000'000, '\x94')), {"more than 1500000 values"}));
  std::string deep = "N";
  deep += std::string(1'000'000, '\x85');  // a tuple in a tuple in a tuple ...
  const auto pickle = read_pickle(as_bytes("\x80\x02" + deep + "."), "p");
  EXPECT_TRUE(pickle.ok());
  // A long list that is given to many calls.
  std::string calls = "(" + std::string(100'000, 'N') + "tq\x01";
  for (int i = 0; i < 1000; ++i) calls += "ctorch._utils\n_rebuild_tensor\nh\x01R";
  EXPECT_TRUE(error_has(pickle_error(calls + "."), {"more than 1500000 values"}));
}

TEST(Torch, DictsThatHoldThemselvesAndEachOther) {
  using namespace std::string_literals;
  const std::string prefix = "\x80\x02\x8A\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03."s +
                             "\x80\x02}X\x0d\0\0\0little_endian\x88s."s;
  const auto parse = [&](const std::string& body) {
    return parse_torch(as_bytes(prefix + "\x80\x02" + body + ".\x80\x02]."), "p");
  };
  EXPECT_TRUE(error_has(parse("}q\x01X\x01\0\0\0aq\x02h\x01s"s).error(), {"nested more than 16"}));
  // Ten dicts, each of which holds the one before it ten times: 10^10 ways through.
  std::string laughs = "}q\x01"s;
  for (int level = 0; level < 10; ++level) {
    laughs += "}("s;
    for (char key = '0'; key <= '9'; ++key) laughs += "X\x01\0\0\0"s + key + "h"s + static_cast<char>(1 + level);
    laughs += "uq"s + static_cast<char>(2 + level);
  }
  EXPECT_TRUE(error_has(parse(laughs).error(), {"too many entries"}));
  EXPECT_TRUE(error_has(parse("}").error(), {"no tensors"}));
}

TEST(Torch, OpensAsAModel) {
  const TempFolder folder;
  const auto source = open_model(write_file(folder / "m.ckpt", read_file(golden("nested.zip.pt"))));
  ASSERT_TRUE(source.ok()) << source.error().format();
  const auto component = source->component(kCheckpointComponent);
  ASSERT_TRUE(component.ok());
  EXPECT_EQ((*component)->weights.names(), (std::vector<std::string>{"a.weight", "b.bias"}));
  EXPECT_EQ((*component)->metadata.at("epoch"), "3");
  ModelFiles files;
  files.vae = golden("types.legacy.pt");
  const auto parts = open_model(files);
  ASSERT_TRUE(parts.ok()) << parts.error().format();
  EXPECT_EQ(parts->part("vae")->weights.size(), 6u);
  EXPECT_EQ(parts->part("vae")->weights.report().skipped.size(), 4u);
  EXPECT_TRUE(
      error_has(open_model(write_file(folder / "a.ckpt", "PK\x03\x04 archive")).error(), {"a.ckpt", "cut off"}));
  EXPECT_TRUE(error_has(open_model(write_file(folder / "b.ckpt", "\x80\x02}q.")).error(), {"b.ckpt", "pickle"}));
}

}  // namespace
}  // namespace chiaro
