// Parsing of weights and BREAK. Two passes keep the time linear: the first finds the brackets that belong together and
// their factors, the second carries the products along.
#include "text/prompt.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "text/decimal.h"
#include "text/unicode.h"

namespace chiaro {
namespace {

constexpr double kStrong = 1.1;  // what one pair of round brackets multiplies, and square ones divide
constexpr double kLargestWeight = 1e6;
constexpr std::string_view kBreak = "BREAK";
constexpr std::string_view kBlank = " \t\n\v\f\r";

enum class Item { text, chunk_break, open_round, open_square, close_round, close_square };

struct Token {
  Item item;
  std::string text;
  double factor = 1;  // of an opening bracket, known once it is closed
};

bool word_ends_before(std::string_view text, std::size_t at) {
  if (at == 0) return true;
  const std::u32string before =
      decode_utf8(text.substr(at - std::min<std::size_t>(at, 4), std::min<std::size_t>(at, 4)));
  return !is_word_char(before.back());
}

bool word_begins_after(std::string_view text, std::size_t at) {
  return at < text.size() && is_word_char(decode_utf8(text.substr(at, 4)).front());
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<Token> scan();
  bool had_syntax() const { return syntax_; }
  bool had_editing() const { return editing_; }

 private:
  void plain(std::string_view piece);
  void literal(std::string_view piece);
  void escape();
  void colon();
  void open(Item item, std::vector<std::size_t>& brackets);
  void close(Item item, std::vector<std::size_t>& brackets, double factor);
  void note_editing();

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Token> tokens_;
  std::vector<std::size_t> round_;  // opening brackets not yet closed, indices into tokens_
  std::vector<std::size_t> square_;
  bool syntax_ = false;
  bool editing_ = false;
};

void Scanner::literal(std::string_view piece) {
  if (!piece.empty()) tokens_.push_back({Item::text, std::string(piece)});
}

// Text without any of \ ( ) [ ] : in it; its BREAKs become tokens, the blanks around them go.
void Scanner::plain(std::string_view piece) {
  std::size_t start = 0;
  std::size_t from = 0;
  while (true) {
    const std::size_t found = piece.find(kBreak, from);
    if (found == std::string_view::npos) break;
    from = found + kBreak.size();
    if (!word_ends_before(piece, found) || word_begins_after(piece, from)) continue;
    const std::string_view before = piece.substr(start, found - start);
    literal(before.substr(0, before.find_last_not_of(kBlank) + 1));
    tokens_.push_back({Item::chunk_break, {}});
    syntax_ = true;
    start = std::min(piece.find_first_not_of(kBlank, from), piece.size());
    from = start;
  }
  literal(piece.substr(start));
}

void Scanner::escape() {
  syntax_ = true;
  constexpr std::string_view kEscapable = "()[]\\";
  const bool escapes = at_ + 1 < text_.size() && kEscapable.find(text_[at_ + 1]) != std::string_view::npos;
  if (escapes) literal(text_.substr(at_ + 1, 1));
  at_ += escapes ? 2 : 1;
}

// ":1.3)" closes a round bracket with a weight; any other colon is text.
void Scanner::colon() {
  constexpr std::string_view kNumber = "0123456789.+-";
  const std::size_t first = std::min(text_.find_first_not_of(kBlank, at_ + 1), text_.size());
  const std::size_t last = std::min(text_.find_first_not_of(kNumber, first), text_.size());
  const std::size_t bracket = std::min(text_.find_first_not_of(kBlank, last), text_.size());
  const std::optional<double> weight = parse_decimal(text_.substr(first, last - first));
  if (round_.empty() || bracket == text_.size() || text_[bracket] != ')' || !weight) {
    literal(":");
    ++at_;
    return;
  }
  close(Item::close_round, round_, *weight);
  at_ = bracket + 1;
}

void Scanner::open(Item item, std::vector<std::size_t>& brackets) {
  syntax_ = true;
  brackets.push_back(tokens_.size());
  // The factor of a bracket that is never closed.
  tokens_.push_back({item, {}, item == Item::open_round ? kStrong : 1 / kStrong});
  ++at_;
}

void Scanner::close(Item item, std::vector<std::size_t>& brackets, double factor) {
  tokens_[brackets.back()].factor = factor;
  brackets.pop_back();
  tokens_.push_back({item, {}});
}

// "[…:0.5]" or "[…:12]": the webui's prompt editing, seen at its closing bracket.
void Scanner::note_editing() {
  const std::size_t colon = text_.substr(0, at_).find_last_of(":[](");
  if (colon != std::string_view::npos && text_[colon] == ':' &&
      parse_decimal(text_.substr(colon + 1, at_ - colon - 1)).has_value()) {
    editing_ = true;
  }
}

std::vector<Token> Scanner::scan() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\\') {
      escape();
    } else if (c == ':') {
      colon();
    } else if (c == '(') {
      open(Item::open_round, round_);
    } else if (c == '[') {
      open(Item::open_square, square_);
    } else if (c == ')' && !round_.empty()) {
      close(Item::close_round, round_, kStrong);
      ++at_;
    } else if (c == ']' && !square_.empty()) {
      note_editing();
      close(Item::close_square, square_, 1 / kStrong);
      ++at_;
    } else if (c == ')' || c == ']') {
      literal(text_.substr(at_++, 1));
    } else {
      const std::size_t end = std::min(text_.find_first_of("\\()[]:", at_), text_.size());
      plain(text_.substr(at_, end - at_));
      at_ = end;
    }
  }
  return std::move(tokens_);
}

// Products of the brackets around each text. Round and square brackets may cross: each kind has its own stack.
std::vector<PromptPart> weigh(std::vector<Token> tokens) {
  std::vector<PromptPart> parts;
  std::vector<double> round = {1.0};
  std::vector<double> square = {1.0};
  for (Token& token : tokens) {
    switch (token.item) {
      case Item::open_round: round.push_back(round.back() * token.factor); break;
      case Item::open_square: square.push_back(square.back() * token.factor); break;
      case Item::close_round: round.pop_back(); break;
      case Item::close_square: square.pop_back(); break;
      case Item::chunk_break: parts.push_back({PromptPart::Kind::chunk_break, {}, 1.0F}); break;
      case Item::text: {
        // Thousands of brackets overflow: the product is clamped, and 0 * infinity counts as 0.
        const double product = round.back() * square.back();
        const double bounded = product != product ? 0.0 : std::clamp(product, -kLargestWeight, kLargestWeight);
        const auto weight = static_cast<float>(bounded);
        const bool joins =
            !parts.empty() && parts.back().kind == PromptPart::Kind::text && parts.back().weight == weight;
        if (joins) {
          parts.back().text += token.text;
        } else {
          parts.push_back({PromptPart::Kind::text, std::move(token.text), weight});
        }
        break;
      }
    }
  }
  return parts;
}

}  // namespace

Prompt parse_prompt(std::string_view text, PromptPolicy policy) {
  Prompt prompt;
  std::string rest = extract_lora_tags(text, prompt);
  Scanner scanner(rest);
  std::vector<Token> tokens = scanner.scan();
  if (policy == PromptPolicy::literal) {
    if (scanner.had_syntax()) {
      prompt.notices.emplace_back(
          "weights, escapes and BREAK are not read by this text encoder: the text was passed as it is");
    }
    if (!rest.empty()) prompt.parts.push_back({PromptPart::Kind::text, std::move(rest), 1.0F});
    return prompt;
  }
  if (scanner.had_editing()) {
    prompt.notices.emplace_back("prompt editing such as [from:to:0.5] is not supported: it was read as text");
  }
  prompt.parts = weigh(std::move(tokens));
  return prompt;
}

}  // namespace chiaro
