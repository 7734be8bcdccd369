// JPEG through libjpeg. Its errors come by longjmp, so the objects that need destroying live in the caller's struct,
// and memory is taken where no frame of libjpeg lies between.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include "pipeline/image/codecs.h"

namespace chiaro {
namespace {

struct JpegJob {
  JpegJob() = default;
  JpegJob(const JpegJob&) = delete;
  JpegJob& operator=(const JpegJob&) = delete;
  ~JpegJob() { jpeg_destroy_decompress(&info); }

  jpeg_decompress_struct info{};
  jpeg_error_mgr errors{};
  std::jmp_buf jump{};
  char message[JMSG_LENGTH_MAX] = {};
  Image image;
  Status size;
};

[[noreturn]] void on_error(j_common_ptr info) {
  auto* job = static_cast<JpegJob*>(info->client_data);
  info->err->format_message(info, job->message);
  std::longjmp(job->jump, 1);
}
void on_message(j_common_ptr) {}

bool decode(JpegJob& job, std::span<const std::byte> bytes, std::string_view where) {
  if (setjmp(job.jump) != 0) return false;
  jpeg_mem_src(&job.info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&job.info, TRUE);
  job.size = check_image_size(job.info.image_width, job.info.image_height, bytes.size(), where);
  if (!job.size.ok()) return false;
  job.info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&job.info);
  job.image.width = static_cast<int>(job.info.output_width);
  job.image.height = static_cast<int>(job.info.output_height);
  const size_t row = static_cast<size_t>(job.image.width) * 3;
  job.image.rgb.resize(row * static_cast<size_t>(job.image.height));
  while (job.info.output_scanline < job.info.output_height) {
    JSAMPROW line = job.image.rgb.data() + row * job.info.output_scanline;
    jpeg_read_scanlines(&job.info, &line, 1);
  }
  jpeg_finish_decompress(&job.info);
  return job.errors.num_warnings == 0;
}

}  // namespace

Result<Image> decode_jpeg(std::span<const std::byte> bytes, std::string_view where) {
  JpegJob job;
  job.info.err = jpeg_std_error(&job.errors);
  job.errors.error_exit = on_error;
  job.errors.output_message = on_message;
  jpeg_create_decompress(&job.info);
  job.info.client_data = &job;
  const bool ok = decode(job, bytes, where);
  if (!job.size.ok()) return job.size.error();
  if (ok) return std::move(job.image);
  return Error{ErrorCode::bad_file, "\"" + std::string(where) + "\" is not a readable JPEG",
               job.message[0] != '\0' ? job.message : "the file is damaged", "save the picture again as PNG",
               std::string(where)};
}

}  // namespace chiaro
