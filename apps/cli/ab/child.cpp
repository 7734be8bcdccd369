#include "ab/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

extern "C" char** environ;

namespace chiaro::ab {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kLook{100};  // how often time-out and cancel are looked at
constexpr double kGraceSeconds = 2;              // between asking it to end and ending it

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double seconds_of(const timeval& time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + kMicro * static_cast<double>(time.tv_usec);
}

int64_t peak_bytes(const rusage& usage) {
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  return int64_t{usage.ru_maxrss} * 1024;
#endif
}

// The attributes of posix_spawn, freed at the end of the block.
struct Attributes {
  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t files{};
  Attributes() {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawn_file_actions_init(&files);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
};

// Starts it in its own process group, with the signals as a shell would leave them. Returns 0 or an errno.
int spawn(const ChildRequest& request, pid_t& pid) {
  Attributes set;
  ::posix_spawn_file_actions_addopen(&set.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&set.files, STDOUT_FILENO, request.out.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  ::posix_spawn_file_actions_addopen(&set.files, STDERR_FILENO, request.err.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  sigset_t ours, none;
  ::sigemptyset(&none);
  ::sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) ::sigaddset(&ours, signal);
  ::posix_spawnattr_setsigdefault(&set.attributes, &ours);
  ::posix_spawnattr_setsigmask(&set.attributes, &none);
  ::posix_spawnattr_setpgroup(&set.attributes, 0);
  ::posix_spawnattr_setflags(&set.attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words = request.words;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return ::posix_spawnp(&pid, argv[0], &set.files, &set.attributes, argv.data(), environ);
}

// Waits in a thread of its own for the end of the process, without reaping it: until it is reaped its number, and that
// of its group, belong to nobody else, so that ending the group is safe.
class Watch {
 public:
  explicit Watch(pid_t pid) : thread_([this, pid] { wait_for(pid); }) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { thread_.join(); }
  bool ended_within(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return ended_; });
  }
  Clock::time_point end() const { return end_; }  // once it has ended

 private:
  void wait_for(pid_t pid) {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    const std::lock_guard lock(mutex_);
    end_ = Clock::now();
    ended_ = true;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  Clock::time_point end_;
  std::thread thread_;
};

// Until the process has ended, by itself or because it was told to.
void see_it_through(const ChildRequest& request, pid_t pid, Clock::time_point start, Watch& watch,
                    ChildResult& result) {
  Clock::time_point asked{};
  while (!watch.ended_within(kLook)) {
    const auto now = Clock::now();
    const double so_far = seconds_between(start, now);
    if (result.timed_out || result.cancelled) {
      if (seconds_between(asked, now) > kGraceSeconds) ::kill(-pid, SIGKILL);
      continue;
    }
    result.cancelled = request.cancel != nullptr && request.cancel->load();
    result.timed_out = !result.cancelled && request.timeout > 0 && so_far > request.timeout;
    if (result.timed_out || result.cancelled) {
      asked = now;
      ::kill(-pid, SIGTERM);
    } else if (request.tick) {
      request.tick(so_far);
    }
  }
}

}  // namespace

Result<ChildResult> run_child(const ChildRequest& request) {
  pid_t pid = -1;
  const auto start = Clock::now();
  if (const int failed = spawn(request, pid); failed != 0) {
    return Error{ErrorCode::usage, "cannot start \"" + request.words.front() + "\"", std::strerror(failed),
                 "give the program's path; built-in commands of a shell need --shell", ""};
  }
  if (request.group != nullptr) request.group->store(pid);
  ChildResult result;
  Clock::time_point end;
  {
    Watch watch(pid);
    see_it_through(request, pid, start, watch, result);
    end = watch.end();
  }
  ::kill(-pid, SIGKILL);  // what it left running would disturb the next run
  if (request.group != nullptr) request.group->store(0);
  int status = 0;
  rusage usage{};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.seconds = seconds_between(start, end);
  result.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  result.peak_bytes = peak_bytes(usage);
  // Asked to stop in the last moment: what it computed may be whole, but the wish to stop stands.
  result.cancelled = result.cancelled || (request.cancel != nullptr && request.cancel->load());
  return result;
}

}  // namespace chiaro::ab
