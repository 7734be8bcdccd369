#include "hazards.h"

#include <algorithm>
#include <set>

namespace softmetal::detail {
namespace {

using chiaro::gpu::soft::AccessMap;

std::atomic<uint64_t> g_encoders{0};

void raise(Clock& into, const Clock& from) {
  for (const auto& [encoder, place] : from) into[encoder] = std::max(into[encoder], place);
}

}  // namespace

void Hazards::Mask::add(const uint64_t* more) {
  if (full) return;
  bool any = false, all = true;
  for (size_t i = 0; i < kWords; ++i) {
    const uint64_t together = more[i] | (bits ? bits[i] : 0);
    any = any || more[i] != 0;
    all = all && together == ~uint64_t{0};
  }
  if (all) {
    full = true;
    bits.reset();
    return;
  }
  if (!any) return;
  if (!bits) bits = std::make_unique<uint64_t[]>(kWords);
  for (size_t i = 0; i < kWords; ++i) bits[i] |= more[i];
}

void Hazards::Mask::remove(const uint64_t* less) {
  if (empty()) return;
  uint64_t any = 0;
  for (size_t i = 0; i < kWords; ++i) any |= less[i];
  if (any == 0) return;
  if (full) {
    full = false;
    bits = std::make_unique<uint64_t[]>(kWords);
    std::fill(bits.get(), bits.get() + kWords, ~uint64_t{0});
  }
  for (size_t i = 0; i < kWords; ++i) bits[i] &= ~less[i];
  tidy();
}

void Hazards::Mask::tidy() {
  if (bits && std::all_of(bits.get(), bits.get() + kWords, [](uint64_t w) { return w == 0; })) bits.reset();
}

std::shared_ptr<EncoderOrder> Hazards::begin(std::shared_ptr<BufferOrder> buffer, bool serial, const Clock& clock) {
  auto encoder = std::make_shared<EncoderOrder>();
  encoder->id = ++g_encoders;
  encoder->buffer = std::move(buffer);
  encoder->serial = serial;
  encoder->clock = clock;
  return encoder;
}

void Hazards::barrier(EncoderOrder& encoder) {
  const std::lock_guard lock(mutex_);
  encoder.clock[encoder.id] = encoder.next;
}

void Hazards::barrier(EncoderOrder& encoder, const std::vector<uint64_t>& resources) {
  const std::lock_guard lock(mutex_);
  for (const uint64_t resource : resources) encoder.resource_barriers[resource] = encoder.next;
}

void Hazards::merge(Clock& into, const Clock& from) {
  const std::lock_guard lock(mutex_);
  raise(into, from);
}

void Hazards::update(EncoderOrder& encoder, FenceClocks& fence) {
  const std::lock_guard lock(mutex_);
  Clock& clock = fence[encoder.buffer->queue];
  clock = encoder.clock;
  clock[encoder.id] = encoder.next;
}

void Hazards::wait(EncoderOrder& encoder, const FenceClocks& fence) {
  const std::lock_guard lock(mutex_);
  const auto found = fence.find(encoder.buffer->queue);
  if (found != fence.end()) raise(encoder.clock, found->second);
}

void Hazards::finish(const EncoderOrder& encoder, Clock& into) {
  merge(into, encoder.clock);
  const std::lock_guard lock(mutex_);
  into[encoder.id] = encoder.next;
}

std::shared_ptr<CommandOrder> Hazards::command(EncoderOrder& encoder, std::string text) {
  const std::lock_guard lock(mutex_);
  auto command = std::make_shared<CommandOrder>();
  command->encoder = encoder.id;
  command->place = encoder.next++;
  command->buffer = encoder.buffer;
  command->text = std::move(text);
  if (encoder.serial) encoder.clock[encoder.id] = command->place;
  return command;
}

bool Hazards::ordered(const Record& before, const EncoderOrder& encoder, const Touched& now) const {
  const CommandOrder& earlier = *before.command;
  const auto found = encoder.clock.find(earlier.encoder);
  if (found != encoder.clock.end() && earlier.place < found->second) return true;
  if (earlier.encoder == encoder.id) {
    for (const uint64_t resource : {before.resource, now.resource}) {
      const auto barrier = encoder.resource_barriers.find(resource);
      if (barrier != encoder.resource_barriers.end() && earlier.place < barrier->second) return true;
    }
    return false;
  }
  if (before.tracked && before.resource == now.resource && earlier.buffer->queue == encoder.buffer->queue) return true;
  const uint64_t observed = earlier.buffer->observed_at;
  return observed != 0 && observed <= encoder.buffer->horizon;
}

std::vector<std::string> Hazards::touch(const EncoderOrder& encoder, const std::shared_ptr<CommandOrder>& command,
                                        const std::vector<Touched>& touched) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> hazards;
  std::set<const CommandOrder*> told;
  for (const Touched& now : touched) {
    now.map->blocks([&](uintptr_t address, const uint64_t* read, const uint64_t* written) {
      std::vector<Record>& records = blocks_[address];
      uint64_t both[kWords];
      for (size_t i = 0; i < kWords; ++i) both[i] = read[i] | written[i];
      Record* mine = nullptr;
      for (Record& record : records) {
        if (record.command == command) {
          if (record.resource == now.resource) mine = &record;
          continue;
        }
        if (ordered(record, encoder, now)) {
          record.written.remove(written);
          record.read.remove(both);
          continue;
        }
        for (size_t i = 0; i < kWords && told.count(record.command.get()) == 0; ++i) {
          const uint64_t clash = (record.written.word(i) & both[i]) | (record.read.word(i) & written[i]);
          if (clash == 0) continue;
          told.insert(record.command.get());
          const uint64_t bit = clash & (~clash + 1);
          const auto verb = [bit](uint64_t w) { return (w & bit) != 0 ? " writes" : " reads"; };
          const uintptr_t at = address + i * 64 + static_cast<uintptr_t>(__builtin_ctzll(clash));
          hazards.push_back(command->text + verb(written[i]) + " byte " +
                            std::to_string(now.offset + now.map->offset_of(at)) + " of " + now.name + "; " +
                            record.command->text + verb(record.written.word(i)) + " it, and nothing orders the two");
        }
      }
      if (mine == nullptr) {
        records.push_back({command, now.resource, now.tracked, {}, {}});
        mine = &records.back();
      }
      mine->read.add(read);
      mine->written.add(written);
      records.erase(std::remove_if(records.begin(), records.end(),
                                   [](const Record& r) { return r.read.empty() && r.written.empty(); }),
                    records.end());
    });
  }
  return hazards;
}

void Hazards::forget(const std::byte* base, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uintptr_t first = reinterpret_cast<uintptr_t>(base) / AccessMap::kBlock;
  const uintptr_t last = (reinterpret_cast<uintptr_t>(base) + bytes + AccessMap::kBlock - 1) / AccessMap::kBlock;
  if (last - first <= blocks_.size()) {
    for (uintptr_t block = first; block < last; ++block) blocks_.erase(block * AccessMap::kBlock);
    return;
  }
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const uintptr_t block = it->first / AccessMap::kBlock;
    it = block >= first && block < last ? blocks_.erase(it) : std::next(it);
  }
}

}  // namespace softmetal::detail
