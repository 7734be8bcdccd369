// Pointers of the unchecked kernels: plain ones.
#pragma once

#include <type_traits>

#include "gpu/soft/language.h"

namespace chiaro::gpu::soft::fast {

template <class T, int N, bool Any = false>
struct DeviceArg {
  static constexpr int slot = N;
  static constexpr bool writable = !std::is_const_v<T>;
  static constexpr uint32_t element_bytes = Any ? 1 : sizeof(T), alignment = alignof(T);
  T* p;
  operator T*() const { return p; }  // NOLINT(google-explicit-constructor)
  static DeviceArg bind(Binding* bindings) { return {reinterpret_cast<T*>(bindings[N].base)}; }
};
template <class U, class T>
U* device_cast(T* p) {
  return reinterpret_cast<U*>(p);
}
template <class U, class T, int N, bool Any>
U* device_cast(DeviceArg<T, N, Any> p) {
  return reinterpret_cast<U*>(p.p);
}
template <class U, class T>
U* group_cast(T* p) {
  return reinterpret_cast<U*>(p);
}
template <class T>
T* group_alloc(const void* tag, const char* name, uint32_t count, Where where = Where::here()) {
  return reinterpret_cast<T*>(group_array(tag, name, count, sizeof(T), where)->memory);
}

}  // namespace chiaro::gpu::soft::fast
