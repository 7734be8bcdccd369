#include "pipeline/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipeline/step_graph.h"

namespace chiaro {
namespace {

constexpr int64_t kTileSides[] = {64, 32, 16};  // latents, from the best picture to the least memory

// One graph for all tiles: they have one shape, and a whole picture is a tile of its size.
DecodeRequest graph_of(const DecodeSize& size, DType dtype) {
  const TileSize tile = size.tile.value_or(TileSize{size.height, size.width, 0});
  return {1, std::min(size.height, tile.height), std::min(size.width, tile.width), dtype, size.small};
}

std::string decoder_key(const DecodeRequest& r) {
  return fmt::format("{}decoder, latents {}x{}, {}", r.small ? "small " : "", r.width, r.height, dtype_name(r.dtype));
}

TileSize square(int64_t side, double overlap) {
  return {side, side, overlap};
}

std::string tile_text(const DecodeSize& size) {
  const TileGrid grid = cut_tiles(size.height, size.width, *size.tile);
  return fmt::format("{} tiles of {}x{} latents", grid.count(), grid.x.tile, grid.y.tile);
}

// As it was asked for, with what was left open.
TileSize asked_size(const VaeTiling& asked) {
  TileSize tile = square(kTileSides[0], asked.overlap);
  if (asked.tile_width > 0) tile.width = asked.tile_width;
  if (asked.tile_height > 0) tile.height = asked.tile_height;
  return tile;
}

Status cancelled(const RunOptions& options) {
  if (options.cancel == nullptr || !*options.cancel) return {};
  return Error{ErrorCode::cancelled, "the run was cancelled", "", "", "between two tiles"};
}

TileGrid grid_of(int64_t height, int64_t width, const std::optional<TileSize>& tile) {
  return cut_tiles(height, width, tile.value_or(TileSize{height, width, 0}));
}

// One network over all tiles.
struct Tiled {
  TileGrid grid;
  int64_t scale = 1, channels = 1;                               // of the result
  std::string_view input, output, stage, what;                   // ports, and names for errors
  std::vector<float> piece = {};                                 // as large as the input
  std::function<void(const Piece&, std::span<float>)> cut = {};  // fills it; places are in latents
};

Result<std::vector<float>> run_tiles(Executor& executor, Tiled& job, const RunOptions& options, const OnTile& on_tile) {
  const TileGrid& grid = job.grid;
  const int64_t values = job.scale * job.scale * job.channels;  // of one latent
  std::vector<float> out(static_cast<size_t>(grid.y.size * grid.x.size * values));
  const bool whole = grid.count() == 1;  // then it is written where it stays
  std::vector<float> tile(whole ? 0 : static_cast<size_t>(grid.y.tile * grid.x.tile * values));
  TileBlender blender(grid, job.scale, job.channels, out);
  const std::span<float> made = whole ? std::span(out) : std::span(tile);
  const Binding inputs[] = {bind_port(job.input, std::span<const float>(job.piece))};
  const Binding outputs[] = {bind_port(job.output, made)};
  for (int64_t i = 0; i < grid.count(); ++i) {
    CHIARO_TRY(cancelled(options));
    const int64_t row = i / grid.columns(), column = i % grid.columns();
    job.cut(
        {grid.y.starts[static_cast<size_t>(row)], grid.x.starts[static_cast<size_t>(column)], grid.y.tile, grid.x.tile},
        job.piece);
    CHIARO_TRY(executor.run(inputs, outputs, options));
    CHIARO_TRY(check_finite(made, job.stage, job.what));
    if (!whole) blender.add(row, column, tile);
    if (on_tile) on_tile(i + 1, grid.count());
  }
  return out;
}

}  // namespace

Result<std::vector<float>> decode_image(const Assembly& a, StageRunner& runner, const DecodeSize& size,
                                        std::span<const float> latents, DType dtype, const RunOptions& options,
                                        const OnTile& on_tile) {
  const DecodeRequest shape = graph_of(size, dtype);
  CHIARO_ASSIGN(auto executor, runner.executor(
                                   decoder_key(shape), [&] { return build_decode(a, shape); }, options));
  const auto plane = static_cast<size_t>(size.height * size.width);
  const auto part = static_cast<size_t>(shape.height * shape.width);
  const auto channels = static_cast<size_t>(a.latent_channels());
  Tiled job{
      grid_of(size.height, size.width, size.tile), a.latent_scale(), 3, "latents", "image", "the decoder", "pixels"};
  job.piece.resize(part * channels);
  job.cut = [&](const Piece& at, std::span<float> piece) {
    for (size_t c = 0; c < channels; ++c) {
      copy_piece(latents.subspan(c * plane, plane), size.width, 1, at, piece.subspan(c * part, part));
    }
  };
  return run_tiles(*executor, job, options, on_tile);
}

Result<std::vector<float>> encode_image(const Assembly& a, StageRunner& runner, const EncodeSize& size,
                                        std::span<const float> image, DType dtype, const RunOptions& options,
                                        const OnTile& on_tile) {
  const int64_t scale = a.latent_scale();
  if (!a.has_vae || size.height < scale || size.width < scale || size.height % scale != 0 || size.width % scale != 0) {
    return Error{ErrorCode::usage, fmt::format("a picture of {}x{} pixels cannot be encoded", size.width, size.height),
                 a.has_vae ? fmt::format("a latent is {} pixels wide", scale) : "the model has no encoder",
                 a.has_vae ? "crop or scale the picture to a multiple" : "give --vae FILE", ""};
  }
  Tiled job{grid_of(size.height / scale, size.width / scale, size.tile),
            1,
            2 * a.latent_channels(),
            "image",
            "moments",
            "the encoder",
            "latents"};
  const EncodeRequest shape{job.grid.y.tile * scale, job.grid.x.tile * scale, dtype};
  const std::string key = fmt::format("encoder, pixels {}x{}, {}", shape.width, shape.height, dtype_name(dtype));
  CHIARO_ASSIGN(auto executor, runner.executor(
                                   key, [&] { return build_encode(a, shape); }, options));
  job.piece.resize(static_cast<size_t>(shape.height * shape.width * 3));
  job.cut = [&](const Piece& at, std::span<float> piece) {
    copy_piece(image, size.width, 3, {at.y * scale, at.x * scale, shape.height, shape.width}, piece);
  };
  return run_tiles(*executor, job, options, on_tile);
}

Result<TileChoice> choose_tile(const Assembly& a, StageRunner& runner, const VaeTiling& asked, const DecodeSize& size,
                               DType dtype) {
  if (asked.mode == Tiling::off) return TileChoice{};
  if (asked.mode == Tiling::on) return TileChoice{asked_size(asked), ""};
  const auto excess = [&](const std::optional<TileSize>& tile) -> Result<std::string> {
    const DecodeRequest shape = graph_of({size.height, size.width, size.small, tile}, dtype);
    CHIARO_ASSIGN(const auto plan, runner.plan(decoder_key(shape), [&] { return build_decode(a, shape); }));
    return StageRunner::over_budget(*plan);
  };
  CHIARO_ASSIGN(std::string why, excess(std::nullopt));
  if (why.empty()) return TileChoice{};
  if (asked.tile_width > 0 || asked.tile_height > 0) return TileChoice{asked_size(asked), std::move(why)};
  TileChoice choice{std::nullopt, std::move(why)};
  for (const int64_t side : kTileSides) {
    if (side >= std::max(size.height, size.width)) continue;
    choice.tile = square(side, asked.overlap);
    CHIARO_ASSIGN(const std::string too_much, excess(choice.tile));
    if (too_much.empty()) break;
  }
  return choice;  // the smallest where none fits: the devices say what they lack
}

std::optional<TileSize> smaller_tile(const DecodeSize& size, double overlap) {
  const TileSize now = size.tile.value_or(TileSize{size.height, size.width, 0});
  const int64_t most = std::max(std::min(now.height, size.height), std::min(now.width, size.width));
  for (const int64_t side : kTileSides) {
    if (side < most) return square(side, overlap);
  }
  return std::nullopt;
}

Picture cropped_picture(const ResolvedRequest& request, std::span<const float> image, int64_t image_width) {
  Picture picture;
  picture.width = request.request.width;
  picture.height = request.request.height;
  picture.rgb.reserve(static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3);
  const auto row = static_cast<size_t>(image_width);
  for (int y = 0; y < picture.height; ++y) {
    const float* p = &image[(static_cast<size_t>(y + request.crop_y) * row + static_cast<size_t>(request.crop_x)) * 3];
    for (int i = 0; i < picture.width * 3; ++i) {
      picture.rgb.push_back(static_cast<uint8_t>(std::nearbyint(std::clamp(p[i], 0.0F, 1.0F) * 255.0F)));
    }
  }
  return picture;
}

void PictureDecoder::say_once(const std::string& notice) {
  if (std::find(notices_.begin(), notices_.end(), notice) == notices_.end()) notices_.push_back(notice);
}

Status PictureDecoder::choose(DecodeSize& size, DType dtype) {
  if (forced_) {
    size.tile = forced_;
    return {};
  }
  const VaeTiling& asked = request_.request.vae_tiling;
  CHIARO_ASSIGN(TileChoice choice, choose_tile(assembly_, runner_, asked, size, dtype));
  size.tile = choice.tile;
  if (size.tile && !choice.why.empty()) {
    say_once(fmt::format("decoded in {}: whole it takes {} (--vae-tiling off decodes it whole)", tile_text(size),
                         choice.why));
  }
  if (!size.tile && asked.mode == Tiling::automatic && (asked.tile_width > 0 || asked.tile_height > 0)) {
    say_once("--vae-tile-size has no effect: the picture fits whole; --vae-tiling asks for tiles");
  }
  return {};
}

Result<Picture> PictureDecoder::decode(std::span<const float> latents, DType dtype, const RunOptions& options,
                                       const OnTile& on_tile) {
  DecodeSize size{request_.latent_height, request_.latent_width, assembly_.taesd_decodes, {}};
  const VaeTiling& asked = request_.request.vae_tiling;
  CHIARO_TRY(choose(size, dtype));
  auto image = decode_image(assembly_, runner_, size, latents, dtype, options, on_tile);
  const auto refused = [&] { return !image.ok() && image.error().code == ErrorCode::out_of_memory; };
  if (refused()) {
    say_once("memory ran out while decoding; it was done again without what the session keeps between runs");
    runner_.clear();
    image = decode_image(assembly_, runner_, size, latents, dtype, options, on_tile);
  }
  while (refused() && asked.mode != Tiling::off) {
    const auto smaller = smaller_tile(size, asked.overlap);
    if (!smaller) break;
    size.tile = forced_ = smaller;
    say_once(
        fmt::format("memory ran out while decoding ({}); it was done again in {}", image.error().why, tile_text(size)));
    image = decode_image(assembly_, runner_, size, latents, dtype, options, on_tile);
  }
  if (!image.ok()) return std::move(image).error();
  Picture picture = cropped_picture(request_, *image, size.width * assembly_.latent_scale());
  picture.tiling = asked;
  if (size.tile && cut_tiles(size.height, size.width, *size.tile).count() > 1) {
    picture.tiling = {Tiling::on, static_cast<int>(size.tile->width), static_cast<int>(size.tile->height),
                      size.tile->overlap};
  } else if (asked.mode == Tiling::on) {
    picture.tiling = {};
  }
  return picture;
}

}  // namespace chiaro
