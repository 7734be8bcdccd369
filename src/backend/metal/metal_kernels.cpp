#include "backend/metal/metal_kernels.h"

#include <algorithm>
#include <cctype>

#include "backend/metal/metal_error.h"

namespace chiaro {
namespace {

constexpr NS::UInteger kSimdWidth = 32;  // of every Apple GPU, and what kernels are written for

// Names behind "kernel void".
std::vector<std::string> kernels_in(std::string_view text) {
  constexpr std::string_view kMark = "kernel void ";
  std::vector<std::string> names;
  for (size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    names.emplace_back(text.substr(at, end - at));
  }
  return names;
}

MTL::DataType data_type(GpuConstant::Kind kind) {
  switch (kind) {
    case GpuConstant::Kind::boolean: return MTL::DataTypeBool;
    case GpuConstant::Kind::int32: return MTL::DataTypeInt;
    case GpuConstant::Kind::uint32: break;
  }
  return MTL::DataTypeUInt;
}

void set_constant(MTL::FunctionConstantValues& values, const GpuConstant& constant, NS::UInteger index) {
  const bool truth = constant.bits != 0;
  const bool boolean = constant.kind == GpuConstant::Kind::boolean;
  const void* const bytes = boolean ? static_cast<const void*>(&truth) : static_cast<const void*>(&constant.bits);
  values.setConstantValue(bytes, data_type(constant.kind), index);
}

}  // namespace

MetalKernels::MetalKernels(MTL::Device& device, std::string name, std::span<const GpuMetalText> texts, Log& log)
    : device_(device), name_(std::move(name)), log_(log) {
  for (const GpuMetalText& text : texts) {
    for (std::string& kernel : kernels_in(text.text)) library_of_.emplace(std::move(kernel), libraries_.size());
    libraries_.push_back({&text, {}, std::nullopt});
  }
}

Error MetalKernels::lost(std::string what, const NS::Error* error) const {
  const std::string told = metal_error_text(error);
  return {ErrorCode::unsupported, name_ + " cannot use " + std::move(what),
          told.empty() ? "Metal gave no reason" : "Metal's compiler: " + told,
          "its operations run elsewhere; please report this with the version of the system", name_};
}

Result<NS::SharedPtr<MTL::Library>> MetalKernels::compile(const GpuMetalText& text) {
  const auto options = NS::TransferPtr(MTL::CompileOptions::alloc()->init());
  if (!options) return metal_nil(name_, "options for its compiler");
  // Deprecated since macOS 15 for setMathMode, which macOS 14 does not have.
  options->setFastMathEnabled(false);
  options->setLanguageVersion(MTL::LanguageVersion3_1);
  NS::Error* error = nullptr;
  auto library = NS::TransferPtr(device_.newLibrary(ns_text(text.text), options.get(), &error));
  if (!library) return lost("the kernels of " + std::string(text.op), error);
  return library;
}

Result<MTL::Library*> MetalKernels::library(std::string_view kernel) {
  const auto found = library_of_.find(kernel);
  if (found == library_of_.end()) {
    return Error{ErrorCode::internal, "no Metal text has a kernel " + std::string(kernel), "", "", name_};
  }
  Library& one = libraries_[found->second];
  if (one.error) return *one.error;
  if (one.library) return one.library.get();
  auto made = compile(*one.text);
  if (!made.ok()) {
    one.error = std::move(made).error();
    log_.write(LogLevel::warning, LogCategory::run, one.error->what + ": " + one.error->why);
    return *one.error;
  }
  one.library = std::move(made).value();
  return one.library.get();
}

MetalKernels::Pipeline MetalKernels::make(const GpuDispatch& dispatch) {
  CHIARO_ASSIGN(MTL::Library * library, this->library(dispatch.kernel));
  const std::string what = "the kernel " + std::string(dispatch.kernel);
  const auto values = NS::TransferPtr(MTL::FunctionConstantValues::alloc()->init());
  const auto descriptor = NS::TransferPtr(MTL::ComputePipelineDescriptor::alloc()->init());
  if (!values || !descriptor) return metal_nil(name_, "description of a pipeline");
  for (size_t i = 0; i < dispatch.constants.size(); ++i) set_constant(*values.get(), dispatch.constants[i], i);
  NS::Error* error = nullptr;
  const auto function = NS::TransferPtr(library->newFunction(ns_text(dispatch.kernel), values.get(), &error));
  if (!function) return lost(what, error);
  descriptor->setComputeFunction(function.get());
  // The compiler keeps to so few registers that these threads fit.
  descriptor->setMaxTotalThreadsPerThreadgroup(dispatch.threads);
  descriptor->setThreadGroupSizeIsMultipleOfThreadExecutionWidth(true);
  auto state =
      NS::TransferPtr(device_.newComputePipelineState(descriptor.get(), MTL::PipelineOptionNone, nullptr, &error));
  if (!state) return lost(what, error);
  if (state->threadExecutionWidth() != kSimdWidth || state->maxTotalThreadsPerThreadgroup() < dispatch.threads) {
    return Error{ErrorCode::unsupported, name_ + " cannot use " + what,
                 "it runs " + std::to_string(state->maxTotalThreadsPerThreadgroup()) + " threads in simdgroups of " +
                     std::to_string(state->threadExecutionWidth()) + "; " + std::to_string(dispatch.threads) +
                     " in simdgroups of 32 are needed",
                 "", name_};
  }
  return state;
}

Result<MTL::ComputePipelineState*> MetalKernels::pipeline(const GpuDispatch& dispatch) {
  Key key{dispatch.kernel, {dispatch.threads}};
  for (const GpuConstant& constant : dispatch.constants) {
    key.second.push_back(static_cast<uint32_t>(constant.kind));
    key.second.push_back(constant.bits);
  }
  const std::lock_guard lock(mutex_);
  auto found = pipelines_.find(key);
  if (found == pipelines_.end()) {
    const MetalPool pool;
    Pipeline made = make(dispatch);
    if (!made.ok() && !library_of_.contains(dispatch.kernel)) return std::move(made).error();
    if (!made.ok()) log_.write(LogLevel::debug, LogCategory::run, made.error().what + ": " + made.error().why);
    // The name outlives the launch: it is that of the table.
    key.first = library_of_.find(dispatch.kernel)->first;
    found = pipelines_.emplace(std::move(key), std::move(made)).first;
  }
  if (!found->second.ok()) return found->second.error();
  return found->second->get();
}

size_t MetalKernels::libraries() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(libraries_.begin(), libraries_.end(),
                                           [](const Library& one) { return static_cast<bool>(one.library); }));
}

size_t MetalKernels::pipelines() const {
  const std::lock_guard lock(mutex_);
  return pipelines_.size();
}

}  // namespace chiaro
