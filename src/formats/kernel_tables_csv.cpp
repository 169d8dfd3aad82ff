// SPDX-License-Identifier: Apache-2.0
#include "formats/kernel_tables_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "formats/csv.h"
#include "formats/kernel_cells.h"

namespace weir::formats {
namespace {

constexpr std::uint64_t kMaxKernelTableBytes = std::uint64_t{256} << 20;
constexpr std::int64_t kMostKernelNames = 1'000'000;
constexpr std::int64_t kMostKernelSize = std::int64_t{1} << 40;
constexpr std::int64_t kMostKernelRow = std::int64_t{1} << 40;
constexpr std::int64_t kMostGridSide = 65'535;  // of y and z

constexpr std::array<CsvColumn, 2> kTableNameColumns{{{"kernel_id"}, {"name"}}};

// Columns of every table, then those of the family's sizes.
enum TableColumn : std::size_t {
  kTableSplit,
  kTableOp,
  kTableDevice,
  kTableLatency,
  kTableKernelId,
  kTableGx,
  kTableGy,
  kTableGz,
  kTableBx,
  kTableBy,
  kTableBz,
  kTableKernelIds,
  kTableKernelCount,
  kTableLayout,
  kTablePass,
  kTableBackend,
  kTableDtype,
  kTableOccupancy,
  kTableCpu,
  kTableRepeat,
  kTableLaunches,
  kTableRow,
  kTableFirstSize
};
constexpr std::array<CsvColumn, kTableFirstSize> kTableColumns{{{"split"},
                                                                {"op"},
                                                                {"device"},
                                                                {"latency_ms"},
                                                                {"kernel_id"},
                                                                {"gx"},
                                                                {"gy"},
                                                                {"gz"},
                                                                {"bx"},
                                                                {"by"},
                                                                {"bz"},
                                                                {"kernel_ids", false},
                                                                {"n_kernels", false},
                                                                {"layout", false},
                                                                {"pass", false},
                                                                {"backend", false},
                                                                {"dtype", false},
                                                                {"occ", false},
                                                                {"cpu_us", false},
                                                                {"repeat", false},
                                                                {"launches", false},
                                                                {"row", false, {"upstream_row"}}}};
constexpr std::array<std::string_view, 3> kGemmOps = {"linear", "mm", "bmm"};
constexpr std::array<std::string_view, 3> kGemmLayouts = {"nn", "nt", "tn"};
constexpr std::array<std::string_view, 1> kConvOps = {"conv"};
constexpr std::array<std::string_view, 1> kAttentionOps = {"sdpa"};
constexpr std::array<std::string_view, 4> kBackends = {"flash", "efficient", "cudnn", "math"};
constexpr std::array<std::string_view, 3> kImageOps = {"bn", "maxpool", "avgpool"};
constexpr std::array<std::string_view, 2> kTwoPasses = {"fwd", "bwd"};

// The words that tools/collect writes. Operators on rows may have any name, and so may the variants of a family whose column
// is not told here.
struct FamilyWords {
  KernelFamily family;
  TableColumn column;
  std::span<const std::string_view> words;
};
constexpr std::array<FamilyWords, 11> kFamilyWords{
    {{KernelFamily::gemm, kTableOp, kGemmOps},
     {KernelFamily::gemm, kTableLayout, kGemmLayouts},
     {KernelFamily::conv, kTableOp, kConvOps},
     {KernelFamily::conv, kTablePass, kConvPasses},
     {KernelFamily::conv, kTableLayout, kImageLayouts},
     {KernelFamily::attention, kTableOp, kAttentionOps},
     {KernelFamily::attention, kTablePass, kTwoPasses},
     {KernelFamily::attention, kTableBackend, kBackends},
     {KernelFamily::image, kTableOp, kImageOps},
     {KernelFamily::image, kTablePass, kTwoPasses},
     {KernelFamily::image, kTableLayout, kImageLayouts}}};

struct FamilyFile {
  KernelFamily family;
  std::string_view title;
};
constexpr std::array<FamilyFile, 5> kFamilyFiles{{{KernelFamily::gemm, "gemm"},
                                                  {KernelFamily::conv, "conv"},
                                                  {KernelFamily::attention, "attention"},
                                                  {KernelFamily::rows, "vec"},
                                                  {KernelFamily::image, "image"}}};

// Of the first line with text: without a byte order mark, quotes and a carriage return.
std::vector<std::string_view> header_cells(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  text = text.substr(0, text.find_first_of("\r\n"));
  std::vector<std::string_view> cells;
  while (!text.empty()) {
    std::string_view cell = text.substr(0, text.find(','));
    text.remove_prefix(std::min(cell.size() + 1, text.size()));
    if (cell.size() > 1 && cell.starts_with('"') && cell.ends_with('"'))
      cell = cell.substr(1, cell.size() - 2);
    cells.push_back(cell);
  }
  return cells;
}

// A file that has none of the columns is no table: one mistake says so, not one for each column. An empty file is left to
// the reader.
Result<void> check_is_table(InputFile& input, std::span<const CsvColumn> columns) {
  const auto head = input.peek();
  if (!head) return tl::unexpected(head.error());
  const auto cells = header_cells(*head);
  std::vector<std::string_view> names;
  for (const CsvColumn& column : columns) {
    if (std::find(cells.begin(), cells.end(), column.name) != cells.end()) return {};
    if (column.is_required) names.push_back(column.name);
  }
  if (cells.empty()) return {};
  const bool is_gzip_wanted = input.name().ends_with(".gz");
  return bad_input(Diagnostic{
      input.name(), 0, "content", is_gzip_wanted ? "neither gzip nor a table" : "no table",
      fmt::format("{}a first line with the columns {}",
                  is_gzip_wanted ? "a gzip file (check it with gzip -t), or " : "",
                  fmt::join(names, ","))});
}

class KernelTableReader {
 public:
  KernelTableReader(InputFile input, KernelFamily family, const std::vector<std::string>& names,
                    std::vector<KernelTable>& tables)
      : family_{family},
        names_{names},
        digests_{kernel_name_digests(names)},
        tables_{tables},
        columns_{columns_of(family)},
        table_{std::move(input), columns_} {}

  Result<void> read() {
    while (table_.next()) {
      if (table_.has(kTableRepeat) && table_.cell(kTableRepeat) == "1") continue;
      read_row();
    }
    if (!table_.mistakes().empty()) return table_.failure();
    return {};
  }

 private:
  static std::vector<CsvColumn> columns_of(KernelFamily family) {
    std::vector<CsvColumn> columns{kTableColumns.begin(), kTableColumns.end()};
    for (const std::string_view name : kernel_size_names(family)) columns.push_back({name});
    return columns;
  }

  void read_row() {
    KernelSample sample;
    const auto split = table_.choice(kTableSplit, kKernelSplits);
    const auto time = kernel_time(table_, kTableLatency);
    const bool has_call = read_call(sample.call);
    const bool has_launch = read_launch(sample.launch);
    if (!split || !time || !has_call || !has_launch) return;
    sample.is_held_out = *split == 1;
    sample.milliseconds = *time;
    if (table_.has(kTableCpu) && !table_.cell(kTableCpu).empty()) {
      const auto cpu = kernel_time(table_, kTableCpu);
      if (!cpu) return;
      sample.cpu_microseconds = *cpu;
    }
    if (table_.has(kTableRow)) {
      const auto row = table_.integer(kTableRow, 0, kMostKernelRow);
      if (!row) return;
      sample.row = *row;
      sample.is_row_told = true;
    }
    if (table_.cell(kTableDevice).empty()) {
      table_.reject(kTableDevice, "the name of the GPU");
      return;
    }
    KernelTable& table = table_of(table_.cell(kTableDevice));
    if (!sample.is_row_told) sample.row = rows_[table.device]++;
    table.samples.push_back(std::move(sample));
  }

  bool read_call(KernelCall& call) {
    call.family = family_;
    call.op = std::string{table_.cell(kTableOp)};
    call.dtype = "fp32";
    bool is_right = has_known_words();
    if (table_.has(kTableDtype)) {
      const auto dtype = table_.choice(kTableDtype, kKernelDtypes);
      is_right = is_right && dtype;
      if (dtype) call.dtype = std::string{kKernelDtypes[*dtype]};
    }
    for (const std::size_t column :
         {std::size_t{kTablePass}, std::size_t{kTableBackend}, std::size_t{kTableLayout}}) {
      if (!table_.has(column)) continue;
      if (!call.variant.empty()) call.variant += '/';
      call.variant += table_.cell(column);
    }
    bool has_sizes = true;
    for (std::size_t i = 0; i + kTableFirstSize < columns_.size(); ++i) {
      const std::int64_t least = may_be_zero(family_, i) ? 0 : 1;
      const auto size = table_.integer(kTableFirstSize + i, least, most_of(family_, i));
      has_sizes = has_sizes && size;
      call.sizes[i] = size.value_or(0);
    }
    return has_sizes && sizes_go_together(call) && is_right;
  }

  bool has_known_words() {
    bool is_right = true;
    for (const FamilyWords& one : kFamilyWords)
      if (one.family == family_ && table_.has(one.column))
        is_right = table_.choice(one.column, one.words) && is_right;
    if (family_ != KernelFamily::rows || !table_.cell(kTableOp).empty()) return is_right;
    table_.reject(kTableOp, "the name of an operator");
    return false;
  }

  bool sizes_go_together(const KernelCall& call) {
    const KernelSizes& sizes = call.sizes;
    if (family_ == KernelFamily::attention) {
      const std::int64_t heads = sizes[attention_size::heads];
      if (heads % sizes[attention_size::kv_heads] == 0) return true;
      return reject_size(attention_size::kv_heads,
                         fmt::format("a divisor of heads, which is {}", heads));
    }
    if (family_ == KernelFamily::conv)
      return filter_fits(conv_size::ksize, sizes[conv_size::ksize],
                         sizes[conv_size::insize] + 2 * sizes[conv_size::pad]);
    if (family_ != KernelFamily::image) return true;
    // Only a pooling by windows has a filter that moves.
    bool is_right = true;
    for (const std::size_t size : {std::size_t{image_size::ksize}, std::size_t{image_size::stride}})
      if (call.op == "maxpool" && sizes[size] == 0)
        is_right = reject_size(size, "1 or more for maxpool");
    return filter_fits(image_size::ksize, sizes[image_size::ksize],
                       sizes[image_size::insize] + 2 * sizes[image_size::pad]) &&
           is_right;
  }

  bool filter_fits(std::size_t size, std::int64_t filter, std::int64_t padded) {
    return filter <= padded ||
           reject_size(size, fmt::format("at most {}, the side of the padded image", padded));
  }

  bool reject_size(std::size_t size, std::string expected) {
    table_.reject(kTableFirstSize + size, std::move(expected));
    return false;
  }

  static std::int64_t most_of(KernelFamily family, std::size_t size) {
    return family == KernelFamily::attention && size == attention_size::causal ? 1
                                                                               : kMostKernelSize;
  }

  // Nothing to compute has no time per multiply-add. A batch norm or a pooling of whole images has no filter.
  static bool may_be_zero(KernelFamily family, std::size_t size) {
    if (family == KernelFamily::conv) return size == conv_size::pad;
    if (family == KernelFamily::attention) return size == attention_size::causal;
    return family == KernelFamily::image && size >= image_size::ksize;
  }

  bool read_launch(KernelLaunch& launch) {
    const auto id = table_.integer(kTableKernelId, 0, static_cast<std::int64_t>(names_.size()) - 1);
    if (!id) return false;
    launch.kernel = names_[static_cast<std::size_t>(*id)];
    if (table_.has(kTableKernelIds)) {
      const auto algorithm = kernel_sequence(table_.cell(kTableKernelIds), digests_);
      if (!algorithm) {
        table_.reject(kTableKernelIds, "kernel_id of each launch, joined by \"|\"");
        return false;
      }
      launch.algorithm = *algorithm;
    } else {
      launch.algorithm = digests_[static_cast<std::size_t>(*id)];
    }
    launch.kernels = 1 + std::count(launch.algorithm.begin(), launch.algorithm.end(), '|');
    const auto blocks = product(kTableGx, kMostGridSize, kMostLaunchBlocks);
    const auto threads = product(kTableBx, kMostBlockThreads, kMostBlockThreads);
    if (!blocks || !threads) return false;
    launch.blocks = *blocks;
    launch.threads = *threads;
    if (table_.has(kTableKernelCount)) {
      const auto kernels = table_.integer(kTableKernelCount, 0, 10'000);
      if (!kernels) return false;
      launch.kernels = std::max<std::int64_t>(1, *kernels);  // 0: the profiler lost count
    }
    if (table_.has(kTableOccupancy)) {
      const auto occupancy = table_.integer(kTableOccupancy, 0, 1024);
      if (!occupancy) return false;
      launch.occupancy = *occupancy;
    }
    return !table_.has(kTableLaunches) || read_launches(launch);
  }

  // The launch that does the arithmetic is the main one, whichever has the most threads.
  bool read_launches(KernelLaunch& launch) {
    const auto launches = listed_launches(table_, kTableLaunches, names_.size());
    if (!launches) return false;
    std::int64_t all_threads = 0;
    bool has_main = does_arithmetic(launch.kernel);
    for (const ListedLaunch& one : *launches) {
      all_threads += one.all_threads();
      if (has_main || !does_arithmetic(names_[one.kernel])) continue;
      has_main = true;
      launch.kernel = names_[one.kernel];
      launch.blocks = one.blocks;
      launch.threads = one.threads;
      launch.occupancy = one.occupancy;
    }
    launch.helper_threads = std::max<std::int64_t>(0, all_threads - launch.blocks * launch.threads);
    return true;
  }

  static bool does_arithmetic(std::string_view kernel) {
    for (const std::string_view helper :
         {"educe", "elementwise", "dot_do_o", "convert_dq", "splitkv_combine"})
      if (kernel.find(helper) != std::string_view::npos) return false;
    for (const std::string_view word :
         {"gemm", "nvjet", "fprop", "dgrad", "wgrad", "convolve", "Convolution", "fmha", "flash",
          "softmax", "SoftMax", "pool", "embedding"})
      if (kernel.find(word) != std::string_view::npos) return true;
    return false;
  }

  // The three sizes of a grid or of a block.
  std::optional<std::int64_t> product(std::size_t first, std::int64_t most_x, std::int64_t most) {
    const auto x = table_.integer(first, 1, most_x);
    const auto y = table_.integer(first + 1, 1, kMostGridSide);
    const auto z = table_.integer(first + 2, 1, kMostGridSide);
    if (!x || !y || !z) return std::nullopt;
    const auto all = launch_product({*x, *y, *z}, most);
    if (!all) table_.reject(first, fmt::format("at most {} in the three sizes together", most));
    return all;
  }

  KernelTable& table_of(std::string_view device) {
    const auto at = std::find_if(tables_.begin(), tables_.end(),
                                 [&](const KernelTable& one) { return one.device == device; });
    if (at != tables_.end()) return *at;
    return tables_.emplace_back(KernelTable{std::string{device}, {}});
  }

  KernelFamily family_;
  const std::vector<std::string>& names_;
  std::vector<std::string> digests_;  // of the names
  std::vector<KernelTable>& tables_;
  std::vector<CsvColumn> columns_;
  CsvTable table_;
  std::map<std::string, std::int64_t> rows_;  // so far, by device
};

constexpr std::array<std::string_view, 2> kTableEndings = {".csv", ".csv.gz"};
constexpr std::string_view kNamesTitle = "kernel_names";

std::optional<std::filesystem::path> kernel_table_path(const std::filesystem::path& folder,
                                                       const std::string& title) {
  for (const std::string_view ending : kTableEndings) {
    std::filesystem::path path = folder / fmt::format("{}{}", title, ending);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return path;
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::filesystem::path> kernel_table_paths(const std::filesystem::path& folder,
                                                      const std::string& prefix) {
  std::vector<std::filesystem::path> paths;
  for (const std::string_view ending : kTableEndings) {
    paths.push_back(folder / fmt::format("{}{}{}", prefix, kNamesTitle, ending));
    for (const FamilyFile& file : kFamilyFiles)
      paths.push_back(folder / fmt::format("{}{}{}", prefix, file.title, ending));
  }
  return paths;
}

Result<std::vector<std::string>> read_kernel_names(InputFile input) {
  if (const auto is_table = check_is_table(input, kTableNameColumns); !is_table)
    return tl::unexpected(is_table.error());
  CsvTable table{std::move(input), kTableNameColumns};
  std::vector<std::string> names;
  std::map<std::size_t, std::uint64_t> lines;  // of the ids
  while (table.next()) {
    const auto id = table.integer(0, 0, kMostKernelNames);
    if (!id) continue;
    const auto place = static_cast<std::size_t>(*id);
    const auto [first, is_new] = lines.try_emplace(place, table.line());
    if (!is_new) {
      table.reject(0, fmt::format("another id: line {} names this one already", first->second));
      continue;
    }
    if (place >= names.size()) names.resize(place + 1);
    names[place] = std::string{table.cell(1)};
  }
  if (!table.mistakes().empty()) return table.failure();
  return names;
}

std::vector<std::string> kernel_name_digests(const std::vector<std::string>& names) {
  std::vector<std::string> digests;
  digests.reserve(names.size());
  for (const std::string& name : names) digests.push_back(kernel_name_digest(name));
  return digests;
}

std::optional<std::string> kernel_sequence(std::string_view ids,
                                           const std::vector<std::string>& digests) {
  std::string sequence;
  const char* at = ids.data();
  const char* const end = at + ids.size();
  while (true) {
    std::size_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc{} || id >= digests.size()) return std::nullopt;
    sequence += digests[id];
    if (next == end) return sequence;
    if (*next != '|') return std::nullopt;
    sequence += '|';
    at = next + 1;
  }
}

Result<void> read_kernel_table(InputFile input, KernelFamily family,
                               const std::vector<std::string>& names,
                               std::vector<KernelTable>& tables) {
  if (auto is_table = check_is_table(input, kTableColumns); !is_table) return is_table;
  return KernelTableReader{std::move(input), family, names, tables}.read();
}

Result<std::vector<KernelTable>> read_kernel_tables(const std::filesystem::path& folder,
                                                    const std::string& prefix) {
  const auto names_path = kernel_table_path(folder, prefix + std::string{kNamesTitle});
  if (!names_path)
    return bad_input(Diagnostic{
        folder.string(), 0, prefix + "kernel_names.csv", "",
        fmt::format("{0}kernel_names.csv or {0}kernel_names.csv.gz in the folder", prefix)});
  auto names_input = InputFile::open(*names_path, kMaxKernelTableBytes);
  if (!names_input) return tl::unexpected(names_input.error());
  const auto names = read_kernel_names(std::move(*names_input));
  if (!names) return tl::unexpected(names.error());
  std::vector<KernelTable> tables;
  Diagnostics mistakes;
  for (const FamilyFile& file : kFamilyFiles) {
    const auto path = kernel_table_path(folder, prefix + std::string{file.title});
    if (!path) continue;
    auto input = InputFile::open(*path, kMaxKernelTableBytes);
    if (!input) return tl::unexpected(input.error());
    if (const auto read = read_kernel_table(std::move(*input), file.family, *names, tables); !read)
      mistakes.append(read.error().details);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (tables.empty())
    return bad_input(
        Diagnostic{folder.string(), 0, "tables", "none",
                   fmt::format("{0}gemm.csv, {0}conv.csv or {0}vec.csv in the folder", prefix)});
  std::sort(tables.begin(), tables.end(),
            [](const KernelTable& a, const KernelTable& b) { return a.device < b.device; });
  return tables;
}

}  // namespace weir::formats
