#include "runtime/packed_weights.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/executor_memory.h"

namespace chiaro {
namespace {

using Clock = std::chrono::steady_clock;

// Whole pages inside a window of a mapped file. Its bytes stay what they are: the next touch reads the file again.
void drop_pages(const PackedRequest& request) {
  if (!request.weight->file) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(request.weight->bytes + request.form->offset);
  const auto first = (begin + page - 1) / page * page;
  const auto last = (begin + static_cast<uintptr_t>(request.form->desc.span_bytes())) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

Status check(const PackedRequest& request) {
  const TensorDataPtr& weight = request.weight;
  const PlanPacked& form = *request.form;
  if (!weight || (weight->bytes == nullptr && weight->desc.dense_bytes() > 0)) {
    return Error{ErrorCode::unsupported, "a graph without weights cannot run", "", "", ""};
  }
  if (form.offset >= 0 && form.offset + form.desc.span_bytes() <= weight->desc.dense_bytes()) return {};
  return Error{ErrorCode::internal, "weight " + std::to_string(form.weight) + " cannot be packed as " + form.layout,
               "it reaches beyond the weight", "", ""};
}

// Where the operand lies in the file that its weight is a window of.
PackedFormKey cache_key(const PackedRequest& request) {
  const std::byte* begin = request.weight->file->file->bytes().data();
  return {request.weight->bytes + request.form->offset - begin, request.form->desc.text(), request.form->layout,
          request.form->bytes};
}

Error stopped() {
  return {ErrorCode::cancelled, "stopped on request", "", "", "packing weights"};
}

}  // namespace

PackedWeights::Key PackedWeights::key_of(const PackedRequest& request) {
  return {request.device, request.weight->bytes + request.form->offset, request.form->desc.text(),
          request.form->layout};
}

// A cancelled loop leaves bytes out, whichever.
Status PackedWeights::pack(const PackedRequest& request, std::byte* to, const std::atomic<bool>* cancel) {
  CHIARO_TRY(request.kernel->pack(request.weight->bytes + request.form->offset, to, pool_, cancel));
  if (cancel != nullptr && cancel->load()) return stopped();
  drop_pages(request);
  return {};
}

Result<std::unique_ptr<Buffer>> PackedWeights::make(const PackedRequest& request, const std::atomic<bool>* cancel) {
  const int64_t bytes = request.form->bytes;
  CHIARO_ASSIGN(auto buffer, request.device->allocate(bytes, "a packed weight"));
  if (in_host_memory(*request.device)) {
    CHIARO_TRY(pack(request, buffer->address(), cancel));
    return buffer;
  }
  CHIARO_ASSIGN(const Block block, Block::make(allocator_, static_cast<size_t>(bytes), "a weight to be packed"));
  CHIARO_TRY(pack(request, block.data(), cancel));
  CHIARO_TRY(request.device->upload(*buffer, 0, {block.data(), block.size()}));
  return buffer;
}

// Packs one form and writes it; what the file says goes to `written`.
Status PackedWeights::append(WeightCacheWriter& writer, const PackedRequest& request, const std::atomic<bool>* cancel,
                             Status& written) {
  const auto bytes = static_cast<size_t>(request.form->bytes);
  CHIARO_ASSIGN(const Block block, Block::make(allocator_, bytes, "a weight to be packed"));
  CHIARO_TRY(pack(request, block.data(), cancel));
  written = writer.append({block.data(), block.size()});
  return {};
}

// One form is in memory at a time; the rest is the system's to write. Null where the cache cannot be written.
Result<std::shared_ptr<const OpenWeightCache>> PackedWeights::write_cache(const WeightCache::Set& set,
                                                                          std::span<const PackedRequest* const> makers,
                                                                          const PackingOptions& options) {
  const auto start = Clock::now();
  auto writer = cache_->create(set);
  Status written;
  if (!writer.ok()) written = std::move(writer).error();
  for (size_t i = 0; i < makers.size() && written.ok(); ++i) {
    CHIARO_TRY(append(*writer, *makers[i], options.cancel, written));
    if (options.on_cache_write) options.on_cache_write(writer->written(), writer->file_bytes());
  }
  if (written.ok()) written = writer->commit();
  if (!written.ok()) {
    cache_->give_up(written.error());
    return std::shared_ptr<const OpenWeightCache>();
  }
  cache_->tell_written(set, std::chrono::duration<double>(Clock::now() - start).count());
  return cache_->open(set);
}

Status PackedWeights::take_from(const TensorFile& file, std::span<const PackedRequest> requests,
                                std::span<const size_t> members, const PackingOptions& options, Forms& forms) {
  std::vector<PackedFormKey> keys;
  for (const size_t m : members) keys.push_back(cache_key(requests[m]));
  const WeightCache::Set set = cache_->set_of(file, keys);
  std::vector<size_t> places;  // of the members in the set
  std::vector<const PackedRequest*> makers(set.forms.size(), nullptr);
  for (size_t k = 0; k < members.size(); ++k) {
    const auto at = std::lower_bound(set.forms.begin(), set.forms.end(), keys[k]);
    places.push_back(static_cast<size_t>(at - set.forms.begin()));
    makers[places.back()] = &requests[members[k]];
  }
  std::shared_ptr<const OpenWeightCache> opened = cache_->open(set);
  if (opened == nullptr && cache_->writes()) {
    CHIARO_ASSIGN(opened, write_cache(set, makers, options));
  }
  if (opened == nullptr) return {};
  for (size_t k = 0; k < members.size(); ++k) {
    if (forms[members[k]] != nullptr) continue;
    const PackedRequest& request = requests[members[k]];
    const std::span<const std::byte> bytes = opened->form(places[k]);
    Packed packed{request.weight, nullptr, nullptr};
    if (request.device->traits().addresses_host) {
      CHIARO_ASSIGN(packed.buffer, request.device->wrap(bytes, "a packed weight"));
      packed.cache = opened;
    } else {
      CHIARO_ASSIGN(packed.buffer, request.device->allocate(request.form->bytes, "a packed weight"));
      CHIARO_TRY(request.device->upload(*packed.buffer, 0, bytes));
    }
    forms[members[k]] = std::make_shared<Packed>(std::move(packed));
  }
  return {};
}

Status PackedWeights::take_cached(std::span<const PackedRequest> requests, const PackingOptions& options,
                                  Forms& forms) {
  std::map<const TensorFile*, std::vector<size_t>> files;
  for (size_t i = 0; i < requests.size(); ++i) {
    const TensorFile* file = requests[i].weight->file.get();
    if (file != nullptr) files[file].push_back(i);
  }
  for (const auto& [file, members] : files) {
    if (std::all_of(members.begin(), members.end(), [&](size_t m) { return forms[m] != nullptr; })) continue;
    CHIARO_TRY(take_from(*file, requests, members, options, forms));
  }
  return {};
}

Result<std::vector<std::shared_ptr<Buffer>>> PackedWeights::get(std::span<const PackedRequest> requests,
                                                                const PackingOptions& options) {
  for (const PackedRequest& request : requests) CHIARO_TRY(check(request));
  const std::lock_guard lock(mutex_);
  Forms forms;
  for (const PackedRequest& request : requests) forms.push_back(forms_[key_of(request)].lock());
  if (cache_ != nullptr) CHIARO_TRY(take_cached(requests, options, forms));
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (size_t i = 0; i < requests.size(); ++i) {
    std::weak_ptr<Packed>& known = forms_[key_of(requests[i])];
    if (forms[i] == nullptr) forms[i] = known.lock();  // asked for twice
    if (forms[i] == nullptr) {
      CHIARO_ASSIGN(auto buffer, make(requests[i], options.cancel));
      forms[i] = std::make_shared<Packed>(Packed{requests[i].weight, nullptr, std::move(buffer)});
    }
    known = forms[i];
    Buffer* buffer = forms[i]->buffer.get();
    buffers.emplace_back(forms[i], buffer);
  }
  return buffers;
}

void PackedWeights::forget_dropped() {
  const std::lock_guard lock(mutex_);
  std::erase_if(forms_, [](const auto& entry) { return entry.second.expired(); });
}

}  // namespace chiaro
