#include "mutants.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

namespace chiaro::mutation {
namespace {

std::vector<std::string> parts(const std::string& text, char separator) {
  std::vector<std::string> all;
  size_t at = 0;
  while (true) {
    const size_t end = text.find(separator, at);
    all.push_back(text.substr(at, end - at));
    if (end == std::string::npos) return all;
    at = end + 1;
  }
}

}  // namespace

std::string Mutant::text() const {
  return std::to_string(number) + " " + place + " " + function + " " + kind + ": " + before + "  ->  " + after;
}

Result<std::vector<Mutant>> read_mutants(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::io, "cannot read " + path, "", "", ""};
  std::vector<Mutant> mutants;
  std::string line;
  while (std::getline(file, line)) {
    const auto fields = parts(line, '\t');
    if (fields.size() != 7) return Error{ErrorCode::usage, path + " is no list of mutants", line, "", ""};
    mutants.push_back(
        {std::atoi(fields[0].c_str()), fields[1], fields[2], fields[3], parts(fields[4], ','), fields[5], fields[6]});
  }
  return mutants;
}

Status mark_equivalent(std::vector<Mutant>& mutants, const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::io, "cannot read " + path, "", "", ""};
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line.front() == '#') continue;
    const auto fields = parts(line, '\t');
    if (fields.size() != 4) return Error{ErrorCode::usage, path + " is no list of equivalent mutants", line, "", ""};
    for (Mutant& m : mutants) {
      if (m.function == fields[0] && m.before == fields[1] && m.after == fields[2]) m.equivalent = fields[3];
    }
  }
  return {};
}

std::string caught_by(const std::string& failure) {
  static constexpr std::pair<const char*, const char*> kChecks[] = {
      {": race on ", "race"},
      {": out of bounds", "bounds"},
      {"is given too little memory", "bounds"},
      {": read before write", "read before write"},
      {": divergent ", "divergence"},
      {": time limit", "time limit"},
      {": misaligned", "alignment"},
      {": undeclared feature", "undeclared"},
      {": threadgroup memory", "threadgroup memory"},
      {": access to a buffer", "unbound buffer"},
      {": function constant", "constant"},
      {" was changed at byte", "memory around operands"},
      {"memory behind the scratch", "memory around operands"},
      {", expected ", "wrong result"},
  };
  for (const auto& [text, name] : kChecks) {
    if (failure.find(text) != std::string::npos) return name;
  }
  return "another fault";
}

std::string summary(const std::vector<Mutant>& mutants, const std::vector<Outcome>& outcomes) {
  std::map<std::string, std::pair<int, int>> kinds, files;  // all, caught
  std::map<std::string, int> checks;
  int caught = 0, counted = 0;
  for (size_t i = 0; i < mutants.size(); ++i) {
    if (!mutants[i].equivalent.empty()) continue;
    ++counted;
    const bool found = !outcomes[i].by.empty();
    const std::string file = mutants[i].place.substr(0, mutants[i].place.find(':'));
    for (auto* entry : {&kinds[mutants[i].kind], &files[file]}) {
      ++entry->first;
      entry->second += found ? 1 : 0;
    }
    caught += found ? 1 : 0;
    if (found) ++checks[outcomes[i].by];
  }
  char line[200];
  std::snprintf(line, sizeof line, "%d mutants and %zu equivalent ones, %d caught (%.1f %%)\n", counted,
                mutants.size() - static_cast<size_t>(counted), caught, 100.0 * caught / std::max(counted, 1));
  std::string s = line;
  for (const auto& table : {kinds, files}) {
    for (const auto& [name, counts] : table) {
      std::snprintf(line, sizeof line, "  %-36s %4d of %4d caught\n", name.c_str(), counts.second, counts.first);
      s += line;
    }
  }
  for (const auto& [name, count] : checks) {
    std::snprintf(line, sizeof line, "  by %-33s %4d\n", name.c_str(), count);
    s += line;
  }
  return s;
}

}  // namespace chiaro::mutation
