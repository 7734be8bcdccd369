// From a pickle's values to tensors with names.
#include "weights/torch.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/mapped_file.h"
#include "core/utf8_path.h"
#include "weights/printable.h"
#include "weights/tensor_list.h"
#include "weights/torch_storage.h"

namespace chiaro {
namespace {

constexpr size_t kMaxRankInFile = 32;  // above: refused; above kMaxRank: not usable
constexpr int kMaxDepth = 16;          // of dicts in dicts
constexpr size_t kMaxMetadataText = 200;
constexpr std::array<std::string_view, 4> kRoots{"state_dict", "model_state_dict", "params_ema", "params"};
constexpr std::array<std::string_view, 2> kFronts{"module.", "_orig_mod."};  // DataParallel, torch.compile

// Where the elements of a tensor lie in its storage, in elements.
struct Placed {
  std::vector<int64_t> size, stride;
  uint64_t offset = 0, count = 1, span = 0;  // span: from the first element to one past the last
  bool dense = true;
};

class Builder {
 public:
  Builder(const TorchArchive& archive, std::span<const std::byte> file, std::string_view path,
          const std::shared_ptr<const void>& owner)
      : archive_(archive),
        pickle_(archive.pickle),
        file_(file),
        path_(path),
        owner_(owner),
        name_bytes_left_(file.size() + 65'536) {}

  Result<TorchContents> build() {
    const PickleValue* root = &pickle_.top();
    if (root->kind != PickleKind::dict) {
      return refuse("it holds " + std::string(pickle_kind_name(root->kind)) + ", not a dict of tensors");
    }
    for (const std::string_view name : kRoots) {
      const PickleValue* inner = pickle_.find(pickle_.top(), name);
      if (inner == nullptr || inner->kind != PickleKind::dict) continue;
      CHIARO_TRY(note_others(pickle_.top(), name));
      root = inner;
      break;
    }
    CHIARO_TRY(walk(*root, "", 0));
    if (out_.tensors.empty() && out_.skipped.empty()) return refuse("it holds no tensors");
    take_fronts();
    CHIARO_TRY(sort());
    return std::move(out_);
  }

 private:
  Error refuse(std::string why, std::string_view mend = {}) const {
    return torch_refused(path_, ErrorCode::bad_file, std::move(why), mend);
  }
  Error refuse_tensor(const std::string& name, const std::string& why) const {
    return refuse("tensor " + printable(name) + " " + why);
  }

  // Whether another entry may be kept: hostile files hold one dict in many places.
  Status count_entry(size_t name_bytes) {
    if (++entries_ > kMaxTorchTensors || name_bytes > name_bytes_left_) return refuse("it holds too many entries");
    name_bytes_left_ -= name_bytes;
    return {};
  }
  std::string key_text(const PickleValue& key) const {
    if (key.kind == PickleKind::integer) return std::to_string(key.integer);
    return std::string(key.text);
  }
  Status note_other(const std::string& name, const PickleValue& value) {
    CHIARO_TRY(count_entry(name.size()));
    out_.others.push_back({name, std::string(pickle_kind_name(value.kind))});
    const bool plain = std::all_of(value.text.begin(), value.text.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (value.kind == PickleKind::integer) out_.metadata.emplace(name, std::to_string(value.integer));
    if (value.kind == PickleKind::real) out_.metadata.emplace(name, std::to_string(value.real));
    if (value.kind == PickleKind::text && plain && value.text.size() <= kMaxMetadataText) {
      out_.metadata.emplace(name, std::string(value.text));
    }
    return {};
  }
  // What stands beside the dict of tensors.
  Status note_others(const PickleValue& dict, std::string_view except) {
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const std::string name = key_text(pickle_[dict.items[i]]);
      if (name != except) CHIARO_TRY(note_other(name, pickle_[dict.items[i + 1]]));
    }
    return {};
  }

  Status walk(const PickleValue& dict, const std::string& prefix, int depth) {
    if (depth > kMaxDepth) return refuse("its dicts are nested more than " + std::to_string(kMaxDepth) + " deep");
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const PickleValue& value = pickle_[dict.items[i + 1]];
      const std::string name = prefix + key_text(pickle_[dict.items[i]]);
      if (value.kind == PickleKind::dict) {
        CHIARO_TRY(count_entry(name.size()));
        CHIARO_TRY(walk(value, name + ".", depth + 1));
      } else if (value.kind == PickleKind::tensor) {
        CHIARO_TRY(count_entry(name.size()));
        CHIARO_TRY(add_tensor(name, value));
      } else {
        CHIARO_TRY(note_other(name, value));
      }
    }
    return {};
  }

  Result<std::vector<int64_t>> dims(const std::string& name, PickleRef ref) const {
    const PickleValue& list = pickle_[ref];
    if (list.kind != PickleKind::list || list.items.size() > kMaxRankInFile) {
      return refuse_tensor(name, "has no shape of at most " + std::to_string(kMaxRankInFile) + " dimensions");
    }
    std::vector<int64_t> out;
    for (const PickleRef item : list.items) {
      const PickleValue& d = pickle_[item];
      if (d.kind != PickleKind::integer || d.integer < 0) return refuse_tensor(name, "has a size or stride below 0");
      out.push_back(d.integer);
    }
    return out;
  }

  Result<Placed> place(const std::string& name, const PickleValue& tensor) const {
    Placed p;
    const PickleValue& offset = pickle_[tensor.items[1]];
    if (offset.kind != PickleKind::integer || offset.integer < 0) return refuse_tensor(name, "begins nowhere");
    p.offset = static_cast<uint64_t>(offset.integer);
    CHIARO_ASSIGN(p.size, dims(name, tensor.items[2]));
    CHIARO_ASSIGN(p.stride, dims(name, tensor.items[3]));
    if (p.size.size() != p.stride.size()) return refuse_tensor(name, "has more sizes than strides, or fewer");
    constexpr uint64_t kMost = uint64_t{1} << 60;  // elements; far above any file
    uint64_t last = 0;
    for (size_t i = p.size.size(); i-- > 0;) {
      const auto size = static_cast<uint64_t>(p.size[i]), stride = static_cast<uint64_t>(p.stride[i]);
      if (size > 1 && stride != p.count) p.dense = false;
      if (size > 1 && stride > (kMost - last) / (size - 1)) return refuse_tensor(name, "reaches beyond any file");
      if (size > 1) last += stride * (size - 1);
      if (size > 0 && p.count > kMost / size) return refuse_tensor(name, "has more elements than any file");
      p.count *= size;
    }
    p.span = p.count == 0 ? 0 : last + 1;
    return p;
  }

  Status add_tensor(const std::string& name, const PickleValue& tensor) {
    const size_t needed = tensor.text == "_rebuild_tensor_v3" ? 7 : 4;
    if (tensor.items.size() < needed || pickle_[tensor.items[0]].kind != PickleKind::storage) {
      return refuse_tensor(name, "is described otherwise than PyTorch does");
    }
    CHIARO_ASSIGN(const StorageId id, read_storage_id(pickle_, pickle_[tensor.items[0]], path_));
    const TorchType* type = id.type;
    if (needed == 7) type = torch_type(pickle_[tensor.items[6]].text);
    if (type == nullptr) return refuse_tensor(name, "is of an unknown type");
    const auto storage = archive_.storages.find(id.key);
    if (storage == archive_.storages.end()) {
      return refuse_tensor(name, "lies in storage " + printable(id.key) + ", which the file does not hold");
    }
    const std::span<const std::byte> bytes = storage->second;
    if (id.elements > bytes.size() / id.type->bytes) {
      return refuse_tensor(name, "lies in storage " + printable(id.key) + " of " + std::to_string(id.elements) +
                                     " elements, but the file holds only " + std::to_string(bytes.size()) + " bytes");
    }
    CHIARO_ASSIGN(const Placed p, place(name, tensor));
    const uint64_t held = id.elements * id.type->bytes / type->bytes;
    if (p.offset > held || p.span > held - p.offset) {
      return refuse_tensor(name, "takes elements " + std::to_string(p.offset) + " to " +
                                     std::to_string(p.offset + p.span) + " of a storage of " + std::to_string(held));
    }
    return keep(name, *type, p, bytes.subspan(static_cast<size_t>(p.offset * type->bytes)));
  }

  Status keep(const std::string& name, const TorchType& type, const Placed& p, std::span<const std::byte> bytes) {
    if (!type.dtype) {
      out_.skipped.push_back({name, "unsupported dtype " + std::string(type.name)});
      return {};
    }
    if (p.size.size() > static_cast<size_t>(kMaxRank)) {
      out_.skipped.push_back({name, "rank " + std::to_string(p.size.size()) + " is above " + std::to_string(kMaxRank)});
      return {};
    }
    auto tensor = std::make_shared<TensorData>();
    tensor->name = name;
    tensor->desc = dense(*type.dtype, Shape(std::span<const int64_t>(p.size)));
    tensor->bytes = bytes.data();
    tensor->owner = owner_;
    if (!p.dense && p.count > 0) {
      const uint64_t size = p.count * type.bytes;
      if (p.count > p.span || size > file_.size() - copied_) {
        return refuse_tensor(name, "is a view that repeats elements: save the checkpoint with dense tensors");
      }
      copied_ += size;
      copy_in_order(*tensor, p, bytes);
    }
    out_.tensors.push_back(std::move(tensor));
    return {};
  }
  static void copy_in_order(TensorData& tensor, const Placed& p, std::span<const std::byte> bytes) {
    const auto width = static_cast<size_t>(unit_bytes(tensor.desc.dtype));
    auto copy = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(p.count) * width);
    TensorDesc from = tensor.desc;
    from.strides = Strides(std::span<const int64_t>(p.stride));
    for_each_element(from, [&](int64_t i, int64_t at) {
      std::memcpy(copy->data() + static_cast<size_t>(i) * width, bytes.data() + static_cast<size_t>(at) * width, width);
    });
    tensor.bytes = copy->data();
    tensor.owner = std::move(copy);
  }

  void take_fronts() {
    for (const std::string_view front : kFronts) {
      const auto has = [&](const auto& t) { return named(t).starts_with(front); };
      if (!std::all_of(out_.tensors.begin(), out_.tensors.end(), has)) continue;
      if (!std::all_of(out_.skipped.begin(), out_.skipped.end(), has)) continue;
      for (TensorDataPtr& t : out_.tensors) {
        auto renamed = std::make_shared<TensorData>(*t);
        renamed->name.erase(0, front.size());
        t = std::move(renamed);
      }
      for (SkippedTensor& s : out_.skipped) s.name.erase(0, front.size());
    }
  }
  static const std::string& named(const TensorDataPtr& tensor) { return tensor->name; }
  static const std::string& named(const SkippedTensor& tensor) { return tensor.name; }

  Status sort() {
    const auto before = [](const auto& a, const auto& b) { return named(a) < named(b); };
    std::sort(out_.tensors.begin(), out_.tensors.end(), before);
    std::sort(out_.skipped.begin(), out_.skipped.end(), before);
    std::sort(out_.others.begin(), out_.others.end(), before);
    std::vector<std::string_view> names;
    for (const TensorDataPtr& t : out_.tensors) names.push_back(t->name);
    for (const SkippedTensor& s : out_.skipped) names.push_back(s.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return {};
    return refuse("it holds tensor " + printable(*twice) + " twice");
  }

  const TorchArchive& archive_;
  const Pickle& pickle_;
  std::span<const std::byte> file_;
  std::string_view path_;
  const std::shared_ptr<const void>& owner_;
  TorchContents out_;
  size_t entries_ = 0, name_bytes_left_;
  uint64_t copied_ = 0;  // <= file_.size()
};

}  // namespace

Result<TorchContents> parse_torch(std::span<const std::byte> file, std::string_view path,
                                  const std::shared_ptr<const void>& owner) {
  CHIARO_ASSIGN(const TorchArchive archive, open_torch_archive(file, path));
  return Builder(archive, file, path, owner).build();
}

Result<TorchFile> TorchFile::open(const std::filesystem::path& path) {
  CHIARO_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  CHIARO_ASSIGN(TorchContents contents, parse_torch(file->bytes(), path_to_utf8(path), file));
  return TorchFile(path, std::make_shared<const TorchContents>(std::move(contents)));
}

TensorDataPtr TorchFile::find(std::string_view name) const {
  return find_tensor(contents_->tensors, name);
}

}  // namespace chiaro
