// Readers of byte-pair vocabularies: vocab.json with merges.txt, or merges.txt alone; and the checks that every source
// of a vocabulary shares.
//
// Strict: whatever the tokenizer could not use is an error of code bad_file, that names the file and the line or entry.
// Memory is bounded by a small multiple of the bytes read. Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "chiaro/error.h"
#include "text/bpe.h"

namespace chiaro {

// A text to parse and the name that errors give it.
struct NamedText {
  std::string_view name;
  std::string_view text;
};

struct BpeVocab {
  std::vector<std::string> tokens;                    // by id; empty where a sparse vocabulary has none
  std::unordered_map<std::string, std::int32_t> ids;  // token -> id
  BpeMerges merges;
  std::vector<bool> merged;  // by id: some rule makes it; may be shorter than `tokens`

  // The id of a token, or -1.
  std::int32_t find(const std::string& token) const;
};

// Where something stands that is read: "entry 12" of a file. Only messages look at it.
struct FilePlace {
  std::string_view file;
  std::string_view kind;  // "line", "entry"
  std::size_t number = 0;

  // An error of code bad_file that names the file and the place.
  Error refuse(std::string_view reason) const;
};
// The same of a file as a whole.
Error refuse_tokenizer_file(std::string_view file, std::string why);
// A token as a message may show it: in quotes, cut, valid UTF-8, no control characters.
std::string shown_token(std::string_view token);

// Adds a token. Refused: an empty token, one that is there already, an id that is taken, negative, or so large that
// `entries` tokens leave too wide a gap below it (from 4 * entries + 1024).
Status add_bpe_token(BpeVocab& vocab, std::string token, std::int64_t id, std::size_t entries, const FilePlace& place);
// Adds a rule with the next rank: both sides and their concatenation must be tokens, the pair must be new.
Status add_bpe_merge(BpeVocab& vocab, std::string_view left, std::string_view right, const FilePlace& place);
// Splits "LEFT RIGHT" and adds it.
Status add_bpe_merge(BpeVocab& vocab, std::string_view rule, const FilePlace& place);

// vocab.json is one object {token: id}; ids are unique, not negative, and below 4 * entries + 1024. merges.txt has one
// rule a line, "LEFT RIGHT", after an optional first line that holds "#version"; blank lines may only end the file; CR
// LF is taken. Both sides and their concatenation must be tokens, and no pair may come twice. At most `max_merges`
// rules are read, the rest of the file is not looked at.
Result<BpeVocab> parse_bpe_vocab(const NamedText& vocab_json, const NamedText& merges_txt, std::size_t max_merges);

// Every token of more than one symbol is the result of a rule, but for special and added ones ("<...>"). A merges.txt
// that was cut off or is another model's leaves tokens that no text can reach: other ids, and another picture.
Status check_all_merged(const BpeVocab& vocab, std::string_view merges_name, std::string_view end_of_word,
                        const std::unordered_set<std::string>& special_tokens);

// The vocabulary that the merges imply: the 256 byte symbols, the same with `end_of_word`, one token a rule, and then
// the special tokens in the order given.
Result<BpeVocab> vocab_from_merges(const NamedText& merges_txt, std::size_t max_merges, std::string_view end_of_word,
                                   const std::vector<std::string>& special_tokens);

}  // namespace chiaro
