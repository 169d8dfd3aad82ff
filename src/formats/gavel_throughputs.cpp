// SPDX-License-Identifier: Apache-2.0
#include "formats/gavel_throughputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "formats/input_ranges.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"
#include "formats/rate_text.h"

namespace weir::formats {
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostWorkerKinds = 1000;
constexpr std::string_view kAlone = "null";
constexpr std::string_view kJobRule =
    "('Model (batch size 16)', 2) or ('Model', 2): a model and a number of GPUs";

struct Job {
  CurveKey key;
  std::int32_t gpus = 0;
};

// "Model (batch size 16)" or "Model".
std::optional<CurveKey> parse_model(std::string_view text) {
  constexpr std::string_view kBefore = " (batch size ";
  const std::size_t at = text.rfind(kBefore);
  std::int64_t batch = 0;
  if (at != std::string_view::npos && text.ends_with(')')) {
    std::string_view number = text.substr(at + kBefore.size());
    number.remove_suffix(1);
    const auto parsed = parse_count(number);
    if (!parsed || *parsed < 1 || *parsed > kMostGlobalBatch) return std::nullopt;
    batch = *parsed;
    text = text.substr(0, at);
  }
  if (!is_plain_name(text)) return std::nullopt;
  return CurveKey{std::string{text}, batch};
}

std::optional<Job> parse_job(std::string_view text) {
  constexpr std::string_view kOpen = "('";
  constexpr std::string_view kBetween = "', ";
  const std::size_t between = text.rfind(kBetween);
  if (!text.starts_with(kOpen) || !text.ends_with(')') || between == std::string_view::npos ||
      between < kOpen.size()) {
    return std::nullopt;
  }
  auto key = parse_model(text.substr(kOpen.size(), between - kOpen.size()));
  std::string_view number = text.substr(between + kBetween.size());
  number.remove_suffix(1);
  const auto gpus = parse_count(number);
  if (!key || !gpus || *gpus < 1 || *gpus > kMostGpusPerJob) return std::nullopt;
  return Job{std::move(*key), static_cast<std::int32_t>(*gpus)};
}

std::string gpu_of_worker(std::string_view kind) {
  std::string gpu{kind};
  const auto end = std::find(gpu.begin(), gpu.end(), '_');
  std::transform(gpu.begin(), end, gpu.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return gpu;
}

using Points = std::map<std::int32_t, IterationRate>;  // by GPUs; 0 where it does not fit

struct Worker {
  std::string kind;
  std::map<CurveKey, Points> jobs;
};

// Takes the document as the parser walks through it, so that the many rates that are not wanted are
// never stored. Levels: 0 outside, 1 among the workers, 2 among a worker's jobs, 3 among a job's
// rates; what lies deeper or under a bad key is skipped.
class GavelHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  GavelHandler(std::string file, std::string_view text) : file_{std::move(file)}, text_{text} {}

  Result<std::vector<CurveBook>> finish() {
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    std::vector<CurveBook> books;
    for (const Worker& worker : workers_) {
      CurveBook& book = books.emplace_back(CurveBook{gpu_of_worker(worker.kind), {}});
      for (const auto& [key, points] : worker.jobs) {
        std::vector<CurvePoint> measured;
        for (const auto& [gpus, rate] : points) measured.push_back({gpus, rate});
        Curve curve{std::move(measured)};
        if (!curve.empty()) book.curves.emplace(key, std::move(curve));
      }
      if (book.curves.empty()) reject(worker.kind, "without a rate", "at least one positive rate");
    }
    if (books.empty()) {
      reject("file", "without workers", "at least one kind of worker, such as \"k80\": {...}");
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return books;
  }

  bool null() override { return scalar("null"); }
  bool boolean(bool value) override { return scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return number(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(std::to_string(value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return number(text);
  }
  bool string(string_t& /*value*/) override { return scalar("text"); }
  bool binary(binary_t& /*value*/) override { return scalar("binary"); }

  bool start_object(std::size_t /*elements*/) override { return start(true); }
  bool start_array(std::size_t /*elements*/) override { return start(false); }
  bool end_object() override {
    if (skipped_ > 0) {
      --skipped_;
      return true;
    }
    if (level_ == 3 && !has_rate_) reject(path(), "", "the rate alone, such as \"null\": 4.79");
    --level_;
    return !mistakes_.full();
  }
  bool end_array() override {
    --skipped_;  // arrays are always skipped
    return true;
  }

  bool key(string_t& text) override {
    if (skipped_ > 0) return true;
    is_wanted_ = level_ == 1 ? begin_worker(text) : level_ == 2 ? begin_job(text) : text == kAlone;
    return !mistakes_.full();
  }

  bool parse_error(std::size_t position, const std::string& /*last_token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    mistakes_.add(Diagnostic{file_, static_cast<std::uint64_t>(line), "JSON",
                             text_.empty() ? "" : "malformed here", "a JSON document"});
    return false;
  }

 private:
  bool begin_worker(const std::string& kind) {
    if (!is_model_name(kind)) {
      reject("kind of worker", kind, std::string{kModelNameRule});
      return false;
    }
    const auto at = std::find_if(workers_.begin(), workers_.end(),
                                 [&](const Worker& worker) { return worker.kind == kind; });
    if (at != workers_.end()) {
      reject("kind of worker", kind, "each kind once");
      return false;
    }
    if (workers_.size() == kMostWorkerKinds) {
      reject("kind of worker", kind, fmt::format("at most {} kinds", kMostWorkerKinds));
      return false;
    }
    workers_.push_back(Worker{kind, {}});
    return true;
  }

  bool begin_job(const std::string& text) {
    job_text_ = text;
    has_rate_ = false;
    const auto job = parse_job(text);
    if (!job) {
      reject("job of " + workers_.back().kind, text, std::string{kJobRule});
      return false;
    }
    job_ = *job;
    return true;
  }

  bool number(const std::string& text) {
    if (skipped_ > 0 || level_ != 3 || !is_wanted_) return scalar(text);
    const auto parsed = parse_usable_rate(text);
    if (!parsed) {
      reject(path(), text, fmt::format("{}, or 0 where it does not fit", kRateRule));
    } else if (!workers_.back().jobs[job_.key].emplace(job_.gpus, parsed->rate).second) {
      reject(path(), text, "each job once");
    }
    has_rate_ = true;
    return !mistakes_.full();
  }

  // A value that is neither a map nor a list, nor the number that is looked for.
  bool scalar(const std::string& found) {
    if (skipped_ == 0 && is_wanted_) reject_value(found);
    return !mistakes_.full();
  }

  bool start(bool is_object) {
    if (skipped_ == 0 && is_wanted_ && is_object && level_ < 3) {
      ++level_;
      is_wanted_ = false;
      return true;
    }
    if (skipped_ == 0 && is_wanted_) reject_value(is_object ? "a map" : "a list");
    ++skipped_;
    return !mistakes_.full();
  }

  void reject_value(const std::string& found) {
    switch (level_) {
      case 0:
        return reject("file", found, "a map from kinds of worker to their jobs");
      case 1:
        return reject(workers_.back().kind, found, "a map from jobs to their rates");
      case 2:
        return reject(path(), found, "a map with the rate alone, such as {\"null\": 4.79}");
      default:
        has_rate_ = true;
        return reject(path(), found, std::string{kRateRule});
    }
  }

  // To the value at hand. The keys in it were checked, so that they may be printed.
  std::string path() const {
    const std::string_view last = level_ == 3 && is_wanted_ ? ": null" : "";
    return fmt::format("{}: {}{}", workers_.back().kind, job_text_, last);
  }

  void reject(std::string field, std::string found, std::string expected) {
    mistakes_.add(Diagnostic{file_, 0, std::move(field), std::move(found), std::move(expected)});
  }

  std::string file_;
  std::string_view text_;
  Diagnostics mistakes_;
  std::vector<Worker> workers_;
  int level_ = 0;
  std::size_t skipped_ = 0;  // how deep inside a value that is not wanted
  bool is_wanted_ = true;    // the value that follows
  Job job_;
  std::string job_text_;
  bool has_rate_ = false;
};

}  // namespace

Result<std::vector<CurveBook>> read_gavel_throughputs(InputFile input) {
  const auto text = input.read_all(kMaxJsonBytes);
  if (!text) return tl::unexpected(text.error());
  GavelHandler handler{input.name(), *text};
  nlohmann::json::sax_parse(*text, &handler);  // a false return has left its reason in the handler
  return handler.finish();
}

Result<std::vector<CurveBook>> read_gavel_throughputs(const std::filesystem::path& path) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_gavel_throughputs(std::move(*input));
}

}  // namespace weir::formats
