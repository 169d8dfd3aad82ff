// SPDX-License-Identifier: Apache-2.0
#include "simulate/published/published_run.h"

#include <array>
#include <bit>
#include <cassert>
#include <numeric>

#include "simulate/published/bookkeeping.h"

namespace weir::simulate::published {
namespace {

constexpr std::int32_t kLargestSize = 64;

// The size beyond which ElasticFlow's jobs are not given more GPUs: the public code's own table.
std::int32_t knee_by_table(const CurveKey& job, bool is_t4) {
  const auto batch = static_cast<std::int32_t>(job.global_batch);
  const std::string& model = job.model;
  if (is_t4) {
    if (model == "bert" || model == "cifar10") return 16;
    if (model == "deepspeech2" && batch == 320) return 32;
    if (model == "yolov3") return 4;
    return model == "ncf" ? 1 : kLargestSize;
  }
  if (model == "deepspeech2") return batch;
  if (model == "gpt2" && batch == 128) return 16;
  if (model == "gpt2" && batch == 256) return 32;
  if (model == "bert") return batch == 64 ? 8 : 16;
  if (model == "inception3" && batch == 64) return 16;
  if (model == "inception3" && batch == 128) return 32;
  if ((model == "resnet50" || model == "vgg16") && batch == 64) return 32;
  return std::min(batch, kLargestSize);
}

struct Row {
  PublishedPolicyRow shown;
  void (*run)(Bookkeeping&);
  bool has_knee = false;  // the table above limits its jobs; else every measured size is allowed
};

constexpr std::array kRows{
    Row{{"elasticflow", "as few GPUs as deadlines need; batch admission"}, run_elasticflow, true},
    Row{{"edf", "earliest deadline first on every GPU it can get; free rescales"}, run_edf},
    Row{{"tiresias", "least attained service, three queues"}, run_tiresias},
    Row{{"gandiva", "time slicing on node sets by job size"}, run_gandiva},
    Row{{"themis", "finish-time fairness in rounds; free rescales"}, run_themis},
};
constexpr auto kShown = [] {
  std::array<PublishedPolicyRow, kRows.size()> shown{};
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = kRows[i].shown;
  return shown;
}();

Bookkeeping open_book(const Row& policy, const TrainingWorkload& workload, const RateBook& rates,
                      const PublishedSetup& setup) {
  Bookkeeping book;
  book.setup = setup;
  book.rows.resize(workload.jobs.size());
  std::iota(book.rows.begin(), book.rows.end(), std::size_t{0});
  std::stable_sort(book.rows.begin(), book.rows.end(), [&](std::size_t a, std::size_t b) {
    return workload.jobs[a].submitted < workload.jobs[b].submitted;
  });
  const auto seconds = [](Time time) { return time.time_since_epoch() / std::chrono::seconds{1}; };
  for (const std::size_t row : book.rows) {
    const TrainingArrival& arrival = workload.jobs[row];
    PublishedJob job;
    job.submitted = seconds(arrival.submitted);
    job.deadline = seconds(arrival.spec.deadline);
    job.duration = arrival.stated_duration / std::chrono::seconds{1};
    job.left = static_cast<double>(arrival.spec.iterations);
    job.asked = arrival.spec.asked_gpus;
    job.rates = &rates.at(arrival.spec.curve);
    job.most = policy.has_knee
                   ? knee_by_table(arrival.spec.curve, setup.is_t4)
                   : std::min({job.rates->back().gpus, kLargestSize,
                               static_cast<std::int32_t>(arrival.spec.curve.global_batch)});
    book.jobs.push_back(job);
  }
  book.outcome.policy = policy.shown.name;
  book.outcome.jobs = static_cast<std::int64_t>(book.jobs.size());
  book.outcome.ended.resize(book.jobs.size());
  return book;
}

}  // namespace

std::span<const PublishedPolicyRow> published_policies() {
  return kShown;
}

bool is_published_size(std::int32_t gpus) {
  return gpus <= kLargestSize && std::has_single_bit(static_cast<std::uint32_t>(gpus));
}

PublishedOutcome run_as_published(std::string_view policy, const TrainingWorkload& workload,
                                  const RateBook& rates, const PublishedSetup& setup) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& candidate) {
    return candidate.shown.name == policy;
  });
  assert(row != kRows.end());
  Bookkeeping book = open_book(*row, workload, rates, setup);
  row->run(book);
  if (book.outcome.completed > 0)
    book.outcome.mean_jct_s = book.total_jct / static_cast<double>(book.outcome.completed);
  return std::move(book.outcome);
}

}  // namespace weir::simulate::published
