// The two forms of a PyTorch checkpoint: where its pickle is, and where the storages lie that the pickle refers to.
// Internal to the reader of checkpoints.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "chiaro/error.h"
#include "core/dtype.h"
#include "weights/pickle.h"

namespace chiaro {

// A type by the name that PyTorch gives it or its storages ("FloatStorage", "float8_e4m3fn").
struct TorchType {
  std::string_view name;
  uint64_t bytes = 0;          // of one element
  std::optional<DType> dtype;  // empty: known, not usable here
};
const TorchType* torch_type(std::string_view name);  // nullptr: unknown

struct TorchArchive {
  Pickle pickle;                                                            // views of the file
  std::map<std::string, std::span<const std::byte>, std::less<>> storages;  // by key
};

// What a pickle says of a storage: type and key are there.
struct StorageId {
  const TorchType* type = nullptr;
  std::string_view key;
  uint64_t elements = 0;
};
Result<StorageId> read_storage_id(const Pickle& pickle, const PickleValue& storage, std::string_view path);

Result<TorchArchive> open_torch_archive(std::span<const std::byte> file, std::string_view path);

Error torch_refused(std::string_view path, ErrorCode code, std::string why, std::string_view mend = {});

}  // namespace chiaro
