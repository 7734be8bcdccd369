// Residency sets: what is resident counts against the device's working set.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "bodies.h"

namespace softmetal::detail {
namespace {

struct ResidencyDescriptorBody final : Body {
  static constexpr const char* kType = "MTL::ResidencySetDescriptor";
  const char* type() const override { return kType; }
  std::unique_ptr<Body> copied() const override {
    auto copy = std::make_unique<ResidencyDescriptorBody>();
    copy->label = label;
    copy->capacity = capacity;
    return copy;
  }
  NS::UInteger capacity = 0;
};

void add(ResidencySetBody* set, const MTL::Allocation* allocation, const char* call) {
  const auto* body = set == nullptr ? nullptr : body_of<AllocationBody>(allocation, call, "the allocation");
  if (body == nullptr || !same_device(*body, *set->device, call, "the allocation")) return;
  const std::lock_guard lock(set->mutex);
  const auto same = [allocation](const Owned& one) { return one.get() == allocation; };
  if (std::any_of(set->planned.begin(), set->planned.end(), same)) return;
  set->planned.emplace_back(allocation);
  set->removed.erase(std::remove_if(set->removed.begin(), set->removed.end(), same), set->removed.end());
}

// With the lock. What is committed stays with the set until the next commit(), as Apple's does: until then the GPU
// still has it.
void take_out(ResidencySetBody& set, Owned member, std::vector<Owned>& gone) {
  (set.committed.count(member.get()) != 0 ? set.removed : gone).push_back(std::move(member));
}

void remove(ResidencySetBody* set, const MTL::Allocation* allocation) {
  if (set == nullptr) return;
  std::vector<Owned> gone;  // released without the lock
  const std::lock_guard lock(set->mutex);
  for (size_t i = set->planned.size(); i-- > 0;) {
    if (set->planned[i].get() != allocation) continue;
    take_out(*set, std::move(set->planned[i]), gone);
    set->planned.erase(set->planned.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Whether all of it is mapped. What was unmapped and mapped anew is not told apart.
bool mapped(const void* memory, uint64_t bytes) {
  return msync(const_cast<void*>(memory), bytes, MS_ASYNC) == 0 || errno != ENOMEM;
}

}  // namespace

void ResidencySetBody::check_memory(const char* call) const {
  for (const auto* members : {&planned, &removed}) {
    for (const Owned& one : *members) {
      if (committed.count(one.get()) == 0) continue;
      const auto* buffer = dynamic_cast<const BufferBody*>(find_body(one.get(), call, "an allocation"));
      if (buffer == nullptr || !buffer->no_copy || mapped(buffer->gpu, buffer->length)) continue;
      fault(FaultKind::in_flight, call, "the program's memory has gone while a residency set had it",
            object_text(*buffer) + " over memory without copy was committed in " + object_text(*this) +
                "; removing it counts from the next commit() on",
            "removeAllocation, then commit, and only then unmap the memory");
    }
  }
}

ResidencySetBody::~ResidencySetBody() {
  check_memory("MTL::ResidencySet");
}

}  // namespace softmetal::detail

namespace MTL {

using namespace softmetal::detail;  // NOLINT(google-build-using-namespace)
using softmetal::Call;

ResidencySetDescriptor* ResidencySetDescriptor::alloc() {
  return make<ResidencySetDescriptor>(std::make_unique<ResidencyDescriptorBody>());
}
ResidencySetDescriptor* ResidencySetDescriptor::init() {
  return this;
}
NS::UInteger ResidencySetDescriptor::initialCapacity() const {
  const auto* body = body_of<ResidencyDescriptorBody>(this, "MTL::ResidencySetDescriptor::initialCapacity");
  return body == nullptr ? 0 : body->capacity;
}
NS::String* ResidencySetDescriptor::label() const {
  const auto* body = body_of<ResidencyDescriptorBody>(this, "MTL::ResidencySetDescriptor::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
void ResidencySetDescriptor::setInitialCapacity(NS::UInteger initialCapacity) {
  auto* body = body_of<ResidencyDescriptorBody>(this, "MTL::ResidencySetDescriptor::setInitialCapacity");
  if (body != nullptr) body->capacity = initialCapacity;
}
void ResidencySetDescriptor::setLabel(const NS::String* label) {
  auto* body = body_of<ResidencyDescriptorBody>(this, "MTL::ResidencySetDescriptor::setLabel");
  if (body != nullptr) body->label = string_text(label, "MTL::ResidencySetDescriptor::setLabel");
}

ResidencySet* Device::newResidencySet(const MTL::ResidencySetDescriptor* desc, NS::Error** error) {
  const char* call = "MTL::Device::newResidencySet";
  auto* device = body_of<DeviceBody>(this, call);
  const auto* descriptor = device == nullptr ? nullptr : body_of<ResidencyDescriptorBody>(desc, call, "the descriptor");
  if (descriptor == nullptr) return nullptr;
  if (fails(Call::new_residency_set)) {
    give_error(error, make_error(kResidencyDomain, 1, "no residency set", "a failure was asked for"));
    return nullptr;
  }
  auto body = std::make_unique<ResidencySetBody>(*device);
  body->label = descriptor->label;
  return make<ResidencySet>(std::move(body));
}

void ResidencySet::addAllocation(const MTL::Allocation* allocation) {
  const char* call = "MTL::ResidencySet::addAllocation";
  add(body_of<ResidencySetBody>(this, call), allocation, call);
}
void ResidencySet::addAllocations(const MTL::Allocation* const allocations[], NS::UInteger count) {
  const char* call = "MTL::ResidencySet::addAllocations";
  for (NS::UInteger i = 0; i < count; ++i) add(body_of<ResidencySetBody>(this, call), allocations[i], call);
}
NS::Array* ResidencySet::allAllocations() const {
  const auto* body = body_of<ResidencySetBody>(this, "MTL::ResidencySet::allAllocations");
  if (body == nullptr) return nullptr;
  std::vector<const NS::Object*> all;
  {
    const std::lock_guard lock(body->mutex);
    for (const Owned& one : body->planned) all.push_back(one.as<NS::Object>());
  }
  return NS::Array::array(all.data(), all.size());
}
uint64_t ResidencySet::allocatedSize() const {
  const auto* body = body_of<ResidencySetBody>(this, "MTL::ResidencySet::allocatedSize");
  return body == nullptr ? 0 : body->bytes();
}
NS::UInteger ResidencySet::allocationCount() const {
  const auto* body = body_of<ResidencySetBody>(this, "MTL::ResidencySet::allocationCount");
  if (body == nullptr) return 0;
  const std::lock_guard lock(body->mutex);
  return body->planned.size();
}
void ResidencySet::commit() {
  auto* body = body_of<ResidencySetBody>(this, "MTL::ResidencySet::commit");
  if (body == nullptr) return;
  std::vector<Owned> gone;
  const std::lock_guard lock(body->mutex);
  body->check_memory("MTL::ResidencySet::commit");
  gone.swap(body->removed);
  body->committed.clear();
  for (const Owned& one : body->planned) {
    const auto* member = body_of<AllocationBody>(one.get(), "MTL::ResidencySet::commit", "an allocation");
    if (member != nullptr) body->committed[one.get()] = member->bytes_allocated();
  }
}
bool ResidencySet::containsAllocation(const MTL::Allocation* anAllocation) {
  const auto* body = body_of<ResidencySetBody>(this, "MTL::ResidencySet::containsAllocation");
  if (body == nullptr) return false;
  const std::lock_guard lock(body->mutex);
  return std::any_of(body->planned.begin(), body->planned.end(),
                     [anAllocation](const Owned& one) { return one.get() == anAllocation; });
}
Device* ResidencySet::device() const {
  const auto* body = body_of<ResidencySetBody>(this, "MTL::ResidencySet::device");
  return body == nullptr ? nullptr : body->device_handle();
}
void ResidencySet::endResidency() {
  (void)body_of<ResidencySetBody>(this, "MTL::ResidencySet::endResidency");
}
NS::String* ResidencySet::label() const {
  const auto* body = body_of<ResidencySetBody>(this, "MTL::ResidencySet::label");
  return body == nullptr ? nullptr : make_string(body->label);
}
void ResidencySet::removeAllAllocations() {
  auto* body = body_of<ResidencySetBody>(this, "MTL::ResidencySet::removeAllAllocations");
  if (body == nullptr) return;
  std::vector<Owned> gone;
  const std::lock_guard lock(body->mutex);
  for (Owned& one : body->planned) take_out(*body, std::move(one), gone);
  body->planned.clear();
}
void ResidencySet::removeAllocation(const MTL::Allocation* allocation) {
  remove(body_of<ResidencySetBody>(this, "MTL::ResidencySet::removeAllocation"), allocation);
}
void ResidencySet::removeAllocations(const MTL::Allocation* const allocations[], NS::UInteger count) {
  for (NS::UInteger i = 0; i < count; ++i) removeAllocation(allocations[i]);
}
void ResidencySet::requestResidency() {
  (void)body_of<ResidencySetBody>(this, "MTL::ResidencySet::requestResidency");
}

}  // namespace MTL
