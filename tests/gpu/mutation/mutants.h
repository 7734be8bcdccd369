// The list of mutants that tools/gpu/mutate_kernels.py writes, and what became of each.
#pragma once

#include <string>
#include <vector>

#include "chiaro/error.h"

namespace chiaro::mutation {

struct Mutant {
  int number = 0;
  std::string place, function, kind;  // "src/ops/sum/kernel.gpu:17", "sum_part", "bound"
  std::vector<std::string> ops;       // whose cases it faces
  std::string before, after;          // of the piece
  std::string equivalent = {};        // why no case can catch it; empty: one should
  std::string text() const;
};

// Errors: io, usage.
Result<std::vector<Mutant>> read_mutants(const std::string& path);

// Marks the mutants that the file lists as equivalent: function, before, after and the reason, between tabs. Errors:
// io, usage.
Status mark_equivalent(std::vector<Mutant>& mutants, const std::string& path);

// How a mutant was caught; survived where it was not.
struct Outcome {
  std::string by;   // "race", "bounds", "wrong result", ...; empty: survived
  std::string why;  // the failure in full
  double seconds = 0;
};

// The check that a failure's text comes from.
std::string caught_by(const std::string& failure);

// "347 mutants, 340 caught (98.0 %)", equivalent ones left out, and tables by kind, by file and by check.
std::string summary(const std::vector<Mutant>& mutants, const std::vector<Outcome>& outcomes);

}  // namespace chiaro::mutation
