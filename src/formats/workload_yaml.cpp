// SPDX-License-Identifier: Apache-2.0
#include "formats/workload_yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <utility>

#include "formats/file_title.h"
#include "formats/input_ranges.h"
#include "formats/plain_name.h"
#include "formats/quantity_text.h"
#include "formats/yaml_document.h"
#include "formats/yaml_quantities.h"

namespace weir::formats {
namespace {

constexpr std::array<std::string_view, 2> kWorkloadFileKeys{"workload", "jobs"};
constexpr std::array<std::string_view, 10> kTaskKeys{
    "name", "count", "replicas", "cpus", "memory", "gpus", "share", "models", "submit", "runs"};
constexpr int kShareDecimals = 3;

std::optional<MilliGpu> parse_share(std::string_view text) {
  const auto milli = parse_decimal(text, kShareDecimals);
  if (!milli || *milli < 1 || *milli > kWholeGpu.value) return std::nullopt;
  return MilliGpu{*milli};
}

class WorkloadReader {
 public:
  WorkloadReader(const YamlDocument& document, const Cluster& cluster)
      : document_{document}, models_{cluster.models} {}

  Result<Workload> read() {
    workload_.name = file_title(document_.name());
    const YamlFields top{document_, document_.root(), "file", kWorkloadFileKeys, mistakes_};
    if (top.is_usable()) {
      read_name(top);
      read_jobs(top);
    }
    if (!mistakes_.empty()) return bad_input(std::move(mistakes_));
    return std::move(workload_);
  }

 private:
  void read_name(const YamlFields& top) {
    const auto value = top.find("workload");
    if (!value) return;
    const YamlFields fields{document_, *value, "workload", kNamingKeys, mistakes_};
    if (const auto name = fields.get("name", kPlainNameRule, plain_name)) workload_.name = *name;
  }

  void read_jobs(const YamlFields& top) {
    const auto list = top.find("jobs");
    if (!list || !list->is_list() || list->items().empty()) {
      top.reject(
          "jobs",
          "a list of jobs, such as - {name: bert, cpus: 8, memory: 64GiB, gpus: 1, runs: 2h30m}");
      return;
    }
    for (const YamlValue& item : list->items()) {
      if (mistakes_.full()) return;
      const YamlFields fields{document_, item, "job", kTaskKeys, mistakes_};
      if (fields.is_usable()) read_job(fields);
    }
  }

  void read_job(const YamlFields& fields) {
    WorkloadJob job;
    const auto name = fields.require("name", kPlainNameRule, plain_name);
    job.spec.replicas =
        static_cast<std::int32_t>(fields.integer("replicas", 1, kMostReplicas).value_or(1));
    job.spec.shape.cpu = get_cpus(fields, "cpus");
    job.spec.shape.memory = get_memory(fields, "memory");
    read_gpus(fields, job.spec.shape);
    job.timing = read_timing(fields);
    if (name) add_jobs(fields, *name, job);
  }

  void read_gpus(const YamlFields& fields, Shape& shape) {
    const auto gpus = fields.integer("gpus", 0, kMaxGpusPerNode);
    const auto share = fields.get(
        "share", "a share of one GPU from 0.001 to 1, at most three decimals", parse_share);
    shape.models = read_models(fields);
    if (fields.has("gpus") && !gpus) return;
    shape.gpu_count = static_cast<std::int32_t>(gpus.value_or(0));
    if (shape.gpu_count > 0) {
      shape.gpu_share = share.value_or(kWholeGpu);
      if (shape.gpu_count > 1 && shape.gpu_share != kWholeGpu) {
        fields.reject("share", fmt::format("1, because gpus is {}", shape.gpu_count));
      }
      return;
    }
    for (const std::string_view key : {"share", "models"}) {
      if (fields.has(key)) fields.reject(key, fmt::format("no {}, because there are no gpus", key));
    }
  }

  GpuModelSet read_models(const YamlFields& fields) {
    GpuModelSet set;
    const auto value = fields.find("models");
    if (!value) return set;
    const auto items = value->is_list() ? value->items() : std::vector<YamlValue>{*value};
    if (items.empty()) fields.reject("models", "at least one model, or no models key for any");
    for (const YamlValue& item : items) {
      const auto model = item.is_text() ? models_.find(item.text()) : std::nullopt;
      if (model) {
        set.insert(*model);
      } else {
        fields.note(item.line(), "models", item.describe(), known_models());
      }
    }
    return set;
  }

  std::string known_models() const {
    std::vector<std::string> names = models_.names();
    if (names.empty()) return "no models, because the cluster has no GPUs";
    std::sort(names.begin(), names.end());
    return fmt::format("models of the cluster: {}", fmt::join(names, ", "));
  }

  static std::optional<JobTiming> read_timing(const YamlFields& fields) {
    const auto submitted = get_duration(fields, "submit");
    const auto run_time = get_duration(fields, "runs");
    if (fields.has("submit") && !fields.has("runs")) {
      fields.reject("runs", "a duration such as 2h30m, because submit is given");
    }
    if (!run_time) return std::nullopt;
    return JobTiming{submitted.value_or(Duration{0}), *run_time};
  }

  void add_jobs(const YamlFields& fields, std::string_view name, const WorkloadJob& job) {
    const auto count = fields.integer("count", 1, kMostJobs);
    const auto wanted = static_cast<std::size_t>(count.value_or(1));
    if (wanted > kMostJobs - workload_.jobs.size()) {
      return fields.note(fields.line(), "job", std::string{name},
                         fmt::format("at most {} jobs in all", kMostJobs));
    }
    if (count && name.size() + 1 + std::to_string(*count).size() > kLongestName) {
      return fields.reject("name", kPlainNameRule);
    }
    for (std::size_t i = 1; i <= wanted; ++i) {
      WorkloadJob& added = workload_.jobs.emplace_back(job);
      added.spec.name = count ? fmt::format("{}-{}", name, i) : std::string{name};
    }
  }

  const YamlDocument& document_;
  const GpuModels& models_;
  Diagnostics mistakes_;
  Workload workload_;
};

void write_models(std::ostream& out, GpuModelSet set, const GpuModels& models) {
  if (set.accepts_any()) return;
  std::string_view separator = ", models: [";
  for (std::uint8_t id = 0; id < models.size(); ++id) {
    if (!set.contains(GpuModelId{id})) continue;
    out << separator << yaml_scalar(models.name(GpuModelId{id}));
    separator = ", ";
  }
  out << "]";
}

void write_job(std::ostream& out, const WorkloadJob& job, const GpuModels& models) {
  const Shape& shape = job.spec.shape;
  out << "  - {name: " << yaml_scalar(job.spec.name);
  if (job.spec.replicas != 1) out << ", replicas: " << job.spec.replicas;
  out << ", cpus: " << format_cpus(shape.cpu) << ", memory: " << format_memory(shape.memory);
  if (shape.gpu_count > 0) {
    out << ", gpus: " << shape.gpu_count;
    if (shape.gpu_share != kWholeGpu)
      out << ", share: " << format_decimal(shape.gpu_share.value, kShareDecimals);
    write_models(out, shape.models, models);
  }
  if (job.timing) {
    out << ", submit: " << format_duration(job.timing->submitted)
        << ", runs: " << format_duration(job.timing->run_time);
  }
  out << "}\n";
}

}  // namespace

Result<Workload> read_workload_yaml(InputFile input, const Cluster& cluster) {
  const auto document = YamlDocument::read(std::move(input));
  if (!document) return tl::unexpected(document.error());
  return WorkloadReader{*document, cluster}.read();
}

Result<Workload> read_workload_yaml(const std::filesystem::path& path, const Cluster& cluster) {
  auto input = InputFile::open(path);
  if (!input) return tl::unexpected(input.error());
  return read_workload_yaml(std::move(*input), cluster);
}

void write_workload_yaml(std::ostream& out, const Workload& workload, const Cluster& cluster) {
  if (!workload.name.empty()) out << "workload: {name: " << yaml_scalar(workload.name) << "}\n";
  out << "jobs:\n";
  for (const WorkloadJob& job : workload.jobs) write_job(out, job, cluster.models);
}

}  // namespace weir::formats
