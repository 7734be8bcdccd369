// Graph text in: a reader of one line after the other, bounded against hostile text.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "graph/text.h"

namespace chiaro {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 48;  // sizes in bytes stay far below 63 bits

// One line of text, read from left to right. The first mistake is kept; later reads give harmless values.
class LineReader {
 public:
  explicit LineReader(std::string_view line) : rest_(line) {}

  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r')) {
      rest_.remove_prefix(1);
    }
  }
  bool at_end() {
    skip_spaces();
    return rest_.empty() || rest_.front() == '#';
  }
  // What stands behind "#".
  std::string_view label() {
    skip_spaces();
    if (rest_.empty() || rest_.front() != '#') return {};
    rest_.remove_prefix(1);
    skip_spaces();
    return std::exchange(rest_, {});
  }
  bool take(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("\"{}\" was expected", token));
  }
  std::string word() {
    skip_spaces();
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 || rest_[n] == '_')) ++n;
    if (n == 0) fail("a name was expected");
    std::string out(rest_.substr(0, n));
    rest_.remove_prefix(n);
    return out;
  }
  std::string text() {
    expect("\"");
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') {
      if (rest_.front() == '\\' && rest_.size() > 1) {
        rest_.remove_prefix(1);
        out += rest_.front() == 'n' ? '\n' : rest_.front();
      } else {
        out += rest_.front();
      }
      rest_.remove_prefix(1);
    }
    expect("\"");
    return out;
  }
  int64_t integer() {
    skip_spaces();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) {
      fail("a whole number was expected");
      return 0;
    }
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  std::vector<int64_t> integers(std::string_view open, std::string_view close) {
    std::vector<int64_t> out;
    expect(open);
    if (take(close)) return out;
    do {
      out.push_back(integer());
      if (out.size() > 64) fail("the list is too long");
    } while (status_.ok() && take(","));
    expect(close);
    return out;
  }
  // An attribute's value, by how it is written.
  AttrValue attr() {
    skip_spaces();
    if (rest_.starts_with("\"")) return text();
    if (rest_.starts_with("[")) return integers("[", "]");
    if (take("true")) return true;
    if (take("false")) return false;
    size_t n = 0;
    while (n < rest_.size() && std::string_view("+-.0123456789einfa").find(rest_[n]) != std::string_view::npos) ++n;
    const std::string number(rest_.substr(0, n));
    if (number.find_first_not_of("+-0123456789") == std::string::npos) return integer();
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    if (n == 0 || end != number.c_str() + n) fail("a value was expected");
    rest_.remove_prefix(n);
    return value;
  }
  void fail(std::string why) {
    if (status_.ok()) status_ = Error{ErrorCode::bad_file, "a graph cannot be read", std::move(why), "", ""};
  }
  const Status& status() const { return status_; }

 private:
  std::string_view rest_;
  Status status_;
};

class GraphParser {
 public:
  explicit GraphParser(const GraphNames& names) : names_(names) {}

  Result<Graph> run(std::string_view text) {
    for (int line = 1; !text.empty(); ++line) {
      const size_t end = std::min(text.find('\n'), text.size());
      LineReader reader(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (reader.at_end()) continue;
      Status status = statement(reader);
      if (status.ok()) status = reader.status();
      if (status.ok()) status = builder_.status();
      if (!status.ok()) return Error(std::move(status).error()).at(fmt::format("line {}", line));
    }
    return builder_.finish();
  }

 private:
  Status statement(LineReader& r) {
    if (r.take("output")) {
      std::string name = r.text();
      CHIARO_ASSIGN(const Value v, known_value(r));
      builder_.output(std::move(name), v);
      return finish_line(r);
    }
    r.expect("%");
    const int64_t id = r.integer();
    r.expect("=");
    CHIARO_TRY(r.status());
    if (values_.count(id) != 0) return mistake(fmt::format("%{} is defined twice", id));
    const std::string word = r.word();
    const bool source = word == "input" || word == "weight" || word == "constant";
    CHIARO_ASSIGN(const Value v, source ? source_value(r, word) : node_value(r, word));
    values_[id] = v;
    return finish_line(r);
  }

  Result<Value> source_value(LineReader& r, const std::string& kind) {
    std::string name = r.text();
    r.expect(":");
    CHIARO_TRY(r.status());
    CHIARO_ASSIGN(const TensorDesc desc, type(r));
    if (kind == "input") return builder_.input(std::move(name), desc);
    const StorageKind storage = kind == "weight" ? StorageKind::weight : StorageKind::constant;
    TensorDataPtr data;
    if (names_.data) {
      CHIARO_ASSIGN(data, names_.data(storage, name, desc));
    }
    if (!data) return builder_.unbound(storage, std::move(name), desc);
    return storage == StorageKind::weight ? builder_.weight(std::move(data)) : builder_.constant(std::move(data));
  }

  Result<Value> node_value(LineReader& r, const std::string& name) {
    const OpDef* op = names_.op ? names_.op(name) : nullptr;
    if (op == nullptr) return mistake(fmt::format("there is no op \"{}\"", name));
    std::vector<Value> inputs;
    r.expect("(");
    if (!r.take(")")) {
      do {
        CHIARO_ASSIGN(const Value v, input_value(r));
        inputs.push_back(v);
      } while (r.take(","));
      r.expect(")");
    }
    AttrMap attrs = op->default_attrs;
    if (r.take("{")) {
      do {
        CHIARO_TRY(read_attr(r, attrs));
      } while (r.take(","));
      r.expect("}");
    }
    std::optional<TensorDesc> stated;
    if (r.take(":")) {
      CHIARO_ASSIGN(stated, type(r));
    }
    if (r.take("module="))
      builder_.set_module(r.text());
    else
      builder_.set_module({});
    if (r.take("pin=")) builder_.pin_next(r.text());
    std::string device, moved;
    if (r.take("on=")) device = r.text();
    if (r.take("moved=")) moved = r.text();
    const bool on_copy = r.take("on_copy=true");
    builder_.place(std::move(device), std::move(moved), on_copy);
    CHIARO_TRY(r.status());
    const GraphBuilder::Scope scope(builder_, r.label());
    const Value v = builder_.add(*op, std::move(attrs), std::move(inputs));
    CHIARO_TRY(builder_.status());
    if (stated && builder_.desc(v).text() != stated->text()) {  // strides of dimensions of size 1 mean nothing
      return mistake(fmt::format("{} gives {}, not {}", name, builder_.desc(v).text(), stated->text()));
    }
    return v;
  }

  Status read_attr(LineReader& r, AttrMap& attrs) {
    const std::string key = r.word();
    r.expect("=");
    AttrValue value = r.attr();
    CHIARO_TRY(r.status());
    for (auto& [name, slot] : attrs) {
      if (name != key) continue;
      if (std::holds_alternative<std::shared_ptr<const HostFunction>>(slot)) return host_function(value, slot);
      slot = std::move(value);
      return {};
    }
    attrs.emplace_back(key, std::move(value));  // the op refuses it, naming what it has
    return {};
  }

  Status host_function(const AttrValue& value, AttrValue& slot) const {
    const auto* name = std::get_if<std::string>(&value);
    if (name == nullptr) return mistake("a host function is written as its name: fn=\"twice\"");
    if (!names_.function) return mistake(fmt::format("the host function \"{}\" is not known here", *name));
    CHIARO_ASSIGN(auto found, names_.function(*name));
    slot = std::move(found);
    return {};
  }

  // f32[1,2]{2,1}
  Result<TensorDesc> type(LineReader& r) {
    const std::string name = r.word();
    const auto dtype = dtype_from_name(name);
    if (!dtype) return mistake(fmt::format("there is no type \"{}\"", name));
    const std::vector<int64_t> shape = r.integers("[", "]");
    CHIARO_TRY(r.status());
    if (shape.size() > kMaxRank) return mistake(fmt::format("at most {} dimensions are possible", kMaxRank));
    for (const int64_t d : shape) {
      if (d < 0) return mistake("a dimension is negative");
    }
    CHIARO_ASSIGN(const int64_t count, checked_element_count(Dims(std::span(shape))));
    if (count > kMostElements) return mistake("a tensor has too many elements");
    TensorDesc desc = dense(*dtype, Dims(std::span(shape)));
    if (r.take("{")) {  // desc.text() writes "{[2,1]}"
      const std::vector<int64_t> strides = r.integers("[", "]");
      r.expect("}");
      CHIARO_TRY(r.status());
      if (strides.size() != shape.size()) return mistake("shape and strides differ in rank");
      for (size_t i = 0; i < strides.size(); ++i) {
        const bool small = strides[i] >= 0 && (shape[i] <= 1 || strides[i] <= kMostElements / (shape[i] - 1));
        if (!small) return mistake("a stride is out of range");
      }
      desc.strides = Dims(std::span(strides));
    }
    return desc;
  }

  Result<Value> input_value(LineReader& r) {
    if (r.take("_")) return kNone;
    return known_value(r);
  }

  Result<Value> known_value(LineReader& r) {
    r.expect("%");
    const int64_t id = r.integer();
    CHIARO_TRY(r.status());
    const auto found = values_.find(id);
    if (found == values_.end()) return mistake(fmt::format("%{} is not defined above", id));
    return found->second;
  }

  static Status finish_line(LineReader& r) {
    CHIARO_TRY(r.status());
    if (!r.at_end()) return mistake("there is more on the line than is understood");
    return {};
  }

  static Error mistake(std::string why) {
    return {ErrorCode::bad_file, "a graph cannot be read", std::move(why), "", ""};
  }

  const GraphNames& names_;
  GraphBuilder builder_;
  std::map<int64_t, Value> values_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const GraphNames& names) {
  return GraphParser(names).run(text);
}

Result<Graph> parse_graph(std::string_view text, const OpLookup& find_op) {
  return parse_graph(text, GraphNames{.op = find_op});
}

}  // namespace chiaro
