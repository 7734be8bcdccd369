#include "runtime/copy.h"

#include <algorithm>

namespace chiaro {
namespace {

// A piece is short enough that a cancel is noticed at once (4 MiB take about 1 ms) and long enough to run at full
// speed.
constexpr int64_t kPieceBytes = 4 << 20;

CopyWay way_of(const Device& from, const Device& to) {
  if (to.copies_from(from)) return CopyWay::direct;
  if (in_host_memory(from)) return CopyWay::upload;
  if (in_host_memory(to)) return CopyWay::download;
  return CopyWay::staged;
}

Status check(const BufferRef& ref, int64_t bytes, std::string_view end) {
  if (ref && ref.offset >= 0 && bytes >= 0 && ref.offset + bytes <= ref.buffer->bytes()) return {};
  return Error{ErrorCode::internal, "a copy of the plan lies outside the memory of its " + std::string(end),
               std::to_string(bytes) + " bytes at " + std::to_string(ref.offset), "", ""};
}

Status run_piece(const CopyJob& job, int64_t at, int64_t bytes) {
  const BufferRef from{job.from.buffer, job.from.offset + at}, to{job.to.buffer, job.to.offset + at};
  const auto size = static_cast<size_t>(bytes);
  switch (job.way) {
    case CopyWay::direct: return job.to_device->copy_from(to, from, bytes);
    case CopyWay::upload: return job.to_device->upload(*to.buffer, to.offset, {from.address(), size});
    case CopyWay::download: return job.from_device->download({to.address(), size}, *from.buffer, from.offset);
    case CopyWay::staged:
      CHIARO_TRY(job.from_device->download(job.staging.first(size), *from.buffer, from.offset));
      return job.to_device->upload(*to.buffer, to.offset, job.staging.first(size));
  }
  return {};
}

}  // namespace

Result<CopyJobs> CopyJobs::make(const ExecutionPlan& plan, std::span<Device* const> devices,
                                const ExecutorMemory& memory, const std::shared_ptr<Allocator>& allocator) {
  CopyJobs jobs;
  std::vector<int64_t> staging(devices.size(), 0);
  for (const PlanCopy& copy : plan.copies) {
    CopyJob job;
    job.bytes = copy.end - copy.begin;
    CHIARO_ASSIGN(job.from, memory.resolve(copy.from));
    CHIARO_ASSIGN(job.to, memory.resolve(copy.to));
    CHIARO_TRY(check(job.from, job.bytes, "source"));
    CHIARO_TRY(check(job.to, job.bytes, "destination"));
    job.from_device = devices[static_cast<size_t>(copy.from.device)];
    job.to_device = devices[static_cast<size_t>(copy.to.device)];
    job.way = way_of(*job.from_device, *job.to_device);
    int64_t& most = staging[static_cast<size_t>(copy.to.device)];
    if (job.way == CopyWay::staged) most = std::max(most, std::min(job.bytes, kPieceBytes));
    jobs.jobs_.push_back(job);
  }
  for (const int64_t bytes : staging) {
    CHIARO_ASSIGN(Block block, Block::make(allocator, static_cast<size_t>(bytes), "copies between devices"));
    jobs.staging_.push_back(std::move(block));
  }
  for (size_t i = 0; i < jobs.jobs_.size(); ++i) {
    const Block& block = jobs.staging_[static_cast<size_t>(plan.copies[i].to.device)];
    jobs.jobs_[i].staging = {block.data(), block.size()};
  }
  return jobs;
}

Status run_copy(const CopyJob& job, const std::atomic<bool>* cancel) {
  for (int64_t at = 0; at < job.bytes; at += kPieceBytes) {
    if (cancel != nullptr && cancel->load()) return Error{ErrorCode::cancelled, "stopped on request", "", "", "a copy"};
    CHIARO_TRY(run_piece(job, at, std::min(kPieceBytes, job.bytes - at)));
  }
  return {};
}

}  // namespace chiaro
