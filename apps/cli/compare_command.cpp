// `chiaro compare A B`: figures on standard output.
#include "pipeline/image/compare.h"

#include <fmt/format.h>

#include <cstdio>

#include "commands.h"
#include "console.h"
#include "core/utf8_path.h"
#include "exit_code.h"

namespace chiaro::cli {

int run_compare(const CompareOptions& options) {
  Console console;
  const auto fail = [&](const Error& error) {
    console.error(error);
    return error.code == ErrorCode::shape ? int{kInternal} : exit_code(error, Phase::reading);
  };
  const auto a = load_image(path_from_utf8(options.a));
  if (!a.ok()) return fail(a.error());
  const auto b = load_image(path_from_utf8(options.b));
  if (!b.ok()) return fail(b.error());
  const auto difference = compare_images(*a, *b);
  if (!difference.ok()) return fail(difference.error());
  const ImageDifference& d = *difference;
  if (d.pixels == 0) {
    std::puts("identical");
    return kOk;
  }
  const auto pixels = int64_t{a->width} * a->height;
  std::puts(fmt::format("PSNR {:.2f} dB, SSIM {:.4f}, largest difference {}, {} of {} pixels differ", d.psnr, d.ssim,
                        d.largest, d.pixels, pixels)
                .c_str());
  if (!options.min_psnr || d.psnr >= *options.min_psnr) return kOk;
  console.line(fmt::format("below --min-psnr {}", *options.min_psnr));
  return kInternal;
}

}  // namespace chiaro::cli
