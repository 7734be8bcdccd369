#include "signals.h"

#include <signal.h>
#include <unistd.h>

#include "exit_code.h"

namespace chiaro::cli {
namespace {

// A signal handler reaches nothing but static storage.
std::atomic<bool> interrupted{false};
std::atomic<int> group{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler uses them");

void on_interrupt(int) {
  if (!interrupted.exchange(true)) return;
  if (const int pid = group.load(); pid > 0) ::kill(-pid, SIGKILL);
  ::_exit(kInterrupted);
}

}  // namespace

const std::atomic<bool>& catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = &on_interrupt;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // saving a finished picture goes on
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  return interrupted;
}

std::atomic<int>& group_to_end() {
  return group;
}

}  // namespace chiaro::cli
