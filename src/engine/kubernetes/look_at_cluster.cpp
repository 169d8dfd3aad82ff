// SPDX-License-Identifier: Apache-2.0
#include "engine/kubernetes/look_at_cluster.h"

#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "observe/kubernetes/calibration.h"
#include "observe/kubernetes/durations.h"
#include "observe/kubernetes/observation_json.h"

namespace weir::engine::kubernetes {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kLearnedSchema = 1;

Error file_error(const fs::path& file, std::string found, std::string expected) {
  Diagnostics details;
  details.add({file.string(), 0, "", std::move(found), std::move(expected)});
  return {ErrorCode::failure, std::move(details)};
}

}  // namespace

class ClusterLooker::Impl {
 public:
  // Of the thread that looks.
  observe::ObserveOptions options;
  observe::LearnedDurations durations;
  observe::Calibration calibration;

  void note(PodPointer before, PodPointer after) {
    const std::lock_guard lock{mutex_};
    news_.emplace_back(std::move(before), std::move(after));
  }
  void learn_the_news() {
    std::vector<std::pair<PodPointer, PodPointer>> news;
    {
      const std::lock_guard lock{mutex_};
      news.swap(news_);
    }
    for (const auto& [before, after] : news) learn(before.get(), after);
  }

 private:
  void learn(const observe::Pod* before, const PodPointer& after) {
    if (after == nullptr) {
      if (before != nullptr) calibration.gone(before->meta.full_name());
      return;
    }
    if (before == nullptr) durations.learn_arrival(after);
    const bool was_over = before != nullptr && before->is_over();
    if (after->is_over() && !was_over) durations.learn(*after);
    const bool has_waited = before != nullptr && before->node.empty();
    if (has_waited && !after->node.empty() && after->scheduled)
      calibration.started(after->meta.full_name(), *after->scheduled);
  }

  std::mutex mutex_;
  std::vector<std::pair<PodPointer, PodPointer>> news_;
};

ClusterLooker::ClusterLooker(observe::ObserveOptions options) : impl_{std::make_unique<Impl>()} {
  impl_->options = options;
}
ClusterLooker::~ClusterLooker() = default;
ClusterLooker::ClusterLooker(ClusterLooker&&) noexcept = default;

void ClusterLooker::learn(PodPointer before, PodPointer after) {
  impl_->note(std::move(before), std::move(after));
}

ClusterLook ClusterLooker::look(const observe::ClusterObjects& objects,
                                const std::vector<SourceStatus>& sources,
                                const std::string& version) {
  impl_->learn_the_news();
  ClusterLook look;
  look.observation =
      observe::observe(objects, impl_->durations, impl_->calibration, impl_->options);
  note_predictions(look.observation, impl_->calibration);
  look.observation.version = version;
  for (const SourceStatus& source : sources) {
    look.observation.sources.push_back({std::string{info_of(source.kind).name}, source.objects,
                                        std::string{to_string(source.state)}, source.detail});
  }
  look.insight.json = to_json(look.observation);
  look.insight.gpus_fragmented = look.observation.cluster.gpus_fragmented;
  const Json all = Json::parse(look.insight.json);
  for (std::size_t i = 0; i < look.observation.pending.size(); ++i) {
    const observe::PendingObservation& pending = look.observation.pending[i];
    const std::string waits = all["pending"][i].dump();
    for (const auto& pod : pending.workload.pods) {
      TaskInsight task{pod->meta.uid, waits, std::nullopt};
      if (pending.predicted_start) task.expected_start = pending.predicted_start->median;
      look.insight.tasks.push_back(std::move(task));
    }
  }
  return look;
}

Result<void> ClusterLooker::load(const fs::path& file) {
  std::error_code failed;
  if (!fs::exists(file, failed)) return {};
  std::ifstream in{file, std::ios::binary};
  std::ostringstream text;
  text << in.rdbuf();
  if (!in)
    return tl::unexpected<Error>(file_error(file, "cannot be read", "a file weir has written"));
  const Json all = Json::parse(text.str(), nullptr, false);
  if (!all.is_object() || all.value("schema", 0) != kLearnedSchema || !all.contains("durations") ||
      !all.contains("calibration")) {
    return bad_input(Diagnostic{file.string(), 0, "", "something else",
                                "what weir learnt of a cluster; remove it to begin anew"});
  }
  auto durations = observe::LearnedDurations::from_json(all["durations"].dump(), file.string());
  if (!durations) return tl::unexpected<Error>(std::move(durations.error()));
  auto calibration = observe::Calibration::from_json(all["calibration"].dump(), file.string());
  if (!calibration) return tl::unexpected<Error>(std::move(calibration.error()));
  impl_->durations = std::move(*durations);
  impl_->calibration = std::move(*calibration);
  return {};
}

// Under another name first: a crash leaves the old file or the new one.
Result<void> ClusterLooker::save(const fs::path& file) const {
  const std::string text = Json{{"schema", kLearnedSchema},
                                {"durations", Json::parse(impl_->durations.to_json())},
                                {"calibration", Json::parse(impl_->calibration.to_json())}}
                               .dump();
  const fs::path next = file.string() + ".new";
  std::ofstream out{next, std::ios::binary};
  out << text << "\n";
  out.close();
  std::error_code failed;
  if (out) fs::rename(next, file, failed);
  if (!out || failed) {
    return tl::unexpected<Error>(
        file_error(file, failed ? failed.message() : "cannot be written", "a place to write to"));
  }
  return {};
}

}  // namespace weir::engine::kubernetes
