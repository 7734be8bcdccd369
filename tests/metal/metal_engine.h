// Engines with a Metal device, for tests: two threads, the device before the CPU.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "runtime/engine.h"

namespace chiaro::testing {

inline EngineOptions metal_options(const std::string& device) {
  EngineOptions options;
  options.threads = 2;
  options.devices = {device};
  return options;
}

inline std::shared_ptr<Engine> metal_engine(EngineOptions options) {
  auto engine = Engine::create(std::move(options));
  EXPECT_TRUE(engine.ok()) << engine.error().format();
  return std::move(engine).value();
}
inline std::shared_ptr<Engine> metal_engine(const std::string& device) {
  return metal_engine(metal_options(device));
}

}  // namespace chiaro::testing
