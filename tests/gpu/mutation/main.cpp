// Runs every mutant of the GPU kernels against the conformance cases of its own op, on software GPUs with all checks.
//
//   gpu_mutants LIST [--cases all|part|selftest] [--require PERCENT] [--kinds A,B] [--numbers 3,17] [--most N]
//     [--jobs N] [--equivalent FILE]
//
// A mutant runs in a process of its own, so that one that crashes, hangs or spoils memory ends alone. Exit code 1 where
// fewer than PERCENT were caught, or where a case fails without any mutant.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "checks.h"
#include "mutants.h"

int chiaro_gpu_mutant = 0;

namespace chiaro::mutation {
namespace {

struct Options {
  std::string list, cases = "all", equivalent;
  double require = 0;
  std::set<std::string> kinds;
  std::set<int> numbers;
  size_t most = SIZE_MAX;
  int jobs = 1;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A mutant that is being run.
struct Child {
  pid_t pid = -1;
  int pipe = -1;
  size_t index = 0;
  double start = 0;
};

// In the child: at most 12 GiB, and an alarm for what hangs outside of a launch.
[[noreturn]] void face(Checks& checks, int number, int to) {
  ::alarm(3600);
  const rlimit memory{rlim_t{12} << 30, rlim_t{12} << 30};
  ::setrlimit(RLIMIT_AS, &memory);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  chiaro_gpu_mutant = number;
  const auto failure = checks.failure();
  if (!failure) ::_exit(0);
  const std::string text = std::to_string(failure->check) + "\n" + failure->text.substr(0, 4000);  // fits into the pipe
  ::_exit(::write(to, text.data(), text.size()) < 0 ? 2 : 1);
}

class Runner {
 public:
  Runner(std::vector<Mutant> mutants, Options options)
      : mutants_(std::move(mutants)), options_(std::move(options)), outcomes_(mutants_.size()) {}

  // By op, so that only one set of cases is in memory.
  Status run() {
    std::map<std::vector<std::string>, std::vector<size_t>> by_ops;
    for (size_t i = 0; i < mutants_.size(); ++i) by_ops[mutants_[i].ops].push_back(i);
    for (const auto& [ops, own] : by_ops) CHIARO_TRY(run_ops(ops, own));
    return {};
  }

  // Enough of those that can be caught must be; a mutant that is caught was no equivalent one.
  int report() const {
    int caught = 0, counted = 0, false_claims = 0;
    for (size_t i = 0; i < mutants_.size(); ++i) {
      const bool found = !outcomes_[i].by.empty(), equivalent = !mutants_[i].equivalent.empty();
      if (!found) std::printf("SURVIVED %s\n", mutants_[i].text().c_str());
      if (equivalent)
        std::printf("    %s: %s\n", found ? "CAUGHT, but listed as equivalent" : "equivalent",
                    mutants_[i].equivalent.c_str());
      false_claims += equivalent && found ? 1 : 0;
      counted += equivalent ? 0 : 1;
      caught += !equivalent && found ? 1 : 0;
    }
    std::fputs(summary(mutants_, outcomes_).c_str(), stdout);
    const bool enough = counted > 0 && 100.0 * caught >= options_.require * counted;
    if (!enough) std::printf("fewer than %.1f %% were caught\n", options_.require);
    if (broken_) std::puts("a check fails without a mutant, too");
    return enough && false_claims == 0 && !broken_ ? 0 : 1;
  }

 private:
  Status run_ops(const std::vector<std::string>& ops, const std::vector<size_t>& numbers) {
    const auto choice = options_.cases == "all"    ? Checks::Choice::all
                        : options_.cases == "part" ? Checks::Choice::part
                                                   : Checks::Choice::selftest;
    CHIARO_ASSIGN(checks_, Checks::make(devices_, ops, choice));
    std::printf("%s and its like: %zu checks, made in %.1f s; %zu mutants\n", ops.front().c_str(), checks_->size(),
                checks_->seconds(), numbers.size());
    std::fflush(stdout);
    for (const size_t index : numbers) {
      if (static_cast<int>(running_.size()) >= options_.jobs) collect();
      CHIARO_TRY(start(index));
    }
    while (!running_.empty()) collect();
    return {};
  }

  Status start(size_t index) {
    int ends[2];
    if (::pipe(ends) != 0) return Error{ErrorCode::io, "cannot make a pipe", "", "", ""};
    std::fflush(stdout);
    const pid_t pid = ::fork();
    if (pid < 0) return Error{ErrorCode::out_of_memory, "cannot start a process", "", "", ""};
    if (pid == 0) {
      ::close(ends[0]);
      face(*checks_, mutants_[index].number, ends[1]);
    }
    ::close(ends[1]);
    running_.push_back({pid, ends[0], index, now()});
    return {};
  }

  // Waits for one of those that run.
  void collect() {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, 0);
    const auto child = std::find_if(running_.begin(), running_.end(), [&](const Child& c) { return c.pid == pid; });
    if (child == running_.end()) return;
    Outcome& outcome = outcomes_[child->index];
    outcome.seconds = now() - child->start;
    char text[4096];
    for (ssize_t n = 0; (n = ::read(child->pipe, text, sizeof text)) > 0;) {
      outcome.why.append(text, static_cast<size_t>(n));
    }
    ::close(child->pipe);
    if (WIFSIGNALED(status)) {
      outcome.by = WTERMSIG(status) == SIGALRM ? "time limit" : "crash";
      outcome.why = ::strsignal(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
      const size_t end = std::min(outcome.why.find('\n'), outcome.why.size());
      checks_->credit(static_cast<size_t>(std::atoll(outcome.why.substr(0, end).c_str())));
      outcome.why.erase(0, end + 1);
      outcome.by = caught_by(outcome.why);
      broken_ = broken_ || outcome.why.starts_with(kWithoutMutant);
    }
    const Mutant& mutant = mutants_[child->index];
    std::printf("%s %.2f s [%s] %s\n    %s\n", outcome.by.empty() ? "survived" : "caught", outcome.seconds,
                outcome.by.c_str(), mutant.text().c_str(), outcome.why.substr(0, 300).c_str());
    std::fflush(stdout);
    running_.erase(child);
  }

  std::vector<Mutant> mutants_;
  Options options_;
  std::vector<Outcome> outcomes_;
  Devices devices_;
  std::unique_ptr<Checks> checks_;  // of the ops at hand
  std::vector<Child> running_;
  bool broken_ = false;  // a check failed without a mutant
};

std::set<std::string> words(const std::string& text) {
  std::set<std::string> all;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    all.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return all;
}

bool read_options(int argc, char** argv, Options& o) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (!name.starts_with("--")) {
      o.list = name;
      continue;
    }
    if (++i >= argc) return false;
    const std::string value = argv[i];
    if (name == "--equivalent") {
      o.equivalent = value;
    } else if (name == "--cases") {
      o.cases = value;
    } else if (name == "--require") {
      o.require = std::atof(value.c_str());
    } else if (name == "--kinds") {
      o.kinds = words(value);
    } else if (name == "--numbers") {
      for (const std::string& word : words(value)) o.numbers.insert(std::atoi(word.c_str()));
    } else if (name == "--most") {
      o.most = static_cast<size_t>(std::atoi(value.c_str()));
    } else if (name == "--jobs") {
      o.jobs = std::max(1, std::atoi(value.c_str()));
    } else {
      return false;
    }
  }
  return !o.list.empty() && (o.cases == "all" || o.cases == "part" || o.cases == "selftest");
}

// Those asked for; of more than `most`, evenly spread ones.
std::vector<Mutant> chosen(std::vector<Mutant> all, const Options& o) {
  std::erase_if(all, [&](const Mutant& m) {
    return (!o.kinds.empty() && o.kinds.count(m.kind) == 0) || (!o.numbers.empty() && o.numbers.count(m.number) == 0);
  });
  if (all.size() <= o.most) return all;
  std::erase_if(all, [](const Mutant& m) { return !m.equivalent.empty(); });
  std::vector<Mutant> some;
  for (size_t i = 0; i < o.most; ++i) some.push_back(all[i * all.size() / o.most]);
  return some;
}

}  // namespace
}  // namespace chiaro::mutation

int main(int argc, char** argv) {
  using namespace chiaro::mutation;
  Options options;
  if (!read_options(argc, argv, options)) {
    std::fputs(
        "usage: gpu_mutants LIST [--cases all|part|selftest] [--require PERCENT] [--kinds A,B] [--numbers 3,17] "
        "[--most N] [--jobs N] [--equivalent FILE]\n",
        stderr);
    return 2;
  }
  auto mutants = read_mutants(options.list);
  if (!mutants.ok()) {
    std::fprintf(stderr, "%s\n", mutants.error().format().c_str());
    return 2;
  }
  if (!options.equivalent.empty()) {
    const chiaro::Status marked = mark_equivalent(*mutants, options.equivalent);
    if (!marked.ok()) {
      std::fprintf(stderr, "%s\n", marked.error().format().c_str());
      return 2;
    }
  }
  Runner runner(chosen(std::move(*mutants), options), options);
  const chiaro::Status status = runner.run();
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().format().c_str());
    return 1;
  }
  return runner.report();
}
