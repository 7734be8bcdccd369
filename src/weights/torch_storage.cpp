#include "weights/torch_storage.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "weights/printable.h"
#include "weights/zip.h"

namespace chiaro {
namespace {

constexpr std::array kTypes{
    TorchType{"FloatStorage", 4, DType::f32},
    TorchType{"HalfStorage", 2, DType::f16},
    TorchType{"BFloat16Storage", 2, DType::bf16},
    TorchType{"CharStorage", 1, DType::i8},
    TorchType{"IntStorage", 4, DType::i32},
    TorchType{"DoubleStorage", 8, {}},
    TorchType{"ByteStorage", 1, {}},
    TorchType{"ShortStorage", 2, {}},
    TorchType{"LongStorage", 8, {}},
    TorchType{"BoolStorage", 1, {}},
    TorchType{"QInt8Storage", 1, {}},
    TorchType{"QUInt8Storage", 1, {}},
    TorchType{"QInt32Storage", 4, {}},
    TorchType{"ComplexFloatStorage", 8, {}},
    TorchType{"ComplexDoubleStorage", 16, {}},
    TorchType{"UntypedStorage", 1, {}},
    // Of _rebuild_tensor_v3, whose storages have no type.
    TorchType{"float", 4, DType::f32},
    TorchType{"float32", 4, DType::f32},
    TorchType{"half", 2, DType::f16},
    TorchType{"float16", 2, DType::f16},
    TorchType{"bfloat16", 2, DType::bf16},
    TorchType{"float8_e4m3fn", 1, DType::f8_e4m3},
    TorchType{"float8_e5m2", 1, DType::f8_e5m2},
    TorchType{"int8", 1, DType::i8},
    TorchType{"int32", 4, DType::i32},
    TorchType{"uint16", 2, {}},
    TorchType{"uint32", 4, {}},
};

// Python's long integer 0x1950A86A20F9469CFC6C, with which the old form begins.
constexpr std::string_view kLegacyMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
constexpr int64_t kLegacyVersion = 1001;
constexpr std::string_view kSaveAnew = "load it with PyTorch and save it again, or use the .safetensors file";

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool take_front(std::string_view& name, std::string_view front) {
  if (!name.starts_with(front)) return false;
  name.remove_prefix(front.size());
  return true;
}

// "FOLDER/data.pkl": the pickle; "FOLDER/data/KEY": the storages.
Result<TorchArchive> open_zip(std::span<const std::byte> file, std::string_view path) {
  CHIARO_ASSIGN(const std::vector<ZipEntry> entries, read_zip_directory(file, path));
  const auto bytes_of = [&](const ZipEntry& e) {
    return file.subspan(static_cast<size_t>(e.offset), static_cast<size_t>(e.bytes));
  };
  const ZipEntry* main = nullptr;
  for (const ZipEntry& e : entries) {
    if (e.name != "data.pkl" && !e.name.ends_with("/data.pkl")) continue;
    if (main != nullptr) return torch_refused(path, ErrorCode::bad_file, "it holds two pickles called data.pkl");
    main = &e;
  }
  if (main == nullptr) {
    return torch_refused(path, ErrorCode::bad_file, "it is a zip archive without the data.pkl of a checkpoint",
                         "unpack it and pass the model inside");
  }
  const std::string folder = main->name.substr(0, main->name.size() - std::string_view("data.pkl").size());
  TorchArchive archive;
  for (const ZipEntry& e : entries) {
    std::string_view name = e.name;
    if (!take_front(name, folder)) continue;
    if (name == "constants.pkl") {
      return torch_refused(path, ErrorCode::unsupported, "it is a TorchScript program, not a checkpoint",
                           "use the .safetensors file or the checkpoint of this model");
    }
    const bool needed = &e == main || name == "byteorder" || name.starts_with("data/");
    if (needed && !e.plain) {
      return torch_refused(path, ErrorCode::unsupported, "its entry " + printable(e.name) + " is compressed",
                           "PyTorch stores entries as they are: load it with PyTorch and save it again");
    }
    if (name == "byteorder" && as_text(bytes_of(e)) != "little") {
      return torch_refused(path, ErrorCode::unsupported, "its numbers are big-endian", kSaveAnew);
    }
    if (take_front(name, "data/")) archive.storages.emplace(name, bytes_of(e));
  }
  CHIARO_ASSIGN(archive.pickle, read_pickle(bytes_of(*main), printable_path(path)));
  return archive;
}

// The old form: pickles of a magic number, a version, the system's habits, the object and the list of its storages;
// then each storage in the order of that list, its number of elements (64 bits) before its bytes.
class LegacyReader {
 public:
  LegacyReader(std::span<const std::byte> file, std::string_view path) : rest_(file), path_(path) {}

  Result<TorchArchive> read() {
    CHIARO_TRY(read_front());
    TorchArchive archive;
    CHIARO_ASSIGN(archive.pickle, next());
    CHIARO_ASSIGN(const auto ids, storage_ids(archive.pickle));
    CHIARO_ASSIGN(const Pickle keys, next());
    if (keys.top().kind != PickleKind::list) return damaged("its list of storages is no list");
    for (const PickleRef ref : keys.top().items) {
      const auto id = ids.find(keys[ref].text);
      if (id == ids.end()) return damaged("it holds a storage that nothing refers to");
      CHIARO_TRY(read_storage(id->second, archive));
    }
    return archive;
  }

 private:
  Error damaged(std::string why) const { return torch_refused(path_, ErrorCode::bad_file, std::move(why)); }
  Result<Pickle> next() {
    CHIARO_ASSIGN(Pickle pickle, read_pickle(rest_, printable_path(path_)));
    rest_ = rest_.subspan(static_cast<size_t>(pickle.bytes));
    return pickle;
  }
  Status read_front() {
    CHIARO_ASSIGN(const Pickle magic, next());
    if (magic.top().kind != PickleKind::big_integer || magic.top().text != kLegacyMagic) {
      return torch_refused(path_, ErrorCode::bad_file, "it is a pickle, but none of PyTorch's checkpoints",
                           "pass the .safetensors file of this model");
    }
    CHIARO_ASSIGN(const Pickle version, next());
    if (version.top().kind != PickleKind::integer || version.top().integer != kLegacyVersion) {
      return torch_refused(path_, ErrorCode::unsupported, "its form is not the one known, 1001", kSaveAnew);
    }
    CHIARO_ASSIGN(const Pickle system, next());
    const PickleValue* little = system.find(system.top(), "little_endian");
    if (little != nullptr && little->kind == PickleKind::boolean && little->integer != 0) return {};
    return torch_refused(path_, ErrorCode::unsupported, "its numbers are big-endian", kSaveAnew);
  }
  using Ids = std::map<std::string_view, StorageId, std::less<>>;
  Result<Ids> storage_ids(const Pickle& pickle) const {
    Ids ids;
    for (const PickleValue& value : pickle.values) {
      if (value.kind != PickleKind::storage) continue;
      CHIARO_ASSIGN(const StorageId id, read_storage_id(pickle, value, path_));
      const auto [at, added] = ids.emplace(id.key, id);
      if (added || (at->second.type == id.type && at->second.elements == id.elements)) continue;
      return damaged("storage " + printable(id.key) + " is described in two ways");
    }
    return ids;
  }
  Status read_storage(const StorageId& id, TorchArchive& archive) {
    uint64_t elements = 0;
    if (rest_.size() < sizeof elements) return damaged("it ends before storage " + printable(id.key));
    std::memcpy(&elements, rest_.data(), sizeof elements);
    rest_ = rest_.subspan(sizeof elements);
    if (elements != id.elements || elements > rest_.size() / id.type->bytes) {
      return damaged("storage " + printable(id.key) + " has " + std::to_string(elements) + " elements of " +
                     std::to_string(id.type->bytes) + " bytes where " + std::to_string(id.elements) +
                     " are expected and " + std::to_string(rest_.size()) + " bytes are left");
    }
    const auto bytes = static_cast<size_t>(elements * id.type->bytes);
    if (!archive.storages.emplace(id.key, rest_.first(bytes)).second) {
      return damaged("it holds storage " + printable(id.key) + " twice");
    }
    rest_ = rest_.subspan(bytes);
    return {};
  }

  std::span<const std::byte> rest_;
  std::string_view path_;
};

}  // namespace

const TorchType* torch_type(std::string_view name) {
  const auto at = std::find_if(kTypes.begin(), kTypes.end(), [&](const TorchType& t) { return t.name == name; });
  return at == kTypes.end() ? nullptr : &*at;
}

Error torch_refused(std::string_view path, ErrorCode code, std::string why, std::string_view mend) {
  const std::string shown = printable_path(path);
  if (mend.empty()) mend = "the file is damaged or cut: get it again and compare its size with the source";
  return {code, "checkpoint reader refuses " + shown, std::move(why), std::string(mend), shown};
}

Result<StorageId> read_storage_id(const Pickle& pickle, const PickleValue& storage, std::string_view path) {
  const auto& items = storage.items;
  const auto wrong = [&](std::string why) { return torch_refused(path, ErrorCode::bad_file, std::move(why)); };
  if (items.size() < 5) return wrong("it describes a storage with " + std::to_string(items.size()) + " of 5 values");
  const PickleValue &tag = pickle[items[0]], &type = pickle[items[1]], &key = pickle[items[2]],
                    &count = pickle[items[4]];
  if (tag.text != "storage" || type.kind != PickleKind::global || key.kind != PickleKind::text ||
      count.kind != PickleKind::integer || count.integer < 0) {
    return wrong("it describes a storage otherwise than PyTorch does");
  }
  StorageId id{torch_type(type.text), key.text, static_cast<uint64_t>(count.integer)};
  if (id.type == nullptr) return wrong("storage " + printable(key.text) + " is of " + printable(type.text));
  if (items.size() > 5 && pickle[items[5]].kind != PickleKind::none) {
    return torch_refused(path, ErrorCode::unsupported, "storage " + printable(key.text) + " is a part of another",
                         kSaveAnew);
  }
  return id;
}

Result<TorchArchive> open_torch_archive(std::span<const std::byte> file, std::string_view path) {
  const bool zip = as_text(file).starts_with("PK");
  return zip ? open_zip(file, path) : LegacyReader(file, path).read();
}

}  // namespace chiaro
