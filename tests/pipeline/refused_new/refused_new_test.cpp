// The C++ allocator refuses too: with operator new failing at the N-th call, generate() returns an error or a picture,
// never throws or ends the process, and the next run on the Session is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "../toy_model.h"
#include "long_tests.h"
#include "sanitized.h"

namespace {

// Set around the calls under test only. Fails call number `at` while armed, and with `onwards` every later one too.
std::atomic<bool> g_armed{false}, g_onwards{false};
std::atomic<int64_t> g_count{0}, g_at{0};
std::atomic<int64_t> g_live{0};  // blocks handed out and not given back, armed or not

bool refuse() {
  if (!g_armed) return false;
  const int64_t n = ++g_count;
  return n == g_at || (g_onwards && g_at > 0 && n > g_at);
}

void* get(std::size_t bytes, std::size_t alignment) {
  if (refuse()) return nullptr;
  if (bytes == 0) bytes = 1;
  void* block = alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
                    ? std::malloc(bytes)
                    : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (block != nullptr) ++g_live;
  return block;
}
void give_back(void* block) {
  if (block != nullptr) --g_live;
  std::free(block);
}
void* get_or_throw(std::size_t bytes, std::size_t alignment) {
  void* block = get(bytes, alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t n) {
  return get_or_throw(n, 1);
}
void* operator new[](std::size_t n) {
  return get_or_throw(n, 1);
}
void* operator new(std::size_t n, std::align_val_t a) {
  return get_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t n, std::align_val_t a) {
  return get_or_throw(n, static_cast<std::size_t>(a));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return get(n, 1);
}
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
  return get(n, 1);
}
void operator delete(void* p) noexcept {
  give_back(p);
}
void operator delete[](void* p) noexcept {
  give_back(p);
}
void operator delete(void* p, std::size_t) noexcept {
  give_back(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  give_back(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  give_back(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  give_back(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
  give_back(p);
}
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept {
  give_back(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  give_back(p);
}
void operator delete[](void* p, const std::nothrow_t&) noexcept {
  give_back(p);
}

namespace chiaro::testing {
namespace {

GenerateRequest small() {
  GenerateRequest request = toy_request();
  request.prompt = "a (red:1.3) apple";
  request.steps = 2;
  request.width = request.height = 8;
  return request;
}

// generate() with the `at`-th allocation refused; 0 refuses none.
Result<GenerateResult> generate_refusing(Session& session, int64_t at, bool onwards) {
  const GenerateRequest request = small();
  const Callbacks callbacks;
  g_count = 0;
  g_at = at;
  g_onwards = onwards;
  g_armed = true;
  auto result = session.generate(request, callbacks);
  g_armed = false;
  return result;
}

// libc++ before 16 leaks what a vector's constructor had made when the copy of an element throws.
#if defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 16000
constexpr bool kVectorsLeak = true;
#else
constexpr bool kVectorsLeak = false;
#endif

class RefusedNew : public ::testing::TestWithParam<bool> {};  // whether all later calls are refused as well

TEST_P(RefusedNew, IsAnErrorAndTheNextRunIsRight) {
  const auto session = open_toy(toy_options(write_toy_model("refused_new"), 2));
  ASSERT_TRUE(session);
  auto reference = generate_refusing(*session, 0, false);
  ASSERT_TRUE(reference.ok()) << reference.error().format();
  const std::vector<uint8_t> expected = reference->pictures.at(0).rgb;
  const int64_t all = g_count;
  ASSERT_GT(all, 1000) << "operator new is not the one of this test";
  // The first calls one by one, the rest in strides that share no factor with anything regular.
  const int64_t stride = long_tests() ? 1 : std::max<int64_t>(37, all / (CHIARO_SANITIZED ? 40 : 400));
  session->trim();
  const int64_t live = g_live;
  int refused = 0, made = 0;
  for (int64_t n = 1; n <= all; n += n <= (CHIARO_SANITIZED ? 20 : 200) ? 1 : stride) {
    {
      const auto result = generate_refusing(*session, n, GetParam());
      if (result.ok()) {
        ++made;  // something that can be done without
        EXPECT_EQ(result->pictures.at(0).rgb, expected) << "call " << n;
      } else {
        ++refused;
        ASSERT_EQ(result.error().code, ErrorCode::out_of_memory) << "call " << n << ": " << result.error().format();
      }
    }
    if (refused % 8 == 0) {  // before trim(): whatever the failed call left behind is in use
      const auto next = generate_refusing(*session, 0, false);
      ASSERT_TRUE(next.ok()) << "after call " << n << ": " << next.error().format();
      ASSERT_EQ(next->pictures.at(0).rgb, expected) << "after call " << n;
    }
    session->trim();  // so that planning is reached again
    if (kVectorsLeak) continue;
    ASSERT_EQ(g_live, live) << "leaked after call " << n;
  }
  std::printf("  %lld calls of new, %d refusals are errors, %d did not matter\n", static_cast<long long>(all), refused,
              made);
  EXPECT_GT(refused, CHIARO_SANITIZED ? 20 : 200);
}

INSTANTIATE_TEST_SUITE_P(Ways, RefusedNew, ::testing::Values(false, true),
                         [](const auto& p) { return p.param ? "from_there_on" : "once"; });

}  // namespace
}  // namespace chiaro::testing
