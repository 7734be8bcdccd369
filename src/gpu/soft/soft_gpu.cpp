#include "gpu/soft/soft_gpu.h"

#include <algorithm>
#include <cstring>

#include "gpu/soft/worker.h"

namespace chiaro {

using gpu::soft::Binding;
using gpu::soft::Kernel;
using gpu::soft::KernelEntry;
using gpu::soft::Launch;
using gpu::soft::Region;
using gpu::soft::Slot;
using gpu::soft::Worker;

InitMap::InitMap(int64_t bytes) : map_(gpu::soft::make_zeros<std::atomic<uint8_t>>(static_cast<size_t>(bytes))) {}
void InitMap::mark(int64_t offset, int64_t bytes, bool written) {
  for (int64_t i = offset; i < offset + bytes; ++i)
    map_[static_cast<size_t>(i)].store(written ? 1 : 0, std::memory_order_relaxed);
}
bool InitMap::all_written(int64_t offset, int64_t bytes) const {
  for (int64_t i = offset; i < offset + bytes; ++i) {
    if (map_[static_cast<size_t>(i)].load(std::memory_order_relaxed) == 0) return false;
  }
  return true;
}

struct SoftGpu::Impl {
  ThreadPool* pool = nullptr;
  std::unordered_map<std::string_view, Kernel> kernels;
  std::vector<std::unique_ptr<Worker>> workers;
  std::mutex turn;
};

namespace {

Error misfit(const GpuDispatch& d, std::string why) {
  return {ErrorCode::internal, "GPU kernel " + std::string(d.kernel) + " is launched with the wrong arguments",
          std::move(why), "", ""};
}

// "src/ops/x/kernel.gpu:12" from a path of the machine that built this.
std::string place(const gpu::soft::Where& where) {
  std::string_view file = where.file;
  const size_t at = file.rfind("/src/");
  if (at != std::string_view::npos) file.remove_prefix(at + 1);
  return file.empty() ? std::string() : std::string(file) + ":" + std::to_string(where.line);
}

// Names of parameters, by position, from the kernel's source: the last but one word between parentheses.
std::vector<std::string> parameter_names(std::string_view text) {
  std::vector<std::string> names;
  for (size_t close = text.find(')'); close != std::string_view::npos; close = text.find(')', close + 1)) {
    const size_t comma = text.rfind(',', close);
    size_t start = text.find_last_of("(,", comma - 1) + 1;
    while (start < comma && text[start] == ' ') ++start;
    names.emplace_back(text.substr(start, comma - start));
  }
  return names;
}

Status check_arguments(const GpuDispatch& d, const KernelEntry& entry, std::span<const SoftBuffer> buffers) {
  size_t taken = 0;
  for (const Slot& slot : entry.slots) {
    if (slot.args) {
      if (static_cast<size_t>(slot.slot) != buffers.size()) {
        return misfit(d, "its argument struct is at slot " + std::to_string(slot.slot) + ", the launch binds " +
                             std::to_string(buffers.size()) + " buffers before it");
      }
      if (d.args.size() != slot.bytes) {
        return misfit(d, "its argument struct has " + std::to_string(slot.bytes) + " bytes, the launch gives " +
                             std::to_string(d.args.size()));
      }
      continue;
    }
    ++taken;
    if (static_cast<size_t>(slot.slot) >= buffers.size()) {
      return misfit(d, "it takes a buffer at slot " + std::to_string(slot.slot) + ", the launch binds " +
                           std::to_string(buffers.size()));
    }
    const auto address = reinterpret_cast<uintptr_t>(buffers[static_cast<size_t>(slot.slot)].base);
    if (address % slot.align != 0) {
      return misfit(d, "the buffer at slot " + std::to_string(slot.slot) + " is not aligned to " +
                           std::to_string(slot.align) + " bytes");
    }
  }
  if (taken != buffers.size()) {
    return misfit(d,
                  "it takes " + std::to_string(taken) + " buffers, the launch binds " + std::to_string(buffers.size()));
  }
  return {};
}

// A shadow for every stretch of memory that some buffer of the launch may write; buffers that touch it share it.
struct Regions {
  std::vector<std::unique_ptr<Region>> all;
  Region watched;  // of buffers that are only read, where someone wants to know what

  void add(std::byte* base, int64_t bytes, int64_t granule) {
    Region merged;
    merged.base = base;
    merged.bytes = bytes;
    merged.granule = granule;
    for (size_t i = all.size(); i-- > 0;) {
      const Region& r = *all[i];
      if (r.base + r.bytes <= merged.base || merged.base + merged.bytes <= r.base) continue;
      std::byte* end = std::max(r.base + r.bytes, merged.base + merged.bytes);
      merged.base = std::min(r.base, merged.base);
      merged.bytes = end - merged.base;
      merged.granule = std::min(r.granule, merged.granule);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      i = all.size();  // the larger one may touch more
    }
    all.push_back(std::make_unique<Region>(std::move(merged)));
  }
  Region* touching(const std::byte* base, int64_t bytes) const {
    for (const auto& r : all) {
      if (base < r->base + r->bytes && r->base < base + bytes) return r.get();
    }
    return nullptr;
  }
};

void bind_buffers(Launch& launch, const std::vector<std::string>& names, std::span<const SoftBuffer> buffers,
                  Regions& regions, std::vector<std::string>& kept_names) {
  launch.bindings.resize(buffers.size());
  kept_names.resize(buffers.size());
  const auto slots = launch.entry->slots;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].args) continue;
    const auto at = static_cast<size_t>(slots[i].slot);
    const SoftBuffer& buffer = buffers[at];
    kept_names[at] = i < names.size() ? names[i] : "";
    Binding& b = launch.bindings[at];
    b.base = buffer.base;
    b.bytes = buffer.base != nullptr ? buffer.bytes : 0;
    b.slot = slots[i].slot;
    b.name = kept_names[at].c_str();
    if (!launch.checks) continue;
    if (buffer.init != nullptr) b.init = buffer.init->at(buffer.init_offset);
    if (!slots[i].writable || b.bytes == 0) continue;
    const int64_t scalar = buffer.element_bytes > 0 ? buffer.element_bytes : slots[i].bytes;
    regions.add(b.base, b.bytes, std::min<int64_t>(4, scalar % 4 == 0 ? 4 : scalar % 2 == 0 ? 2 : 1));
  }
  for (const auto& region : regions.all) region->allocate();
  for (Binding& b : launch.bindings) {
    if (b.bytes == 0) continue;
    b.region = regions.touching(b.base, b.bytes);
    if (b.region != nullptr) b.region_offset = b.base - b.region->base;
  }
  if (!launch.checks) return;
  for (size_t at = 0; at < buffers.size(); ++at) {
    if (buffers[at].access == nullptr) continue;
    launch.access.resize(buffers.size());
    launch.access[at] = buffers[at].access;
    if (launch.bindings[at].region == nullptr) launch.bindings[at].region = &regions.watched;
  }
}

}  // namespace

SoftGpu::SoftGpu(std::span<const Kernel> kernels, const gpu::Traits& traits, ThreadPool& pool)
    : traits_(traits), impl_(std::make_unique<Impl>()) {
  impl_->pool = &pool;
  for (const Kernel& kernel : kernels) impl_->kernels.emplace(kernel.checked->facts.name, kernel);
  impl_->workers.resize(static_cast<size_t>(pool.threads()));
}
SoftGpu::~SoftGpu() = default;

namespace {

struct Outcome {
  std::atomic<int64_t> first_fault;  // linear threadgroup; those behind it need not run
  std::mutex mutex;
  Error error;
  int64_t error_group;
  std::optional<gpu::soft::Fault> fault;
};

void run_groups(Worker& worker, const Launch& launch, int64_t first, int64_t last, Outcome& outcome) {
  const GpuSize& size = launch.dispatch->groups;
  for (int64_t g = first; g < last; ++g) {
    if (g > outcome.first_fault.load(std::memory_order_relaxed)) return;
    const auto linear = static_cast<uint64_t>(g);
    const gpu::soft::UInt3 group{static_cast<uint32_t>(linear % size.x),
                                 static_cast<uint32_t>(linear / size.x % size.y),
                                 static_cast<uint32_t>(linear / size.x / size.y)};
    if (worker.run_group(group, static_cast<uint32_t>(g))) continue;
    const gpu::soft::FaultReport& fault = worker.fault();
    const std::lock_guard lock(outcome.mutex);
    if (g >= outcome.error_group) return;
    outcome.error_group = g;
    outcome.fault = fault.kind;
    outcome.first_fault.store(g, std::memory_order_relaxed);
    outcome.error = {ErrorCode::internal,
                     "GPU kernel " + std::string(launch.dispatch->kernel) + ": " + gpu::soft::fault_name(fault.kind),
                     fault.text, "", place(fault.where)};
    return;
  }
}

SoftCounts sum_counts(const std::vector<std::unique_ptr<Worker>>& workers, const std::vector<char>& used) {
  SoftCounts counts;
  for (size_t i = 0; i < workers.size(); ++i) {
    if (used[i] == 0) continue;
    for (const Binding& b : workers[i]->bindings()) {
      counts.bytes_read += static_cast<double>(b.read);
      counts.bytes_written += static_cast<double>(b.written);
    }
    const gpu::soft::GroupCounts& c = workers[i]->counts();
    counts.barriers += static_cast<double>(c.barriers);
    counts.simd_operations += static_cast<double>(c.simd_operations);
    counts.group_accesses += static_cast<double>(c.group_accesses);
    counts.matrix_flops += 1024.0 * static_cast<double>(c.matrix_products);
  }
  return counts;
}

}  // namespace

// Runs all threadgroups; which workers took part is in `used`.
Status SoftGpu::run_all(const Launch& launch, const SoftOptions& options, std::vector<char>& used) {
  const std::atomic<bool>* cancel = options.cancel;
  const auto groups = static_cast<int64_t>(launch.dispatch->groups.count());
  const int64_t per_chunk = std::max<int64_t>(1, groups / (int64_t{8} * impl_->pool->threads()));
  Outcome outcome{{groups}, {}, {}, groups, {}};
  const auto run_chunk = [&](int64_t chunk, int index) {
    const auto w = static_cast<size_t>(index);
    if (impl_->workers[w] == nullptr) impl_->workers[w] = std::make_unique<Worker>();
    Worker& worker = *impl_->workers[w];
    if (used[w] == 0) {
      const Status begun = worker.begin(launch);
      if (!begun.ok()) {
        const std::lock_guard lock(outcome.mutex);
        outcome.error = begun.error();
        outcome.error_group = -1;
        outcome.first_fault.store(-1, std::memory_order_relaxed);
        return;
      }
      used[w] = 1;
    }
    run_groups(worker, launch, chunk * per_chunk, std::min(groups, (chunk + 1) * per_chunk), outcome);
  };
  impl_->pool->parallel_for((groups + per_chunk - 1) / per_chunk, run_chunk, cancel);
  if (outcome.error_group < groups) {
    if (options.fault != nullptr && outcome.fault) *options.fault = outcome.fault;
    return outcome.error;
  }
  if (cancel != nullptr && cancel->load()) {
    return Error{ErrorCode::cancelled, "cancelled in GPU kernel " + std::string(launch.dispatch->kernel), "", "", ""};
  }
  return {};
}

Result<SoftCounts> SoftGpu::run(const GpuDispatch& given, std::span<const SoftBuffer> buffers,
                                const SoftOptions& options) {
  const auto found = impl_->kernels.find(given.kernel);
  if (found == impl_->kernels.end()) return misfit(given, "there is no such kernel");
  return run(found->second, given, buffers, options);
}

Result<SoftCounts> SoftGpu::run(const Kernel& kernel, const GpuDispatch& given, std::span<const SoftBuffer> buffers,
                                const SoftOptions& options) {
  const std::lock_guard turn(impl_->turn);
  Launch launch;
  launch.entry = options.checks ? kernel.checked : kernel.fast;
  GpuDispatch d = given;
  d.needs = launch.entry->facts.needs;
  d.threadgroup_bytes = launch.entry->facts.group_bytes;
  if (options.fault != nullptr && traits_.watchdog_seconds > 0 &&
      predicted_seconds(d, traits_) > traits_.watchdog_seconds) {
    *options.fault = gpu::soft::Fault::time_limit;
  }
  CHIARO_TRY(check_dispatch(d, traits_));
  CHIARO_TRY(check_arguments(d, *launch.entry, buffers));
  const auto started = gpu::soft::Clock::now();
  launch.dispatch = &d;
  launch.checks = options.checks;
  launch.schedule = options.schedule;
  launch.plain = d.needs == 0 && d.threadgroup_bytes == 0;
  launch.limit_seconds = options.real_seconds;
  launch.deadline = started + std::chrono::duration_cast<gpu::soft::Clock::duration>(
                                  std::chrono::duration<double>(options.real_seconds));
  Regions regions;
  std::vector<std::string> names;
  bind_buffers(launch, parameter_names(launch.entry->facts.parameters), buffers, regions, names);
  std::vector<char> used(impl_->workers.size(), 0);
  CHIARO_TRY(run_all(launch, options, used));

  SoftCounts counts = sum_counts(impl_->workers, used);
  counts.seconds = std::chrono::duration<double>(gpu::soft::Clock::now() - started).count();
  d.bytes = std::max(d.bytes, counts.bytes_read + counts.bytes_written);
  d.flops = std::max(d.flops, counts.matrix_flops);
  counts.predicted_seconds = predicted_seconds(d, traits_);
  if (traits_.watchdog_seconds > 0 && counts.predicted_seconds > traits_.watchdog_seconds) {
    if (options.fault != nullptr) *options.fault = gpu::soft::Fault::time_limit;
    return Error{ErrorCode::internal,
                 "GPU kernel " + std::string(d.kernel) + ": " + gpu::soft::fault_name(gpu::soft::Fault::time_limit),
                 "the counted work takes about " + std::to_string(counts.predicted_seconds) + " s; the limit is " +
                     std::to_string(traits_.watchdog_seconds) + " s",
                 "split the launch", ""};
  }
  return counts;
}

}  // namespace chiaro
