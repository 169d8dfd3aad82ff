// SPDX-License-Identifier: Apache-2.0
#include "formats/job_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

#include "domain/digits.h"
#include "domain/whole_numbers.h"
#include "formats/input_ranges.h"
#include "formats/job_fields.h"
#include "formats/job_tree.h"
#include "formats/json_string.h"
#include "formats/plain_name.h"
#include "formats/planned_model_fields.h"
#include "formats/quantity_text.h"
#include "formats/rate_text.h"
#include "formats/time_text.h"

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 26> kFields{
    "name",       "tenant",   "priority",   "command",    "directory",     "environment",
    "iterations", "model",    "batch",      "throughput", "profile",       "rigid",
    "duration",   "gpus",     "deadline",   "kind",       "ranks",         "retries",
    "grace",      "announce", "hang_after", "memory",     "progress_line", "reports_progress",
    "warm_start", "count"};
constexpr std::size_t kFieldsOfJson = kFields.size() - 1;  // a file's `count` stands last
constexpr std::array<std::string_view, 1> kFileFields{"jobs"};

constexpr std::string_view kNameRule =
    "1 to 128 letters, digits, - _ . that begin with a letter or digit and are not only digits";
// No spaces: names with one are the control plane's own.
constexpr std::string_view kModelRule =
    "a name of 1 to 253 bytes, UTF-8 without spaces and control characters, or what to plan: "
    "{config: gpt.json, batch: 256}";
constexpr std::string_view kCommandRule =
    "the program and its arguments, such as [python3, train.py], or one text for the shell";
constexpr std::string_view kRunTimeRule = "a duration of more than 0s, up to 36525d, such as 30m";
constexpr std::string_view kProgressLineRule =
    "a line of its output with {step} for the number, such as \"step {step} loss {loss}\"";
constexpr std::array<std::string_view, 3> kRankNames{"one", "per-gpu", "torchrun"};
constexpr std::size_t kMostModules = 16;
constexpr Duration kLongest = from_seconds(kMostSeconds);
constexpr std::int64_t kBytesPerMebibyte = std::int64_t{1} << 20;

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
// What a process can be given, and JSON can say.
bool is_argument_text(std::string_view text) {
  return text.find('\0') == std::string_view::npos && is_utf8(text);
}

}  // namespace

std::optional<bool> parse_truth(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<DeadlineKind> parse_deadline_kind(std::string_view text) {
  if (text == "hard") return DeadlineKind::hard;
  if (text == "soft") return DeadlineKind::soft;
  return std::nullopt;
}

bool is_tenant_name(std::string_view text) {
  const auto is_allowed = [](char c) { return is_word_character(c) || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= kLongestTenantName && is_word_character(text.front()) &&
         text.front() != '_' && std::all_of(text.begin(), text.end(), is_allowed);
}

namespace {

bool is_job_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestJobName) return false;
  const auto is_allowed = [](char c) { return is_word_character(c) || c == '-' || c == '.'; };
  return is_word_character(text.front()) && text.front() != '_' &&
         std::all_of(text.begin(), text.end(), is_allowed) &&
         !std::all_of(text.begin(), text.end(), is_digit);
}

// A text with one {step}, and at most one {loss}.
bool is_progress_line(std::string_view text) {
  const auto count = [&](std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos;
         at = text.find(what, at + what.size()))
      ++found;
    return found;
  };
  return text.size() <= kLongestName && is_argument_text(text) &&
         text.find('\n') == std::string_view::npos && count("{step}") == 1 && count("{loss}") <= 1;
}

bool is_module_name(std::string_view text) {
  if (text.empty() || text.size() > kLongestName) return false;
  char before = '.';
  for (const char c : text) {
    if (!is_word_character(c) && c != '.') return false;
    if (before == '.' && (c == '.' || is_digit(c))) return false;
    before = c;
  }
  return before != '.';
}

bool is_environment_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), is_word_character);
}

template <class Test>
auto text_that(Test test) {
  return [test](std::string_view text) -> std::optional<std::string_view> {
    if (!test(text)) return std::nullopt;
    return text;
  };
}

std::optional<JobDocument::Deadline> parse_deadline(std::string_view text) {
  if (const auto duration = parse_duration(text)) {
    if (*duration <= Duration{0} || *duration > kLongest) return std::nullopt;
    return JobDocument::Deadline{*duration};
  }
  const auto time = parse_time(text);
  if (!time || *time < Time{} || *time > Time{kLongest}) return std::nullopt;
  return JobDocument::Deadline{*time};
}

// Reads one job. Everything that is wrong is noted; the document is of use only when nothing is.
class JobReader {
 public:
  JobReader(const JobTree& tree, const JobNode& map, std::span<const std::string_view> keys,
            const std::optional<std::filesystem::path>& folder, Diagnostics& mistakes)
      : fields_{tree, map, keys, mistakes}, folder_{folder}, mistakes_{mistakes} {}

  bool is_usable() const { return fields_.is_usable(); }
  const JobFields& fields() const { return fields_; }

  JobDocument read() {
    const auto name = fields_.get("name", JobTree::is_text, kNameRule, text_that(is_job_name));
    if (!fields_.has("name")) fields_.reject("name", kNameRule);
    job_.name = name.value_or("");
    job_.tenant = fields_.get("tenant", JobTree::is_text, kTenantRule, text_that(is_tenant_name))
                      .value_or("");
    job_.priority = static_cast<std::int32_t>(
        fields_.integer("priority", -kHighestPriority, kHighestPriority).value_or(0));
    read_command();
    read_directory();
    read_environment();
    read_training();
    read_duration();
    read_gpus();
    read_deadline();
    read_running();
    return std::move(job_);
  }

 private:
  void read_command() {
    const JobNode* const node = fields_.find("command");
    if (node == nullptr) return fields_.reject("command", kCommandRule);
    std::vector<std::string>& command = job_.launch.command;
    if (JobTree::is_text(*node) && !node->text.empty()) {
      if (!is_argument(*node, "command")) return;
      command = {"/bin/sh", "-c", std::string{node->text}};
    } else if (node->kind == JobTree::Kind::list) {
      for (const JobNode* item : fields_.tree().children(*node)) {
        if (!is_argument(*item, fmt::format("command[{}]", command.size()))) return;
        command.emplace_back(item->text);
      }
      if (command.empty()) return fields_.note(*node, "command", "an empty list", kCommandRule);
      if (command.front().empty()) {
        return fields_.note(*node, "command[0]", "an empty text", "the name of a program");
      }
    } else {
      return fields_.reject("command", kCommandRule);
    }
    std::size_t bytes = 0;
    for (const std::string& argument : command) bytes += argument.size() + 1;
    if (bytes > kMaxCommandBytes) {
      fields_.note(*node, "command", fmt::format("{} bytes", bytes), "at most 128 KiB in all");
    }
  }

  bool is_argument(const JobNode& node, std::string field) const {
    if (JobTree::is_text(node) && is_argument_text(node.text)) return true;
    fields_.note(node, std::move(field), JobTree::describe(node),
                 "UTF-8 text without NUL (in JSON in quotes)");
    return false;
  }

  void read_directory() {
    const auto is_path = [](std::string_view text) {
      return text.starts_with('/') && text.size() <= kLongestPath && is_argument_text(text);
    };
    job_.launch.directory = fields_
                                .get("directory", JobTree::is_text,
                                     "an absolute path of at most 4095 bytes", text_that(is_path))
                                .value_or("");
  }

  void read_environment() {
    const JobNode* const node = fields_.find("environment");
    if (node == nullptr) return;
    if (node->kind != JobTree::Kind::map) {
      return fields_.reject("environment", "a map, such as {LR: \"0.1\"}");
    }
    const auto entries = fields_.tree().children(*node);
    if (entries.size() > kMaxEnvironmentEntries) {
      return fields_.note(*node, "environment", fmt::format("{} entries", entries.size()),
                          fmt::format("at most {}", kMaxEnvironmentEntries));
    }
    std::map<std::string_view, std::string_view> sorted;
    std::size_t bytes = 0;
    for (const JobNode* entry : entries) {
      const std::string field = fmt::format("environment.{}", shortened(entry->key));
      if (!is_environment_name(entry->key)) {
        fields_.note(*entry, "environment",
                     entry->key.empty() ? "an empty name" : shortened(entry->key),
                     "names of letters, digits and _ that do not begin with a digit");
      } else if (is_argument(*entry, field) && !sorted.emplace(entry->key, entry->text).second) {
        fields_.note(*entry, field, "given twice", "one value");
      }
      bytes += entry->key.size() + entry->text.size() + 2;
    }
    if (bytes > kMaxEnvironmentBytes) {
      fields_.note(*node, "environment", fmt::format("{} bytes", bytes), "at most 128 KiB in all");
    }
    job_.launch.environment.assign(sorted.begin(), sorted.end());
  }

  void read_training() {
    const auto iterations = fields_.integer("iterations", 1, kMostIterations);
    const auto is_model = [](std::string_view text) {
      return is_plain_name(text) && text.find(' ') == std::string_view::npos;
    };
    const bool is_planned = has_model_to_plan();
    const auto model =
        is_planned ? std::nullopt
                   : fields_.get("model", JobTree::is_text, kModelRule, text_that(is_model));
    const auto batch = fields_.integer("batch", 0, kMostGlobalBatch);
    const auto rigid = fields_.get("rigid", JobTree::is_truth, "true or false", parse_truth);
    const auto profile = fields_.get("profile", JobTree::is_truth, "true or false", parse_truth);
    read_throughput();
    job_.is_training = fields_.has("iterations");
    if (job_.is_training) {
      job_.iterations = iterations.value_or(1);
      job_.curve = {std::string{model.value_or(job_.name)}, batch.value_or(0)};
      job_.is_rigid = rigid.value_or(false);
      job_.is_to_be_profiled = profile.value_or(false);
      if (is_planned) read_model_to_plan();
      return;
    }
    if (is_planned) read_model_to_plan();
    job_.planned.reset();
    for (const std::string_view key : {"model", "batch", "throughput", "profile"}) {
      if (fields_.has(key)) fields_.reject(key, "iterations too, or none of it");
    }
    if (rigid == false) {
      fields_.reject("rigid", "iterations too: only a training job can change its size");
    }
    job_.throughput.reset();
  }

  bool has_model_to_plan() const {
    const JobNode* const node = fields_.find("model");
    return node != nullptr && node->kind == JobTree::Kind::map;
  }

  void read_model_to_plan() {
    auto model = read_planned_model(fields_.tree(), *fields_.find("model"), folder_, mistakes_);
    if (fields_.has("batch"))
      fields_.reject("batch", "it inside of model: the plan is made for it");
    if (fields_.has("throughput")) {
      fields_.reject("throughput",
                     "none beside a model to plan: state a curve, or have one planned");
    }
    if (job_.is_to_be_profiled) {
      fields_.reject("profile",
                     "none beside a model to plan: measure it first, or have it planned");
    }
    if (!model) return;
    job_.curve = std::move(model->key);
    job_.planned = std::move(model->planned);
  }

  void read_throughput() {
    const JobNode* const node = fields_.find("throughput");
    if (node == nullptr) return;
    const auto points = fields_.tree().children(*node);
    if (node->kind != JobTree::Kind::map || points.empty()) {
      return fields_.reject("throughput",
                            "a map of GPUs to iterations per second, such as {1: 2.5, 2: 4.8}");
    }
    std::vector<CurvePoint> curve;
    for (const JobNode* point : points) {
      const std::string field = fmt::format("throughput.{}", shortened(point->key));
      const auto size = parse_count(point->key);
      if (!size || !is_power_of_two(*size) || *size > kMostGpusPerJob) {
        fields_.note(*point, "throughput",
                     point->key.empty() ? "an empty size" : shortened(point->key),
                     fmt::format("sizes that are powers of two, 1 to {}", kMostGpusPerJob));
        continue;
      }
      const auto gpus = static_cast<std::int32_t>(*size);
      const auto rate = JobTree::is_number(*point) ? parse_usable_rate(point->text) : std::nullopt;
      if (!rate || rate->is_zero) {
        fields_.note(*point, field, JobTree::describe(*point), kRateRule);
      } else if (std::any_of(curve.begin(), curve.end(),
                             [&](const CurvePoint& other) { return other.gpus == gpus; })) {
        fields_.note(*point, field, "given twice", "one value");
      } else {
        curve.push_back({gpus, rate->rate});
      }
    }
    job_.throughput = Curve{std::move(curve)};
  }

  void read_duration() {
    const auto is_usable = [](std::string_view text) -> std::optional<Duration> {
      const auto duration = parse_duration(text);
      return duration && *duration > Duration{0} && *duration <= kLongest ? duration : std::nullopt;
    };
    job_.duration = fields_.get("duration", JobTree::is_text, kRunTimeRule, is_usable);
    if (job_.is_training && fields_.has("duration")) {
      fields_.reject("duration", "no duration, because iterations says how much there is to do");
    }
  }

  void read_gpus() {
    const auto gpus = fields_.integer("gpus", 1, kMostGpusPerJob);
    job_.gpus = static_cast<std::int32_t>(gpus.value_or(1));
    if (!job_.is_rigid || (fields_.has("gpus") && !gpus)) return;
    if (!is_power_of_two(job_.gpus)) {
      return fields_.reject("gpus", "a power of two, because it runs on exactly these");
    }
    if (job_.throughput && !job_.throughput->empty() &&
        job_.throughput->rate_at(job_.gpus).value == 0) {
      fields_.reject("gpus", "a size that throughput has, because it runs on exactly these");
    }
  }

  void read_deadline() {
    const auto deadline = fields_.get("deadline", JobTree::is_text, kTimeRule, parse_deadline);
    const auto kind = fields_.get("kind", JobTree::is_text, "hard or soft", parse_deadline_kind);
    if (!fields_.has("deadline")) {
      if (kind) fields_.reject("kind", "no kind, because there is no deadline");
      return;
    }
    job_.deadline = deadline.value_or(JobDocument::Deadline{});
    job_.kind = kind.value_or(DeadlineKind::hard);
    if (!job_.is_training && !fields_.has("duration")) {
      fields_.reject("duration",
                     "how long it takes, such as 30m, or iterations, because there is a deadline");
    }
  }

  void read_running() {
    read_ranks();
    read_progress();
    job_.retries =
        static_cast<std::int32_t>(fields_.integer("retries", 0, kMostRetries).value_or(0));
    const auto up_to_a_day = [](std::string_view text) -> std::optional<Duration> {
      const auto duration = parse_duration(text);
      return duration && *duration <= kLongestGrace ? duration : std::nullopt;
    };
    constexpr std::string_view kRule = "a duration up to 1d, such as 10s";
    job_.launch.grace = fields_.get("grace", JobTree::is_text, kRule, up_to_a_day);
    job_.launch.announce =
        fields_.get("announce", JobTree::is_text, kRule, up_to_a_day).value_or(Duration{0});
    read_warm_start();
    read_memory();
  }

  void read_ranks() {
    const auto parse = [](std::string_view text) -> std::optional<Ranks> {
      for (std::size_t i = 0; i < kRankNames.size(); ++i) {
        if (kRankNames[i] == text) return static_cast<Ranks>(i);
      }
      return std::nullopt;
    };
    job_.launch.ranks =
        fields_.get("ranks", JobTree::is_text, "one, per-gpu or torchrun", parse).value_or(Ranks{});
    if (job_.launch.ranks != Ranks::torchrun) return;
    const std::vector<std::string>& command = job_.launch.command;
    const auto is_torchrun = [](std::string_view word) {
      return word == "torchrun" || word.ends_with("/torchrun") || word == "torch.distributed.run" ||
             word == "torch.distributed.launch";
    };
    if (!command.empty() && std::none_of(command.begin(), command.end(), is_torchrun)) {
      fields_.reject("ranks", "a command that is torchrun, or ranks: per-gpu: weir then does it");
    }
    const auto is_count = [](std::string_view word) {
      return word.starts_with("--nproc-per-node") || word.starts_with("--nproc_per_node") ||
             word.starts_with("--nnodes");
    };
    const auto count = std::find_if(command.begin(), command.end(), is_count);
    if (count != command.end()) {
      fields_.note(*fields_.find("command"), "command", shortened(*count),
                   "a command without it: weir says how many");
    }
  }

  void read_progress() {
    const auto says =
        fields_.get("reports_progress", JobTree::is_truth, "true or false", parse_truth);
    const auto line = fields_.get("progress_line", JobTree::is_text, kProgressLineRule,
                                  text_that(is_progress_line));
    job_.launch.progress_line = line.value_or("");
    job_.launch.reports_progress = says.value_or(false) || fields_.has("progress_line");
    if (says == false && fields_.has("progress_line")) {
      fields_.reject("reports_progress", "true, because progress_line says how");
    }
    const auto usable = [](std::string_view text) -> std::optional<Duration> {
      const auto duration = parse_duration(text);
      return duration && *duration > Duration{0} && *duration <= kLongestGrace ? duration
                                                                               : std::nullopt;
    };
    job_.launch.hang_after = fields_.get(
        "hang_after", JobTree::is_text, "a duration of more than 0s, up to 1d, such as 5m", usable);
    if (job_.launch.reports_progress) return;
    if (fields_.has("hang_after")) {
      fields_.reject("hang_after",
                     "reports_progress: true, or a progress_line: else nobody sees it");
    }
    if (job_.is_to_be_profiled) {
      fields_.reject("profile",
                     "reports_progress: true, or a progress_line: else there is nothing "
                     "to measure");
    }
  }

  void read_warm_start() {
    const JobNode* const node = fields_.find("warm_start");
    if (node == nullptr) return;
    const auto modules = fields_.tree().children(*node);
    const auto is_module = [](const JobNode* item) {
      return JobTree::is_text(*item) && is_module_name(item->text);
    };
    if (node->kind != JobTree::Kind::list || modules.empty() || modules.size() > kMostModules ||
        !std::all_of(modules.begin(), modules.end(), is_module)) {
      return fields_.reject("warm_start", "1 to 16 modules of Python to import, such as [torch]");
    }
    for (const JobNode* item : modules) job_.launch.warm_start.emplace_back(item->text);
    const std::vector<std::string>& command = job_.launch.command;
    if (command.empty()) return;  // noted
    const std::string_view program = command.front();
    if (!program.substr(program.rfind('/') + 1).starts_with("python")) {
      fields_.reject("warm_start", "a command that begins with python3 and a script");
    }
  }

  void read_memory() {
    const auto memory = [](std::string_view text) -> std::optional<Mebibytes> {
      const auto amount = parse_memory(text);
      return amount && *amount > Mebibytes{0} && *amount <= kMostMemory ? amount : std::nullopt;
    };
    job_.launch.memory_limit_bytes =
        fields_
            .get("memory", JobTree::is_text, "an amount of whole MiB, such as 512MiB or 4GiB",
                 memory)
            .value_or(Mebibytes{0})
            .value *
        kBytesPerMebibyte;
  }

  JobFields fields_;
  const std::optional<std::filesystem::path>& folder_;
  Diagnostics& mistakes_;
  JobDocument job_;
};

Result<JobDocument> read_only_job(const JobTree& tree) {
  Diagnostics mistakes;
  const std::optional<std::filesystem::path> no_files;
  JobReader reader{tree, tree.root(), job_field_names(), no_files, mistakes};
  if (!reader.is_usable()) return bad_input(std::move(mistakes));
  JobDocument job = reader.read();
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return job;
}

// The jobs of a file; names are of one job only.
class FileReader {
 public:
  FileReader(const JobTree& tree, const std::optional<std::filesystem::path>& folder)
      : tree_{tree}, folder_{folder} {}

  Result<std::vector<PlacedJob>> read() {
    const JobNode& root = tree_.root();
    const auto members = tree_.children(root);
    const bool is_list = root.kind == JobTree::Kind::map && !members.empty() &&
                         std::any_of(members.begin(), members.end(),
                                     [](const JobNode* each) { return each->key == "jobs"; });
    if (is_list) {
      read_list(root);
    } else {
      read_job(root);
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(jobs_);
  }

 private:
  void read_list(const JobNode& root) {
    const JobFields top{tree_, root, kFileFields, mistakes_};
    const JobNode& list = *top.find("jobs");
    const auto items = tree_.children(list);
    if (list.kind != JobTree::Kind::list || items.empty()) {
      return top.reject("jobs",
                        "a list of jobs, such as - {name: bert, command: [python3, "
                        "train.py]}");
    }
    for (const JobNode* item : items) {
      if (mistakes_.full()) return;
      read_job(*item);
    }
  }

  void read_job(const JobNode& node) {
    JobReader reader{tree_, node, kFields, folder_, mistakes_};
    if (!reader.is_usable()) return;
    const JobFields& fields = reader.fields();
    const JobDocument job = reader.read();
    const auto count = fields.integer("count", 1, kMostJobsPerFile);
    const auto wanted = static_cast<std::size_t>(count.value_or(1));
    if (wanted > kMostJobsPerFile - jobs_.size()) {
      return fields.note(node, "job", job.name,
                         fmt::format("at most {} jobs in a file", kMostJobsPerFile));
    }
    if (count && job.name.size() + 1 + std::to_string(*count).size() > kLongestJobName) {
      return fields.reject("name", kNameRule);
    }
    const auto place = place_of(node);
    for (std::size_t i = 1; i <= wanted && !mistakes_.full(); ++i) {
      JobDocument& added = jobs_.emplace_back(PlacedJob{job, place}).job;
      if (count) added.name = fmt::format("{}-{}", job.name, i);
      if (job.name.empty()) continue;  // noted
      const auto [at, is_new] = line_of_name_.emplace(added.name, node.line);
      if (is_new) continue;
      return fields.note(node, "name", added.name,
                         fmt::format("another name: line {} has this one", at->second));
    }
  }

  std::shared_ptr<const JobPlace> place_of(const JobNode& job) const {
    JobPlace place{tree_.source_name(), job.line, {}};
    for (const JobNode* field : tree_.children(job))
      place.lines.emplace(std::string{field->key}, field->line);
    return std::make_shared<const JobPlace>(std::move(place));
  }

  const JobTree& tree_;
  const std::optional<std::filesystem::path>& folder_;
  Diagnostics mistakes_;
  std::vector<PlacedJob> jobs_;
  std::unordered_map<std::string, std::uint64_t> line_of_name_;
};

Result<std::vector<PlacedJob>> read_placed(InputFile input,
                                           const std::optional<std::filesystem::path>& folder) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  const JobTree tree = JobTree::from_yaml(*document);
  return FileReader{tree, folder}.read();
}

// Appends `,"key":` and leaves the value to the caller.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_{out} { out_ += '{'; }
  ~ObjectWriter() { out_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  void key(std::string_view name) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    append_json_string(out_, name);
    out_ += ':';
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    append_json_string(out_, value);
  }
  void number(std::string_view name, std::int64_t value) {
    key(name);
    const fmt::format_int digits{value};
    out_.append(digits.data(), digits.size());
  }
  void truth(std::string_view name, bool value) {
    key(name);
    out_ += value ? "true" : "false";
  }

 private:
  std::string& out_;
  bool is_first_ = true;
};

void append_list(std::string& out, const std::vector<std::string>& texts) {
  char before = '[';
  for (const std::string& text : texts) {
    out += before;
    before = ',';
    append_json_string(out, text);
  }
  out += ']';
}

void write_training(std::string& out, ObjectWriter& object, const JobDocument& job) {
  constexpr int kMicroDecimals = 6;
  object.number("iterations", job.iterations);
  if (job.planned) {
    object.key("model");
    out += write_planned_model(*job.planned, job.curve.global_batch);
  } else {
    if (job.curve.model != job.name) object.text("model", job.curve.model);
    if (job.curve.global_batch != 0) object.number("batch", job.curve.global_batch);
  }
  if (job.throughput) {
    object.key("throughput");
    ObjectWriter points{out};
    for (const CurvePoint& point : job.throughput->measured()) {
      points.key(fmt::format_int{point.gpus}.c_str());
      out += format_decimal(point.rate.value, kMicroDecimals);
    }
  }
  if (job.is_to_be_profiled) object.truth("profile", true);
  if (job.is_rigid) object.truth("rigid", true);
}

}  // namespace

std::span<const std::string_view> job_field_names() {
  return std::span{kFields}.first(kFieldsOfJson);
}

Result<JobDocument> read_job_json(std::string_view text, std::string source_name) {
  const auto tree = JobTree::from_json(text, std::move(source_name), kMaxJobJsonDepth);
  if (!tree) return tl::unexpected(tree.error());
  return read_only_job(*tree);
}

std::uint64_t JobPlace::line_of(std::string_view field) const {
  const auto found = lines.find(field.substr(0, field.find('.')));
  return found == lines.end() ? line : found->second;
}

Result<std::vector<JobDocument>> read_job_yaml(InputFile input,
                                               const std::optional<std::filesystem::path>& folder) {
  auto placed = read_placed(std::move(input), folder);
  if (!placed) return tl::unexpected(std::move(placed.error()));
  std::vector<JobDocument> jobs;
  for (PlacedJob& each : *placed) jobs.push_back(std::move(each.job));
  return jobs;
}

Result<std::vector<PlacedJob>> read_placed_jobs(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_placed(std::move(*input), path.parent_path());
}

Result<std::vector<JobDocument>> read_job_yaml(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_job_yaml(std::move(*input), path.parent_path());
}

Result<JobDocument> read_one_job_yaml(InputFile input) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  const JobTree tree = JobTree::from_yaml(*document);
  for (const JobNode* member : tree.children(tree.root())) {
    const bool is_several = member->key == "jobs" || member->key == "count";
    if (tree.root().kind != JobTree::Kind::map || !is_several) continue;
    return bad_input(Diagnostic{tree.source_name(), member->line, std::string{member->key},
                                shortened(JobTree::describe(*member)),
                                "one job; send each in a request of its own"});
  }
  return read_only_job(tree);
}

std::string write_job_json(const JobDocument& job) {
  std::string out;
  {
    ObjectWriter object{out};
    object.text("name", job.name);
    if (!job.tenant.empty()) object.text("tenant", job.tenant);
    if (job.priority != 0) object.number("priority", job.priority);
    object.key("command");
    append_list(out, job.launch.command);
    if (!job.launch.directory.empty()) object.text("directory", job.launch.directory);
    if (!job.launch.environment.empty()) {
      object.key("environment");
      ObjectWriter environment{out};
      for (const auto& [name, value] : job.launch.environment) environment.text(name, value);
    }
    if (job.is_training) write_training(out, object, job);
    if (job.duration) object.text("duration", format_duration(*job.duration));
    if (job.gpus != 1) object.number("gpus", job.gpus);
    if (const auto* after = std::get_if<Duration>(&job.deadline)) {
      object.text("deadline", format_duration(*after));
    } else if (const auto* time = std::get_if<Time>(&job.deadline)) {
      object.text("deadline", format_time(*time));
    }
    if (job.kind == DeadlineKind::soft) object.text("kind", "soft");
    if (job.launch.ranks != Ranks::one)
      object.text("ranks", kRankNames[static_cast<std::size_t>(job.launch.ranks)]);
    if (!job.launch.progress_line.empty()) {
      object.text("progress_line", job.launch.progress_line);
    } else if (job.launch.reports_progress) {
      object.truth("reports_progress", true);
    }
    if (job.retries != 0) object.number("retries", job.retries);
    if (job.launch.grace) object.text("grace", format_duration(*job.launch.grace));
    if (job.launch.announce > Duration{0})
      object.text("announce", format_duration(job.launch.announce));
    if (job.launch.hang_after) object.text("hang_after", format_duration(*job.launch.hang_after));
    if (!job.launch.warm_start.empty()) {
      object.key("warm_start");
      append_list(out, job.launch.warm_start);
    }
    if (job.launch.memory_limit_bytes != 0) {
      object.text("memory",
                  format_memory(Mebibytes{job.launch.memory_limit_bytes / kBytesPerMebibyte}));
    }
  }
  return out;
}

}  // namespace weir::formats
