// The prompt syntax of the stable-diffusion webui, for encoders that take weights, and the tags of LoRAs.
//
//   (word)      weight * 1.1         [word]      weight / 1.1        ((word)), ([word]): they multiply
//   (word:1.3)  weight * 1.3         \( \) \[ \] \\   the character itself; a \ before anything else vanishes
//   BREAK       as a word of its own, in capitals: what follows starts a new chunk, also inside brackets
//   <lora:name:0.8>   taken out of the text; also <lora:name>, <lora:name:0.8:0.5> (text encoder, picture model)
//
// No text is refused. As in the webui, an opening bracket that is never closed reaches to the end of the prompt, and a
// closing one without an opening one is text. A weight that is no number of magnitude up to 1e6 is text as well. Time
// is linear. Prompt editing ([from:to:0.5]) is not read: it is taken as text, and a notice says so.
//
// Encoders that read prose (the language models of newer diffusion models) get the text unchanged:
// PromptPolicy::literal. Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chiaro {

enum class PromptPolicy {
  weights,  // CLIP; T5 where the user asks for it
  literal,  // language models: brackets are punctuation
};

struct PromptPart {
  enum class Kind { text, chunk_break };
  Kind kind = Kind::text;
  std::string text;     // empty for chunk_break
  float weight = 1.0F;  // finite, magnitude up to 1e6

  bool operator==(const PromptPart& other) const = default;
};

struct LoraTag {
  std::string name;         // never a path: no separators, no "..", not empty
  double text_weight = 1;   // for the text encoder's layers
  double model_weight = 1;  // for the picture model's layers

  bool operator==(const LoraTag& other) const = default;
};

struct RefusedTag {
  std::string text;  // as written, made valid UTF-8
  std::string reason;

  bool operator==(const RefusedTag& other) const = default;
};

struct Prompt {
  std::vector<PromptPart> parts;     // neighbouring texts differ in weight; no text is empty
  std::vector<LoraTag> loras;        // in order of appearance
  std::vector<RefusedTag> refused;   // tags that the caller must report; they are not part of the text
  std::vector<std::string> notices;  // what was written and had no effect
};

Prompt parse_prompt(std::string_view text, PromptPolicy policy);

// Moves the <lora:…> tags of `text` into `prompt.loras` or `prompt.refused` and returns the rest. parse_prompt does
// this first, under either policy.
std::string extract_lora_tags(std::string_view text, Prompt& prompt);

}  // namespace chiaro
