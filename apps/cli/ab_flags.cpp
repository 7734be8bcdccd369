// The flags of `chiaro ab`.
#include <CLI/CLI.hpp>

#include "ab_command.h"

namespace chiaro::cli {

void add_ab(CLI::App& app, AbOptions& o) {
  auto* c = app.add_subcommand("ab", "time two commands in turn in fresh processes, and compare what they write");
  c->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  c->add_option("--a", o.a, "a command; {out} in it is the path of its output, a .png")->required()->type_name("CMD");
  c->add_option("--b", o.b, "the command that is compared with it")->type_name("CMD");
  c->add_flag("--a-vs-a", o.a_vs_a, "also run A a second time in every repeat: the noise floor (alone: without --b)");
  c->add_option("-r,--repeats", o.repeats, "pairs that count (default: 5)")
      ->check(CLI::Range(2, 1000).description(""))
      ->type_name("N");
  c->add_option("--warmup", o.warmup, "runs of each command before (default: 1)")
      ->check(CLI::Range(0, 1000).description(""))
      ->type_name("N");
  c->add_option("--timeout", o.timeout, "seconds that a run may take; a longer one ends the comparison")
      ->check(CLI::Range(0.001, 1e9).description(""))
      ->type_name("S");
  c->add_flag("--shell", o.shell, "hand the commands to /bin/sh -c");
  c->add_option("--output-flag", o.output_flag, "append this flag with the output's path, instead of {out}")
      ->type_name("FLAG");
  c->add_option("--clock", o.clock, "compare the time that passes (wall) or the processor's (cpu) (default: wall)")
      ->check(CLI::IsMember({"wall", "cpu"}).description(""))
      ->type_name("NAME");
  c->add_option("--figure", o.figure, "compare a number that the commands print instead: the first group of this")
      ->type_name("REGEX");
  c->add_option("--min-psnr", o.min_psnr, "exit with 1 where the outputs' PSNR is below this many dB")->type_name("X");
  c->add_option("--seed", o.seed, "of the interval's resampling")->type_name("N");
  c->add_option("--report", o.report, "write report.md, report.json, plot.svg and the outputs into this folder")
      ->type_name("FOLDER");
  c->add_option("--json", o.json, "write all figures there")->type_name("FILE.json");
  c->add_option("--markdown", o.markdown, "write the text there")->type_name("FILE.md");
  c->add_option("--svg", o.svg, "draw every run there")->type_name("FILE.svg");
  c->footer(
      "A command is split at blanks; 'single' and \"double\" quotes and \\ keep blanks; nothing else is special. A\n"
      "command that fails ends the comparison with the last of what it said. Docs: docs/ab.md.\n\n"
      "Examples:\n"
      "  chiaro ab --a 'chiaro -p apple -o {out}' --b 'chiaro -p apple -o {out} --no-fuse' --report ab\n"
      "  chiaro ab --a 'chiaro -p apple -o {out}' --a-vs-a --repeats 10\n");
}

}  // namespace chiaro::cli
