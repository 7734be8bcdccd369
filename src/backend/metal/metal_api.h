// metal-cpp, for src/backend/metal alone: Apple's on a Mac, softmetal's elsewhere. The names and the rules of ownership
// are the same: what comes from new..., alloc or Copy... is owned by the caller, everything else by the innermost
// autorelease pool.
#pragma once

#include <Foundation/Foundation.hpp>
#include <Metal/Metal.hpp>
#include <string>
#include <string_view>

namespace chiaro {

// An autorelease pool for a scope. Every entry point that calls Metal opens one: its threads have none of their own.
class MetalPool {
 public:
  MetalPool() : pool_(NS::AutoreleasePool::alloc()->init()) {}
  ~MetalPool() { pool_->release(); }
  MetalPool(const MetalPool&) = delete;
  MetalPool& operator=(const MetalPool&) = delete;

 private:
  NS::AutoreleasePool* pool_;
};

// Belongs to the innermost pool.
inline NS::String* ns_text(std::string_view text) {
  return NS::String::string(std::string(text).c_str(), NS::UTF8StringEncoding);
}
inline std::string text_of(const NS::String* text) {
  if (text == nullptr) return {};
  const char* bytes = text->utf8String();
  return bytes == nullptr ? std::string() : std::string(bytes);
}

}  // namespace chiaro
