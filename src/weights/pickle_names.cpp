#include "weights/pickle_names.h"

#include <algorithm>
#include <array>

namespace chiaro {
namespace {

struct Known {
  std::string_view module, name;
  PickleName kind;
};

constexpr std::array kKnown{
    Known{"collections", "OrderedDict", PickleName::ordered_dict},
    Known{"torch", "Size", PickleName::size},
    Known{"torch._utils", "_rebuild_tensor", PickleName::tensor},
    Known{"torch._utils", "_rebuild_tensor_v2", PickleName::tensor},
    Known{"torch._utils", "_rebuild_tensor_v3", PickleName::tensor},
    Known{"torch._utils", "_rebuild_parameter", PickleName::parameter},
    Known{"torch._utils", "_rebuild_parameter_with_state", PickleName::parameter},
    // What training programs store beside the weights: counters, a best score, a callback's class as a key.
    Known{"collections", "defaultdict", PickleName::inert},
    Known{"collections", "Counter", PickleName::inert},
    Known{"builtins", "set", PickleName::inert},
    Known{"builtins", "list", PickleName::inert},
    Known{"builtins", "dict", PickleName::inert},
    Known{"__builtin__", "set", PickleName::inert},
    Known{"__builtin__", "list", PickleName::inert},
    Known{"__builtin__", "dict", PickleName::inert},
    Known{"_codecs", "encode", PickleName::inert},
    Known{"numpy", "dtype", PickleName::inert},
    Known{"numpy.core.multiarray", "scalar", PickleName::inert},
    Known{"numpy._core.multiarray", "scalar", PickleName::inert},
    Known{"torch", "device", PickleName::inert},
    Known{"pytorch_lightning.callbacks.model_checkpoint", "ModelCheckpoint", PickleName::inert},
};

// torch.FloatStorage and its like; torch.float8_e4m3fn and its like, which later versions of PyTorch name instead.
constexpr std::array<std::string_view, 16> kStorages{
    "FloatStorage",  "HalfStorage",         "BFloat16Storage",      "DoubleStorage", "CharStorage",  "ByteStorage",
    "ShortStorage",  "IntStorage",          "LongStorage",          "BoolStorage",   "QInt8Storage", "QUInt8Storage",
    "QInt32Storage", "ComplexFloatStorage", "ComplexDoubleStorage", "UntypedStorage"};
constexpr std::array<std::string_view, 22> kTypes{
    "float",     "float32",    "half",   "float16", "bfloat16",      "double",     "float64", "int8",
    "uint8",     "int16",      "short",  "int32",   "int",           "int64",      "long",    "bool",
    "complex64", "complex128", "uint16", "uint32",  "float8_e4m3fn", "float8_e5m2"};

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

std::optional<PickleName> pickle_name(std::string_view module, std::string_view name) {
  for (const Known& known : kKnown) {
    if (known.module == module && known.name == name) return known.kind;
  }
  const bool torch = module == "torch" || module == "torch.cuda";
  if ((torch || module == "torch.storage") && holds(kStorages, name)) return PickleName::type;
  if (module == "torch" && holds(kTypes, name)) return PickleName::type;
  return std::nullopt;
}

}  // namespace chiaro
