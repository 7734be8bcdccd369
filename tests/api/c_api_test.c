/* The C interface, used as a C program uses it: load, generate, follow, cancel, errors, and everything freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chiaro/chiaro_c.h"

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

/* Prints and frees an error that should not have come; returns whether there was one. */
static int unexpected(chiaro_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "unexpected: %s (%s) %s\n", error->what, error->why, error->where);
  ++failures;
  chiaro_free_error(error);
  return 1;
}

static void expect_error(chiaro_error* error, chiaro_code code, const char* part) {
  CHECK(error != NULL);
  if (error == NULL) return;
  CHECK(error->code == code);
  CHECK(error->what != NULL && error->why != NULL && error->mend != NULL && error->where != NULL);
  if (strstr(error->what, part) == NULL) {
    fprintf(stderr, "\"%s\" does not say \"%s\"\n", error->what, part);
    ++failures;
  }
  chiaro_free_error(error);
}

static chiaro_session* load_tiny(void) {
  chiaro_load_options options;
  chiaro_init_load_options(&options, sizeof options);
  options.model = CHIARO_SOURCE_DIR "/models/tiny";
  options.threads = 2;
  chiaro_session* session = NULL;
  if (unexpected(chiaro_load(&options, &session))) exit(1);
  CHECK(session != NULL);
  return session;
}

static chiaro_request small_request(void) {
  chiaro_request request;
  chiaro_init_request(&request, sizeof request);
  request.prompt = "a red apple on a blue background";
  request.width = request.height = 64;
  request.steps = 2;
  return request;
}

typedef struct Seen {
  int calls, samples, pictures, last_step;
  int cancel_at; /* a step; 0: never */
  chiaro_session* session;
  uint8_t first[3];
} Seen;

static void on_progress(void* data, const chiaro_progress* p) {
  Seen* seen = data;
  ++seen->calls;
  CHECK(p->step >= 0 && p->step <= p->steps && p->seconds >= 0);
  if (p->stage != CHIARO_STAGE_SAMPLE) return;
  ++seen->samples;
  seen->last_step = p->step;
  if (seen->cancel_at > 0 && p->step == seen->cancel_at) chiaro_cancel(seen->session);
}

static void on_picture(void* data, int index, const chiaro_picture* picture) {
  Seen* seen = data;
  CHECK(index == seen->pictures);
  ++seen->pictures;
  CHECK(picture->width == 64 && picture->height == 64 && picture->rgb_size == 64 * 64 * 3);
  if (index == 0) memcpy(seen->first, picture->rgb, 3);
}

static void test_generate(chiaro_session* session) {
  Seen seen = {0};
  chiaro_request request = small_request();
  request.batch_count = 2;
  request.user_data = &seen;
  request.on_progress = on_progress;
  request.on_picture = on_picture;
  chiaro_pictures* pictures = NULL;
  if (unexpected(chiaro_generate(session, &request, &pictures))) return;
  CHECK(seen.samples == 6); /* steps 0, 1, 2 of each picture */
  CHECK(seen.last_step == 2 && seen.pictures == 2);
  CHECK(chiaro_picture_count(pictures) == 2);
  CHECK(chiaro_picture_at(pictures, 2) == NULL);
  const chiaro_picture* first = chiaro_picture_at(pictures, 0);
  const chiaro_picture* second = chiaro_picture_at(pictures, 1);
  CHECK(first->seed == 42 && second->seed == 43);
  CHECK(memcmp(first->rgb, seen.first, 3) == 0);
  CHECK(memcmp(first->rgb, second->rgb, first->rgb_size) != 0);
  CHECK(chiaro_notice_at(pictures, chiaro_notice_count(pictures)) == NULL);
  const char* path = CHIARO_TMP_DIR "/c_api.png";
  if (!unexpected(chiaro_save_png(pictures, 1, path))) {
    FILE* file = fopen(path, "rb");
    unsigned char magic[8] = {0};
    CHECK(file != NULL && fread(magic, 1, 8, file) == 8 && memcmp(magic, "\x89PNG\r\n\x1a\n", 8) == 0);
    if (file != NULL) fclose(file);
    remove(path);
  }
  expect_error(chiaro_save_png(pictures, 2, path), CHIARO_USAGE, "no such picture");
  expect_error(chiaro_save_png(pictures, 0, CHIARO_TMP_DIR "/no such folder/a.png"), CHIARO_IO, "a.png");
  chiaro_free_pictures(pictures);
}

static void test_tiles(chiaro_session* session) {
  chiaro_request request = small_request(); /* 8x8 latents */
  chiaro_pictures *whole = NULL, *tiles = NULL;
  if (unexpected(chiaro_generate(session, &request, &whole))) return;
  request.vae_tiling = CHIARO_TILING_ON;
  request.vae_tile_width = request.vae_tile_height = 4;
  if (!unexpected(chiaro_generate(session, &request, &tiles))) {
    const chiaro_picture* picture = chiaro_picture_at(tiles, 0);
    CHECK(memcmp(picture->rgb, chiaro_picture_at(whole, 0)->rgb, picture->rgb_size) != 0);
    chiaro_free_pictures(tiles);
  }
  request.vae_tile_width = 8;
  request.vae_tile_height = 0; /* the usual: both are as large as the picture */
  if (!unexpected(chiaro_generate(session, &request, &tiles))) {
    const chiaro_picture* picture = chiaro_picture_at(tiles, 0);
    CHECK(memcmp(picture->rgb, chiaro_picture_at(whole, 0)->rgb, picture->rgb_size) == 0);
    chiaro_free_pictures(tiles);
  }
  request.vae_tile_overlap = 2;
  expect_error(chiaro_generate(session, &request, &tiles), CHIARO_USAGE, "overlap by 2");
  request.vae_tiling = 7;
  expect_error(chiaro_generate(session, &request, &tiles), CHIARO_USAGE, "vae_tiling is 7");
  chiaro_free_pictures(whole);
}

static void test_cancel(chiaro_session* session) {
  chiaro_cancel(session); /* nothing runs: no effect */
  Seen seen = {0};
  seen.session = session;
  seen.cancel_at = 1;
  chiaro_request request = small_request();
  request.steps = 50;
  request.user_data = &seen;
  request.on_progress = on_progress;
  chiaro_pictures* pictures = NULL;
  expect_error(chiaro_generate(session, &request, &pictures), CHIARO_CANCELLED, "");
  CHECK(pictures == NULL && seen.last_step == 1);

  seen.cancel_at = 0; /* the next run is whole */
  request.steps = 2;
  if (unexpected(chiaro_generate(session, &request, &pictures))) return;
  CHECK(chiaro_picture_count(pictures) == 1);
  chiaro_free_pictures(pictures);
}

static void test_errors(chiaro_session* session) {
  chiaro_load_options options;
  chiaro_init_load_options(&options, sizeof options);
  chiaro_session* none = session; /* must be overwritten */
  expect_error(chiaro_load(&options, &none), CHIARO_USAGE, "no model");
  CHECK(none == NULL);
  options.model = CHIARO_SOURCE_DIR "/models/no such model";
  expect_error(chiaro_load(&options, &none), CHIARO_IO, "no such model");
  options.model = CHIARO_SOURCE_DIR "/CMakeLists.txt";
  expect_error(chiaro_load(&options, &none), CHIARO_BAD_FILE, "");
  options.model = CHIARO_SOURCE_DIR "/models/tiny";
  options.precision = "f12";
  expect_error(chiaro_load(&options, &none), CHIARO_USAGE, "f12");
  options.precision = NULL;
  options.log_level = CHIARO_LOG_ERROR + 1;
  expect_error(chiaro_load(&options, &none), CHIARO_USAGE, "log_level is 5");
  options.log_level = CHIARO_LOG_NOTICE;
  const char* disabled[] = {"no_such_op"};
  options.disabled_ops = disabled;
  options.disabled_op_count = 1;
  expect_error(chiaro_load(&options, &none), CHIARO_USAGE, "no_such_op");
  expect_error(chiaro_load(NULL, &none), CHIARO_USAGE, "NULL");
  expect_error(chiaro_load(&options, NULL), CHIARO_USAGE, "NULL");

  chiaro_pictures* pictures = NULL;
  chiaro_request request = small_request();
  request.width = -1;
  expect_error(chiaro_generate(session, &request, &pictures), CHIARO_USAGE, "-1x64");
  request = small_request();
  request.sampling_method = "guesswork";
  expect_error(chiaro_generate(session, &request, &pictures), CHIARO_USAGE, "guesswork");
  request = small_request();
  request.prompt = NULL;
  expect_error(chiaro_generate(session, &request, &pictures), CHIARO_USAGE, "no prompt");
  request = small_request();
  request.size = 0;
  expect_error(chiaro_generate(session, &request, &pictures), CHIARO_USAGE, "not initialised");
  expect_error(chiaro_generate(NULL, &request, &pictures), CHIARO_USAGE, "NULL");
  CHECK(pictures == NULL);
}

/* A caller compiled against another version: a shorter struct keeps the defaults, a longer one must not ask for more.
 */
static void test_growth(chiaro_session* session) {
  struct {
    chiaro_request request;
    int unknown;
  } longer;
  memset(&longer, 0, sizeof longer);
  chiaro_init_request(&longer.request, sizeof longer);
  longer.request.prompt = "a red apple";
  longer.request.width = longer.request.height = 64;
  longer.request.steps = 1;
  chiaro_pictures* pictures = NULL;
  if (!unexpected(chiaro_generate(session, &longer.request, &pictures))) chiaro_free_pictures(pictures);
  longer.unknown = 1;
  expect_error(chiaro_generate(session, &longer.request, &pictures), CHIARO_USAGE, "does not know");

  chiaro_request shorter;
  memset(&shorter, 0xFF, sizeof shorter); /* what lies behind its end is not read */
  chiaro_init_request(&shorter, offsetof(chiaro_request, sampling_method));
  shorter.prompt = "a red apple";
  shorter.width = shorter.height = 64;
  shorter.steps = 1;
  if (!unexpected(chiaro_generate(session, &shorter, &pictures))) chiaro_free_pictures(pictures);
}

int main(void) {
  CHECK(strlen(chiaro_version()) >= 5);
  chiaro_session* session = load_tiny();
  test_generate(session);
  test_tiles(session);
  test_cancel(session);
  test_errors(session);
  test_growth(session);
  chiaro_trim(session);
  CHECK(chiaro_held_bytes(session) == 0);
  chiaro_free_session(session);
  chiaro_free_session(NULL);
  chiaro_free_pictures(NULL);
  chiaro_free_error(NULL);
  if (failures == 0) puts("the C interface is right");
  return failures == 0 ? 0 : 1;
}
