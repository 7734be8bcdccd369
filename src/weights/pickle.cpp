// The stack machine of pickle.h. Values are made once and never moved in meaning: the stack and the memo hold places.
#include "weights/pickle.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "weights/pickle_names.h"
#include "weights/printable.h"

namespace chiaro {
namespace {

// The letters are those of Python's pickle.py.
enum Op : uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kDup = '2',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8A,
  kLong4 = 0x8B,
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinString = 'T',
  kShortBinString = 'U',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinUnicode = 'X',
  kShortBinUnicode = 0x8C,
  kBinUnicode8 = 0x8D,
  kBinBytes8 = 0x8E,
  kGlobal = 'c',
  kStackGlobal = 0x93,
  kReduce = 'R',
  kNewObj = 0x81,
  kBuild = 'b',
  kBinPersId = 'Q',
  kEmptyDict = '}',
  kDict = 'd',
  kSetItem = 's',
  kSetItems = 'u',
  kEmptyList = ']',
  kList = 'l',
  kAppend = 'a',
  kAppends = 'e',
  kEmptySet = 0x8F,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kMemoize = 0x94,
  kProto = 0x80,
  kFrame = 0x95,
};

constexpr PickleRef kMarkRef = UINT32_MAX;  // a mark on the stack
constexpr std::string_view kCallMend =
    "pickles can run code, so only what weights need is read: use the .safetensors file of this model, or load this "
    "one with torch.load(weights_only=True) and save its state_dict";

// `printable` names may come from the file.
std::string shown_text(const PickleValue& value) {
  return value.text.empty() ? std::string(pickle_kind_name(value.kind)) : printable(value.text);
}

class Machine {
 public:
  Machine(std::span<const std::byte> data, std::string_view where) : data_(data), where_(where) {
    out_.values.resize(3);
    out_.values[kTrue].kind = out_.values[kFalse].kind = PickleKind::boolean;
    out_.values[kTrue].integer = 1;
  }

  Result<Pickle> run() {
    if (data_.size() < 2 || std::to_integer<uint8_t>(data_[0]) != kProto) return bad("it is not a pickle");
    while (!stopped_) {
      if (at_ > kMaxPickleBytes) return bad("it is longer than " + std::to_string(kMaxPickleBytes) + " bytes");
      if (std::max({out_.values.size(), stack_.size(), memo_.size(), copied_}) > kMaxPickleValues) {
        return bad("it makes more than " + std::to_string(kMaxPickleValues) + " values");
      }
      const size_t start = at_;
      const uint64_t op = number(1);
      if (cut_) return bad("it is cut off");
      CHIARO_TRY(step(static_cast<uint8_t>(op)));
      if (cut_) return bad("it is cut off in the instruction at byte " + std::to_string(start));
      if (underflow_) return bad("its stack runs empty at byte " + std::to_string(start));
    }
    out_.bytes = at_;
    return std::move(out_);
  }

 private:
  static constexpr PickleRef kNoneRef = 0, kTrue = 1, kFalse = 2;

  Error refuse(ErrorCode code, std::string why, std::string_view mend) const {
    return {code, "pickle reader refuses " + std::string(where_), std::move(why), std::string(mend),
            std::string(where_) + " at byte " + std::to_string(at_)};
  }
  Error bad(std::string why) const {
    return refuse(ErrorCode::bad_file, std::move(why), "the file is damaged or cut: get it again");
  }
  Error not_called(std::string_view name) const {
    return refuse(ErrorCode::unsupported, "it asks to call " + std::string(name), kCallMend);
  }

  // Reading -----------------------------------------------------------------------------------------------------------
  std::string_view take(uint64_t count) {
    if (count > data_.size() - at_) {
      cut_ = true;
      return {};
    }
    const std::string_view text(reinterpret_cast<const char*>(data_.data()) + at_, static_cast<size_t>(count));
    at_ += static_cast<size_t>(count);
    return text;
  }
  uint64_t number(uint64_t width) {  // little-endian
    const std::string_view bytes = take(width);
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  }
  double real() {  // big-endian, alone among all
    uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<uint8_t>(c);
    return std::bit_cast<double>(bits);
  }
  std::string_view line() {
    const std::string_view rest(reinterpret_cast<const char*>(data_.data()) + at_, data_.size() - at_);
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      cut_ = true;
      return {};
    }
    at_ += end + 1;
    return rest.substr(0, end);
  }

  // Stack -------------------------------------------------------------------------------------------------------------
  PickleValue& make(PickleKind kind) {
    stack_.push_back(static_cast<PickleRef>(out_.values.size()));
    PickleValue& value = out_.values.emplace_back();
    value.kind = kind;
    return value;
  }
  void make_text(PickleKind kind, std::string_view text) { make(kind).text = text; }
  void make_integer(int64_t value) { make(PickleKind::integer).integer = value; }
  void make_long(uint64_t count) {
    const std::string_view bytes = take(count);
    if (bytes.size() > 8) return make_text(PickleKind::big_integer, bytes);
    uint64_t value = 0;
    for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    const size_t bits = 8 * bytes.size();
    const bool negative = bits > 0 && bits < 64 && (value >> (bits - 1) & 1) != 0;
    make_integer(static_cast<int64_t>(negative ? value | ~uint64_t{0} << bits : value));
  }
  // A value, not a mark; none where the stack has run empty.
  PickleRef pop() {
    if (stack_.empty() || stack_.back() == kMarkRef) {
      underflow_ = true;
      return kNoneRef;
    }
    const PickleRef ref = stack_.back();
    stack_.pop_back();
    return ref;
  }
  PickleRef peek() {
    if (!stack_.empty() && stack_.back() != kMarkRef) return stack_.back();
    underflow_ = true;
    return kNoneRef;
  }
  // Everything above the last mark, and takes the mark.
  std::vector<PickleRef> pop_mark() {
    size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1] != kMarkRef) --mark;
    if (mark == 0) {
      underflow_ = true;
      return {};
    }
    std::vector<PickleRef> items(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark - 1);
    return items;
  }
  void make_list(std::vector<PickleRef> items) { make(PickleKind::list).items = std::move(items); }
  void make_tuple(int count) {
    std::vector<PickleRef> items(static_cast<size_t>(count));
    for (size_t i = items.size(); i-- > 0;) items[i] = pop();
    make_list(std::move(items));
  }

  // Into the list, set or dict on top. What is put into something opaque is forgotten.
  Status extend(PickleKind kind, std::vector<PickleRef> items) {
    PickleValue& target = out_.values[peek()];
    if (underflow_ || target.kind == PickleKind::opaque) return {};
    if (target.kind != kind || (kind == PickleKind::dict && items.size() % 2 != 0)) {
      return bad("it adds items to " + std::string(pickle_kind_name(target.kind)));
    }
    target.items.insert(target.items.end(), items.begin(), items.end());
    return {};
  }

  // Names and calls ---------------------------------------------------------------------------------------------------
  Status global(std::string_view module, std::string_view name) {
    if (cut_) return {};
    const auto known = pickle_name(module, name);
    if (!known) {
      const std::string full = printable(std::string(module) + "." + std::string(name));
      return refuse(ErrorCode::unsupported, "it asks for " + full + ", which weights do not need", kCallMend);
    }
    PickleValue& value = make(PickleKind::global);
    value.text = name;
    value.integer = static_cast<int64_t>(*known);
    return {};
  }
  Status stack_global() {
    const PickleRef name = pop(), module = pop();
    if (underflow_) return {};
    const PickleValue &n = out_.values[name], &m = out_.values[module];
    if (n.kind != PickleKind::text || m.kind != PickleKind::text) return bad("it looks up a name that is no text");
    return global(m.text, n.text);
  }
  // The arguments of one call may be used for many: copies are counted.
  std::vector<PickleRef> copy_items(const PickleValue& value) {
    copied_ += value.items.size();
    return copied_ > kMaxPickleValues ? std::vector<PickleRef>{} : value.items;
  }
  Status call() {
    const PickleRef arguments = pop(), function = pop();
    if (underflow_) return {};
    const PickleValue &f = out_.values[function], &a = out_.values[arguments];
    if (f.kind != PickleKind::global || a.kind != PickleKind::list) return not_called(shown_text(f));
    const std::string_view name = f.text;
    switch (static_cast<PickleName>(f.integer)) {
      case PickleName::ordered_dict: return make_dict(a);
      case PickleName::size:
      case PickleName::parameter:
        if (a.items.empty()) return bad("it calls " + std::string(name) + " without arguments");
        stack_.push_back(a.items[0]);
        return {};
      case PickleName::tensor: {
        std::vector<PickleRef> items = copy_items(a);
        PickleValue& tensor = make(PickleKind::tensor);
        tensor.items = std::move(items);
        tensor.text = name;
        return {};
      }
      case PickleName::inert: make_text(PickleKind::opaque, name); return {};
      case PickleName::type: break;
    }
    return not_called(printable(name));
  }
  // OrderedDict() or, of Python 2, OrderedDict([[key, value], ...]).
  Status make_dict(const PickleValue& arguments) {
    std::vector<PickleRef> flat;
    if (!arguments.items.empty()) {
      for (const PickleRef pair : out_.values[arguments.items[0]].items) {
        const PickleValue& p = out_.values[pair];
        if (p.kind != PickleKind::list || p.items.size() != 2) return bad("it makes a dict of what are no pairs");
        flat.insert(flat.end(), p.items.begin(), p.items.end());
        if ((copied_ += 2) > kMaxPickleValues) return {};  // run() says so
      }
    }
    make(PickleKind::dict).items = std::move(flat);
    return {};
  }
  // Attributes of an object: state dicts have "_metadata", which nothing here needs.
  Status build() {
    pop();
    const PickleKind kind = out_.values[peek()].kind;
    if (underflow_ || kind == PickleKind::dict || kind == PickleKind::tensor || kind == PickleKind::opaque) return {};
    return bad("it gives attributes to " + std::string(pickle_kind_name(kind)));
  }
  Status persistent() {
    const PickleRef id = pop();
    if (underflow_) return {};
    if (out_.values[id].kind != PickleKind::list) return bad("it refers to a storage that it does not describe");
    std::vector<PickleRef> items = copy_items(out_.values[id]);
    make(PickleKind::storage).items = std::move(items);
    return {};
  }

  // Memo --------------------------------------------------------------------------------------------------------------
  void put(uint64_t index) {
    const PickleRef ref = peek();
    if (!underflow_ && !cut_) memo_[index] = ref;
  }
  Status get(uint64_t index) {
    const auto found = memo_.find(index);
    if (cut_) return {};
    if (found == memo_.end()) return bad("it takes value " + std::to_string(index) + ", which it never kept");
    stack_.push_back(found->second);
    return {};
  }

  Status step(uint8_t op);
  bool step_scalar(uint8_t op);
  Status step_collection(uint8_t op);

  std::span<const std::byte> data_;
  std::string_view where_;
  size_t at_ = 0;
  bool cut_ = false, underflow_ = false, stopped_ = false;
  size_t copied_ = 0;  // items of lists that were taken into other values
  std::vector<PickleRef> stack_;
  std::unordered_map<uint64_t, PickleRef> memo_;
  Pickle out_;
};

// Numbers and texts. False for other instructions.
bool Machine::step_scalar(uint8_t op) {
  switch (op) {
    case kNone: stack_.push_back(kNoneRef); return true;
    case kNewTrue: stack_.push_back(kTrue); return true;
    case kNewFalse: stack_.push_back(kFalse); return true;
    case kBinInt: make_integer(static_cast<int32_t>(static_cast<uint32_t>(number(4)))); return true;
    case kBinInt1: make_integer(static_cast<int64_t>(number(1))); return true;
    case kBinInt2: make_integer(static_cast<int64_t>(number(2))); return true;
    case kLong1: make_long(number(1)); return true;
    case kLong4: make_long(number(4)); return true;
    case kBinFloat: make(PickleKind::real).real = real(); return true;
    // Texts of Python 2 are its byte strings.
    case kBinString:
    case kBinUnicode: make_text(PickleKind::text, take(number(4))); return true;
    case kShortBinString:
    case kShortBinUnicode: make_text(PickleKind::text, take(number(1))); return true;
    case kBinUnicode8: make_text(PickleKind::text, take(number(8))); return true;
    case kBinBytes: make_text(PickleKind::bytes, take(number(4))); return true;
    case kShortBinBytes: make_text(PickleKind::bytes, take(number(1))); return true;
    case kBinBytes8: make_text(PickleKind::bytes, take(number(8))); return true;
    default: return false;
  }
}

Status Machine::step_collection(uint8_t op) {
  switch (op) {
    case kEmptyDict: make(PickleKind::dict); return {};
    case kEmptyList:
    case kEmptySet:
    case kEmptyTuple: make(PickleKind::list); return {};
    case kTuple1: make_tuple(1); return {};
    case kTuple2: make_tuple(2); return {};
    case kTuple3: make_tuple(3); return {};
    case kTuple:
    case kList:
    case kFrozenSet: make_list(pop_mark()); return {};
    case kDict: {
      std::vector<PickleRef> items = pop_mark();
      if (items.size() % 2 != 0) return bad("it makes a dict of an odd number of values");
      make(PickleKind::dict).items = std::move(items);
      return {};
    }
    case kAppend: {
      const PickleRef item = pop();
      return extend(PickleKind::list, {item});
    }
    case kAppends:
    case kAddItems: return extend(PickleKind::list, pop_mark());
    case kSetItem: {
      const PickleRef value = pop(), key = pop();
      return extend(PickleKind::dict, {key, value});
    }
    case kSetItems: return extend(PickleKind::dict, pop_mark());
    default: break;
  }
  return refuse(ErrorCode::unsupported, "it has instruction " + std::to_string(op) + ", which weights do not need",
                kCallMend);
}

Status Machine::step(uint8_t op) {
  if (step_scalar(op)) return {};
  switch (op) {
    case kProto: {
      const uint64_t protocol = number(1);
      if (protocol > 5) return bad("it is of protocol " + std::to_string(protocol) + "; 2 to 5 are known");
      return {};
    }
    case kFrame: number(8); return {};  // a hint for readers of streams
    case kStop:
      out_.root = pop();
      stopped_ = true;
      return {};
    case kMark: stack_.push_back(kMarkRef); return {};
    case kPop:
      if (!stack_.empty() && stack_.back() == kMarkRef) {
        stack_.pop_back();
      } else {
        pop();
      }
      return {};
    case kPopMark: pop_mark(); return {};
    case kDup: stack_.push_back(peek()); return {};
    case kGlobal: {
      const std::string_view module = line(), name = line();
      return global(module, name);
    }
    case kStackGlobal: return stack_global();
    case kReduce:
    case kNewObj: return call();
    case kBuild: return build();
    case kBinPersId: return persistent();
    case kBinGet: return get(number(1));
    case kLongBinGet: return get(number(4));
    case kBinPut: put(number(1)); return {};
    case kLongBinPut: put(number(4)); return {};
    case kMemoize: put(memo_.size()); return {};
    default: return step_collection(op);
  }
}

}  // namespace

std::string_view pickle_kind_name(PickleKind kind) {
  switch (kind) {
    case PickleKind::none: return "None";
    case PickleKind::boolean: return "a truth value";
    case PickleKind::integer:
    case PickleKind::big_integer: return "an integer";
    case PickleKind::real: return "a number";
    case PickleKind::text: return "a text";
    case PickleKind::bytes: return "bytes";
    case PickleKind::list: return "a list";
    case PickleKind::dict: return "a dict";
    case PickleKind::global: return "a class or type";
    case PickleKind::storage: return "a storage";
    case PickleKind::tensor: return "a tensor";
    case PickleKind::opaque: return "an object";
  }
  return "an object";
}

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  if (dict.kind != PickleKind::dict) return nullptr;
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& k = values[dict.items[i]];
    if (k.kind == PickleKind::text && k.text == key) return &values[dict.items[i + 1]];
  }
  return nullptr;
}

Result<Pickle> read_pickle(std::span<const std::byte> data, std::string_view where) {
  return Machine(data, where).run();
}

}  // namespace chiaro
