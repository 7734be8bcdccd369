// Every call of Metal that can fail does so once, each in turn: a typed error or a run that does without, nothing kept,
// and the next run is right.
#include <gtest/gtest.h>
#include <softmetal/softmetal.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <thread>

#include "backend/metal/metal_device.h"
#include "metal_engine.h"
#include "small_graph.h"

namespace chiaro::testing {
namespace {

using softmetal::Call;

class MetalFailures : public ::testing::TestWithParam<const char*> {
 protected:
  EngineOptions options() const {
    EngineOptions options = metal_options(std::string("softmetal:apple7,checks=off,storage=") + GetParam());
    // A command buffer for every launch, so that one in the middle can fail.
    options.alter_metal = [](MetalDeviceOptions& metal) { metal.command_buffer_seconds = 1e-9; };
    return options;
  }

  // From nothing to a result, and once more with what there is then.
  struct Outcome {
    std::shared_ptr<Engine> engine;
    Status first;
    Outputs outputs;
  };
  Outcome attempt() const {
    Outcome out;
    out.first = [&]() -> Status {
      CHIARO_ASSIGN(out.engine, Engine::create(options()));
      CHIARO_ASSIGN(const auto plan, make_plan(graph_.graph, out.engine->devices()));
      CHIARO_ASSIGN(out.outputs, run_plan(*out.engine, plan, graph_.inputs));
      return {};
    }();
    return out;
  }

  bool right(const Outputs& outputs) const {
    if (outputs.size() != expected_.size() || outputs[0].size() != expected_[0].size()) return false;
    for (size_t i = 0; i < outputs[0].size(); ++i) {
      if (!(std::abs(outputs[0][i] - expected_[0][i]) < 2e-5F)) return false;
    }
    return true;
  }

  // Objects go when the queue's thread has let them go.
  static size_t objects_left() {
    for (int i = 0; i < 200 && !softmetal::live_objects().empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return softmetal::live_objects().size();
  }

  const Chain graph_ = small_graph();
  const Outputs expected_ = reference(graph_.graph, graph_.inputs);
};

void expect_typed(const Error& error, const std::string& at) {
  EXPECT_FALSE(error.what.empty()) << at;
  EXPECT_FALSE(error.mend.empty()) << at << ": " << error.format();
  EXPECT_TRUE(error.code == ErrorCode::out_of_memory || error.code == ErrorCode::unsupported ||
              error.code == ErrorCode::io || error.code == ErrorCode::internal || error.code == ErrorCode::usage)
      << at << ": " << error.format();
}

TEST_P(MetalFailures, OfEveryCallInTurn) {
  ASSERT_EQ(objects_left(), 0u);
  softmetal::reset_call_counts();
  {
    const Outcome good = attempt();
    ASSERT_TRUE(good.first.ok()) << good.first.error().format();
    ASSERT_TRUE(right(good.outputs));
  }
  std::vector<int64_t> calls;
  for (int kind = 0; kind < softmetal::kCalls; ++kind) calls.push_back(softmetal::calls(static_cast<Call>(kind)));
  ASSERT_GT(calls[static_cast<size_t>(Call::commit)], 2);  // one in the middle
  for (int kind = 0; kind < softmetal::kCalls; ++kind) {
    if (static_cast<Call>(kind) == Call::device_lost) continue;
    EXPECT_GT(calls[static_cast<size_t>(kind)], 0) << softmetal::call_name(static_cast<Call>(kind));
  }
  int refused = 0, done_without = 0;
  for (int kind = 0; kind < softmetal::kCalls; ++kind) {
    const Call call = static_cast<Call>(kind);
    // A lost device is counted where work is committed.
    const int64_t count =
        call == Call::device_lost ? calls[static_cast<size_t>(Call::commit)] : calls[static_cast<size_t>(kind)];
    for (int64_t n = 1; n <= count; ++n) {
      const std::string at =
          std::string(softmetal::call_name(call)) + " " + std::to_string(n) + " of " + std::to_string(count);
      softmetal::fail(call, static_cast<int>(n));
      {
        const Outcome outcome = attempt();
        softmetal::reset_failures();
        outcome.first.ok() ? ++done_without : ++refused;
        if (outcome.first.ok()) {
          EXPECT_TRUE(right(outcome.outputs)) << at;
        } else {
          expect_typed(outcome.first.error(), at);
        }
        // The same engine again; a lost device stays lost.
        if (outcome.engine && call != Call::device_lost) {
          const auto plan = make_plan(graph_.graph, outcome.engine->devices());
          ASSERT_TRUE(plan.ok()) << at << ": " << plan.error().format();
          const auto again = run_plan(*outcome.engine, *plan, graph_.inputs);
          ASSERT_TRUE(again.ok()) << at << ": " << again.error().format();
          EXPECT_TRUE(right(*again)) << at;
        }
      }
      ASSERT_EQ(objects_left(), 0u) << at;
    }
  }
  {
    const Outcome good = attempt();
    ASSERT_TRUE(good.first.ok()) << good.first.error().format();
    EXPECT_TRUE(right(good.outputs));
  }
  std::printf("%d failures: %d refused with an error, %d done without\n", refused + done_without, refused,
              done_without);
  EXPECT_GT(refused, 10);
  EXPECT_GT(done_without, 3);  // libraries, pipelines, the residency set
}

INSTANTIATE_TEST_SUITE_P(, MetalFailures, ::testing::Values("shared", "private"),
                         [](const auto& one) { return std::string(one.param); });

struct Ending {
  MTL::CommandBufferError code;
  ErrorCode expected;
  std::string_view mend;
};

TEST(MetalErrors, OfCommandBuffersSayWhatToDo) {
  const auto engine = metal_engine("softmetal:apple7,checks=off");
  const Chain graph = small_graph();
  const auto executor = Executor::create(*engine, plan_on(*engine, graph.graph)).value();
  for (const Ending& ending : {Ending{MTL::CommandBufferErrorTimeout, ErrorCode::unsupported, "smaller picture"},
                               Ending{MTL::CommandBufferErrorOutOfMemory, ErrorCode::out_of_memory, "smaller picture"},
                               Ending{MTL::CommandBufferErrorAccessRevoked, ErrorCode::io, "again"},
                               Ending{MTL::CommandBufferErrorPageFault, ErrorCode::internal, "report"},
                               Ending{MTL::CommandBufferErrorInternal, ErrorCode::internal, "--disable-op"}}) {
    softmetal::fail_commit(1, ending.code);
    const auto refused = run(*executor, graph.inputs);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ending.expected) << refused.error().format();
    EXPECT_NE(refused.error().mend.find(ending.mend), std::string::npos) << refused.error().format();
    EXPECT_NE(refused.error().where.find("group_norm"), std::string::npos) << refused.error().format();
    EXPECT_TRUE(run(*executor, graph.inputs).ok());
  }
}

// The host does not know the GPU's watchdog, only the one of its profile. Here the GPU stops what the host predicts to
// be well within the limit: whichever launch of a run it is, and with the checks inside kernels on and off.
TEST(MetalErrors, AWatchdogThatStopsALaunchIsToldWithTheMend) {
  const Chain graph = small_graph();
  const Outputs expected = reference(graph.graph, graph.inputs);
  for (const char* checks : {"on", "off"}) {
    const auto engine = metal_engine(std::string("softmetal:apple7,watchdog=1us,checks=") + checks);
    const auto executor = Executor::create(*engine, plan_on(*engine, graph.graph)).value();
    for (int again = 0; again < 2; ++again) {
      const auto stopped = run(*executor, graph.inputs);
      ASSERT_FALSE(stopped.ok());
      const Error& error = stopped.error();
      EXPECT_EQ(error.code, ErrorCode::unsupported) << error.format();
      EXPECT_NE(error.what.find("softmetal:apple7 stopped a piece of work that took too long"), std::string::npos)
          << error.format();
      EXPECT_NE(error.why.find("the limit is"), std::string::npos) << error.format();
      EXPECT_NE(error.where.find("group_norm"), std::string::npos) << error.format();
      EXPECT_NE(error.mend.find("smaller picture"), std::string::npos) << error.format();
      EXPECT_NE(error.mend.find("--backend"), std::string::npos) << error.format();
    }
  }
  const auto patient = metal_engine("softmetal:apple7,watchdog=10s");
  const auto got = run_plan(*patient, plan_on(*patient, graph.graph), graph.inputs);
  ASSERT_TRUE(got.ok()) << got.error().format();
  for (size_t i = 0; i < expected[0].size(); ++i) EXPECT_NEAR((*got)[0][i], expected[0][i], 2e-5) << i;
}

// A text that the compiler refuses loses its kernels; the op runs on the CPU, the plan says why, the log says it once.
TEST(MetalErrors, ALibraryThatDoesNotCompileLosesItsKernelsAlone) {
  std::vector<std::string> lines;
  static std::string broken;
  EngineOptions options = metal_options("softmetal:apple7,checks=off");
  options.log =
      Log::to_sink(LogLevel::warning, [&](LogLevel, LogCategory, std::string_view line) { lines.emplace_back(line); });
  options.alter_metal = [](MetalDeviceOptions& metal) {
    metal.texts.emplace(gpu_metal_texts().begin(), gpu_metal_texts().end());
    for (GpuMetalText& text : *metal.texts) {
      if (text.op != "group_norm") continue;
      broken = std::string(text.text) + "\nthis is no Metal\n";
      text.text = broken;
    }
  };
  const auto engine = metal_engine(std::move(options));
  const Chain graph = small_graph();
  PlanOptions plain;
  plain.fuse = false;
  for (int round = 0; round < 2; ++round) {
    const auto plan = plan_on(*engine, graph.graph, plain);
    int on_cpu = 0;
    for (const PlanStep& step : plan->steps) {
      if (step.node < 0) continue;
      const Node& node = plan->graph.nodes()[static_cast<size_t>(step.node)];
      const std::string& name = plan->devices[static_cast<size_t>(step.device)]->traits().name;
      if (node.op->name == "group_norm") {
        EXPECT_EQ(name, "cpu");
        EXPECT_NE(node.moved.find("kernels of group_norm"), std::string::npos) << node.moved;
      }
      if (node.op->name == "matmul" || node.op->name == "softmax") {
        EXPECT_EQ(name, "softmetal:apple7");
      }
      on_cpu += name == "cpu" ? 1 : 0;
    }
    EXPECT_GT(on_cpu, 0);
    const auto got = run_plan(*engine, plan, graph.inputs);
    ASSERT_TRUE(got.ok()) << got.error().format();
    const Outputs expected = reference(graph.graph, graph.inputs);
    for (size_t i = 0; i < expected[0].size(); ++i) EXPECT_NEAR((*got)[0][i], expected[0][i], 2e-5) << i;
  }
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("group_norm"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("compiler"), std::string::npos) << lines[0];
}

}  // namespace
}  // namespace chiaro::testing
