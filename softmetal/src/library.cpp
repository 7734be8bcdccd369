// Libraries, functions and their constants.
#include <cstring>

#include "bodies.h"

namespace softmetal::detail {
namespace {

struct OptionsBody final : Body {
  static constexpr const char* kType = "MTL::CompileOptions";
  const char* type() const override { return kType; }
  std::unique_ptr<Body> copied() const override {
    auto copy = std::make_unique<OptionsBody>();
    copy->fast_math = fast_math;
    copy->invariance = invariance;
    copy->language = language;
    copy->library_type = library_type;
    copy->functions = functions;
    copy->math = math;
    copy->optimization = optimization;
    copy->most_threads = most_threads;
    copy->macros = Owned(macros.get());
    return copy;
  }
  bool fast_math = true, invariance = false;
  MTL::LanguageVersion language = MTL::LanguageVersion3_1;
  MTL::LibraryType library_type = MTL::LibraryTypeExecutable;
  MTL::MathFloatingPointFunctions functions = MTL::MathFloatingPointFunctionsFast;
  MTL::MathMode math = MTL::MathModeFast;
  MTL::LibraryOptimizationLevel optimization = MTL::LibraryOptimizationLevelDefault;
  NS::UInteger most_threads = 0;
  Owned macros;
};

struct FunctionDescriptorBody final : Body {
  static constexpr const char* kType = "MTL::FunctionDescriptor";
  const char* type() const override { return kType; }
  std::unique_ptr<Body> copied() const override {
    auto copy = std::make_unique<FunctionDescriptorBody>();
    copy->name = Owned(name.get());
    copy->specialized = Owned(specialized.get());
    copy->constants = Owned(constants.get());
    return copy;
  }
  Owned name, specialized, constants;
};

NS::Error* library_error(MTL::LibraryError code, std::string what, std::string why = "") {
  return make_error(kLibraryDomain, static_cast<NS::Integer>(code), std::move(what), std::move(why));
}

chiaro::GpuConstant constant_of(MTL::DataType type, uint32_t bits) {
  if (type == MTL::DataTypeBool) return chiaro::GpuConstant(bits != 0);
  if (type == MTL::DataTypeInt) return chiaro::GpuConstant(static_cast<int32_t>(bits));
  return chiaro::GpuConstant(bits);
}

// The values that the text declares, in the order of their indices. A text where the given values do not fit.
std::string resolve(const MetalText& text, const std::set<int>& needed, const ConstantsBody* given,
                    FunctionBody& function) {
  for (const TextConstant& constant : text.constants) {
    const auto at = static_cast<size_t>(constant.index);
    if (function.constants.size() <= at) function.constants.resize(at + 1, chiaro::GpuConstant(uint32_t{0}));
    const ConstantsBody::Value* value = nullptr;
    if (given != nullptr) {
      const auto by_index = given->by_index.find(at);
      const auto by_name = given->by_name.find(constant.name);
      if (by_index != given->by_index.end()) value = &by_index->second;
      if (by_name != given->by_name.end()) value = &by_name->second;
    }
    const std::string who = "function constant " + std::to_string(at) + " (" + constant.name + ")";
    if (needed.count(constant.index) == 0) continue;
    if (value == nullptr) {
      if (function.missing.empty()) function.missing = who + " has no value";
      continue;
    }
    if (value->type != constant.type) {
      return who + " is a " + data_type_name(constant.type) + " in the text; its value was set as a " +
             data_type_name(value->type);
    }
    function.constants[at] = constant_of(value->type, value->bits);
  }
  return "";
}

size_t size_of(MTL::DataType type) {
  switch (type) {
    case MTL::DataTypeBool:
    case MTL::DataTypeChar:
    case MTL::DataTypeUChar: return 1;
    case MTL::DataTypeHalf:
    case MTL::DataTypeBFloat:
    case MTL::DataTypeShort:
    case MTL::DataTypeUShort: return 2;
    case MTL::DataTypeFloat:
    case MTL::DataTypeInt:
    case MTL::DataTypeUInt: return 4;
    default: return 0;
  }
}

// Null, and a fault, for a type that no kernel of the dialect takes.
std::optional<ConstantsBody::Value> read_value(const void* value, MTL::DataType type, const char* call) {
  if (value == nullptr) {
    fault(FaultKind::nil_object, call, "the value is nil");
    return {};
  }
  if (type != MTL::DataTypeBool && type != MTL::DataTypeInt && type != MTL::DataTypeUInt) {
    fault(FaultKind::unsupported, call, "a function constant that is no bool, int or uint",
          std::string("it is ") + data_type_name(type), "kernels for the software GPU take these three");
    return {};
  }
  ConstantsBody::Value read{type, 0};
  if (type == MTL::DataTypeBool) {
    uint8_t byte = 0;
    std::memcpy(&byte, value, 1);
    read.bits = byte != 0 ? 1 : 0;
  } else {
    std::memcpy(&read.bits, value, 4);
  }
  return read;
}

}  // namespace

std::unique_ptr<Body> ConstantsBody::copied() const {
  auto copy = std::make_unique<ConstantsBody>();
  copy->by_index = by_index;
  copy->by_name = by_name;
  return copy;
}

}  // namespace softmetal::detail

namespace MTL {

using namespace softmetal::detail;  // NOLINT(google-build-using-namespace)
using softmetal::Call;
using softmetal::FaultKind;

// Constants -----------------------------------------------------------------------------------------------------------

FunctionConstantValues* FunctionConstantValues::alloc() {
  return make<FunctionConstantValues>(std::make_unique<ConstantsBody>());
}
FunctionConstantValues* FunctionConstantValues::init() {
  return this;
}
void FunctionConstantValues::reset() {
  auto* body = body_of<ConstantsBody>(this, "MTL::FunctionConstantValues::reset");
  if (body == nullptr) return;
  body->by_index.clear();
  body->by_name.clear();
}
void FunctionConstantValues::setConstantValue(const void* value, MTL::DataType type, NS::UInteger index) {
  const char* call = "MTL::FunctionConstantValues::setConstantValue";
  auto* body = body_of<ConstantsBody>(this, call);
  const auto read = body == nullptr ? std::nullopt : read_value(value, type, call);
  if (read) body->by_index.insert_or_assign(index, *read);
}
void FunctionConstantValues::setConstantValue(const void* value, MTL::DataType type, const NS::String* name) {
  const char* call = "MTL::FunctionConstantValues::setConstantValue";
  auto* body = body_of<ConstantsBody>(this, call);
  const auto read = body == nullptr ? std::nullopt : read_value(value, type, call);
  if (read) body->by_name.insert_or_assign(string_text(name, call, "the name"), *read);
}
void FunctionConstantValues::setConstantValues(const void* values, MTL::DataType type, NS::Range range) {
  for (NS::UInteger i = 0; i < range.length; ++i) {
    setConstantValue(static_cast<const std::byte*>(values) + i * size_of(type), type, range.location + i);
  }
}

FunctionDescriptor* FunctionDescriptor::alloc() {
  return make<FunctionDescriptor>(std::make_unique<FunctionDescriptorBody>());
}
FunctionDescriptor* FunctionDescriptor::functionDescriptor() {
  return alloc()->autorelease();
}
FunctionDescriptor* FunctionDescriptor::init() {
  return this;
}
FunctionConstantValues* FunctionDescriptor::constantValues() const {
  const auto* body = body_of<FunctionDescriptorBody>(this, "MTL::FunctionDescriptor::constantValues");
  return body == nullptr ? nullptr : body->constants.as<FunctionConstantValues>();
}
NS::String* FunctionDescriptor::name() const {
  const auto* body = body_of<FunctionDescriptorBody>(this, "MTL::FunctionDescriptor::name");
  return body == nullptr ? nullptr : body->name.as<NS::String>();
}
NS::String* FunctionDescriptor::specializedName() const {
  const auto* body = body_of<FunctionDescriptorBody>(this, "MTL::FunctionDescriptor::specializedName");
  return body == nullptr ? nullptr : body->specialized.as<NS::String>();
}
void FunctionDescriptor::setConstantValues(const MTL::FunctionConstantValues* constantValues) {
  auto* body = body_of<FunctionDescriptorBody>(this, "MTL::FunctionDescriptor::setConstantValues");
  if (body != nullptr) body->constants = Owned(constantValues);
}
void FunctionDescriptor::setName(const NS::String* name) {
  auto* body = body_of<FunctionDescriptorBody>(this, "MTL::FunctionDescriptor::setName");
  if (body != nullptr) body->name = Owned(name);
}
void FunctionDescriptor::setSpecializedName(const NS::String* specializedName) {
  auto* body = body_of<FunctionDescriptorBody>(this, "MTL::FunctionDescriptor::setSpecializedName");
  if (body != nullptr) body->specialized = Owned(specializedName);
}

// Options -------------------------------------------------------------------------------------------------------------

CompileOptions* CompileOptions::alloc() {
  return make<CompileOptions>(std::make_unique<OptionsBody>());
}
CompileOptions* CompileOptions::init() {
  return this;
}
// A property of type T that is kept as `field`.
#define SOFTMETAL_OPTION(T, get, set, field)                                     \
  T CompileOptions::get() const {                                                \
    const auto* body = body_of<OptionsBody>(this, "MTL::CompileOptions::" #get); \
    return body == nullptr ? T{} : body->field;                                  \
  }                                                                              \
  void CompileOptions::set(T value) {                                            \
    auto* body = body_of<OptionsBody>(this, "MTL::CompileOptions::" #set);       \
    if (body != nullptr) body->field = value;                                    \
  }
SOFTMETAL_OPTION(bool, fastMathEnabled, setFastMathEnabled, fast_math)
SOFTMETAL_OPTION(LanguageVersion, languageVersion, setLanguageVersion, language)
SOFTMETAL_OPTION(LibraryType, libraryType, setLibraryType, library_type)
SOFTMETAL_OPTION(MathFloatingPointFunctions, mathFloatingPointFunctions, setMathFloatingPointFunctions, functions)
SOFTMETAL_OPTION(MathMode, mathMode, setMathMode, math)
SOFTMETAL_OPTION(NS::UInteger, maxTotalThreadsPerThreadgroup, setMaxTotalThreadsPerThreadgroup, most_threads)
SOFTMETAL_OPTION(LibraryOptimizationLevel, optimizationLevel, setOptimizationLevel, optimization)
SOFTMETAL_OPTION(bool, preserveInvariance, setPreserveInvariance, invariance)
#undef SOFTMETAL_OPTION
NS::Dictionary* CompileOptions::preprocessorMacros() const {
  const auto* body = body_of<OptionsBody>(this, "MTL::CompileOptions::preprocessorMacros");
  return body == nullptr ? nullptr : body->macros.as<NS::Dictionary>();
}
void CompileOptions::setPreprocessorMacros(const NS::Dictionary* preprocessorMacros) {
  auto* body = body_of<OptionsBody>(this, "MTL::CompileOptions::setPreprocessorMacros");
  if (body != nullptr) body->macros = Owned(preprocessorMacros);
}

// Libraries -----------------------------------------------------------------------------------------------------------

Library* Device::newLibrary(const NS::String* source, const MTL::CompileOptions* options, NS::Error** error) {
  const char* call = "MTL::Device::newLibrary";
  auto* device = body_of<DeviceBody>(this, call);
  auto* text = device == nullptr ? nullptr : body_of<StringBody>(source, call, "the source");
  if (text == nullptr) return nullptr;
  const auto* given = optional_body<OptionsBody>(options, call, "the options");
  if (fails(Call::new_library)) {
    give_error(error,
               library_error(LibraryErrorCompileFailure, "program_source: error: a compile error was asked for"));
    return nullptr;
  }
  if (given != nullptr && given->macros.get() != nullptr && given->macros.as<NS::Dictionary>()->count() > 0) {
    give_error(error, library_error(LibraryErrorUnsupported,
                                    "program_source: error: preprocessor macros change a text "
                                    "whose kernels are compiled already"));
    return nullptr;
  }
  std::string log;
  auto library = find_library(text->text, log);
  if (library == nullptr) {
    give_error(error, library_error(LibraryErrorCompileFailure, std::move(log)));
    return nullptr;
  }
  auto body = std::make_unique<LibraryBody>(*device);
  body->label = library->name;
  body->source = std::move(library);
  return make<Library>(std::move(body));
}

Device* Library::device() const {
  const auto* body = body_of<LibraryBody>(this, "MTL::Library::device");
  return body == nullptr ? nullptr : body->device_handle();
}
NS::Array* Library::functionNames() const {
  const auto* body = body_of<LibraryBody>(this, "MTL::Library::functionNames");
  if (body == nullptr) return nullptr;
  std::vector<const NS::Object*> names;
  for (const auto& kernel : body->source->declared.kernels) names.push_back(make_string(kernel.first));
  return NS::Array::array(names.data(), names.size());
}
NS::String* Library::installName() const {
  return nullptr;
}
NS::String* Library::label() const {
  const auto* body = body_of<LibraryBody>(this, "MTL::Library::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
void Library::setLabel(const NS::String* label) {
  auto* body = body_of<LibraryBody>(this, "MTL::Library::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::Library::setLabel");
}
LibraryType Library::type() const {
  return LibraryTypeExecutable;
}

Function* Library::newFunction(const NS::String* functionName) {
  const char* call = "MTL::Library::newFunction";
  const auto* library = body_of<LibraryBody>(this, call);
  if (library == nullptr) return nullptr;
  const std::string name = string_text(functionName, call, "the name");
  const auto found = library->source->declared.kernels.find(name);
  if (fails(Call::new_function) || found == library->source->declared.kernels.end()) return nullptr;
  auto body = std::make_unique<FunctionBody>(*library->device);
  body->source = library->source;
  body->kernel = library->source->kernels.at(name);
  body->name = name;
  resolve(library->source->declared, found->second, nullptr, *body);
  return make<Function>(std::move(body));
}

Function* Library::newFunction(const NS::String* name, const MTL::FunctionConstantValues* constantValues,
                               NS::Error** error) {
  const char* call = "MTL::Library::newFunction";
  const auto* library = body_of<LibraryBody>(this, call);
  if (library == nullptr) return nullptr;
  const auto* values = body_of<ConstantsBody>(constantValues, call, "the constants");
  const std::string wanted = string_text(name, call, "the name");
  if (fails(Call::new_function)) {
    give_error(error, library_error(LibraryErrorInternal, "a failure was asked for"));
    return nullptr;
  }
  const auto found = library->source->declared.kernels.find(wanted);
  if (found == library->source->declared.kernels.end()) {
    std::string names;
    for (const auto& kernel : library->source->declared.kernels) names += (names.empty() ? "" : ", ") + kernel.first;
    give_error(error, library_error(LibraryErrorFunctionNotFound,
                                    "library '" + library->source->name + "' has no kernel '" + wanted + "'",
                                    "it has " + names));
    return nullptr;
  }
  auto body = std::make_unique<FunctionBody>(*library->device);
  body->source = library->source;
  body->kernel = library->source->kernels.at(wanted);
  body->name = wanted;
  std::string wrong = resolve(library->source->declared, found->second, values, *body);
  if (wrong.empty()) wrong = body->missing;
  if (!wrong.empty()) {
    give_error(error,
               library_error(LibraryErrorCompileFailure, "kernel '" + wanted + "' cannot be specialised", wrong));
    return nullptr;
  }
  return make<Function>(std::move(body));
}

Function* Library::newFunction(const MTL::FunctionDescriptor* descriptor, NS::Error** error) {
  const auto* body = body_of<FunctionDescriptorBody>(descriptor, "MTL::Library::newFunction", "the descriptor");
  if (body == nullptr) return nullptr;
  if (body->constants.get() == nullptr) return newFunction(body->name.as<NS::String>());
  return newFunction(body->name.as<NS::String>(), body->constants.as<FunctionConstantValues>(), error);
}

Device* Function::device() const {
  const auto* body = body_of<FunctionBody>(this, "MTL::Function::device");
  return body == nullptr ? nullptr : body->device_handle();
}
MTL::FunctionType Function::functionType() const {
  return FunctionTypeKernel;
}
NS::String* Function::label() const {
  const auto* body = body_of<FunctionBody>(this, "MTL::Function::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
NS::String* Function::name() const {
  const auto* body = body_of<FunctionBody>(this, "MTL::Function::name");
  return body == nullptr ? nullptr : make_string(body->name);
}
void Function::setLabel(const NS::String* label) {
  auto* body = body_of<FunctionBody>(this, "MTL::Function::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::Function::setLabel");
}

}  // namespace MTL
