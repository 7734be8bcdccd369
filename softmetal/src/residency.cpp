// Residency sets: what is resident counts against the device's working set.
#include <algorithm>

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
  const bool known = std::any_of(set->planned.begin(), set->planned.end(),
                                 [allocation](const Owned& one) { return one.get() == allocation; });
  if (!known) set->planned.emplace_back(allocation);
}

void remove(ResidencySetBody* set, const MTL::Allocation* allocation) {
  if (set == nullptr) return;
  std::vector<Owned> gone;  // released without the lock
  const std::lock_guard lock(set->mutex);
  for (size_t i = set->planned.size(); i-- > 0;) {
    if (set->planned[i].get() != allocation) continue;
    gone.push_back(std::move(set->planned[i]));
    set->planned.erase(set->planned.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace
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
  const std::lock_guard lock(body->mutex);
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
  gone.swap(body->planned);
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
