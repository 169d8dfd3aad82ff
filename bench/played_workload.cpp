// SPDX-License-Identifier: Apache-2.0
#include "played_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace weir::bench {
namespace {

constexpr std::int64_t kBatch = 256;

struct Model {
  const char* name;
  double rate;     // iterations per second on one GPU
  double doubles;  // times as fast on twice the GPUs
  int most_gpus;
};
constexpr std::array<Model, 8> kModels{{{"resnet50", 6.0, 1.85, 16},
                                        {"bert-large", 2.4, 1.9, 32},
                                        {"gpt2-medium", 1.3, 1.92, 64},
                                        {"vit-b16", 4.1, 1.8, 16},
                                        {"llama-7b-lora", 0.9, 1.88, 32},
                                        {"whisper-small", 3.3, 1.7, 8},
                                        {"unet-diffusion", 1.8, 1.86, 32},
                                        {"deepspeech2", 5.2, 1.75, 8}}};
constexpr std::array kPurposes{"train",    "finetune", "sweep",   "ablation",
                               "baseline", "eval",     "distill", "warmup"};
constexpr std::array kPrograms{"preprocess-audio", "tokenize-shards", "render-frames",
                               "build-index",      "embed-corpus",    "merge-checkpoints"};
constexpr std::array kPeople{"anna", "bilal", "chen", "dora", "emeka", "farah", "goran", "hana"};

Curve curve_of(const Model& model) {
  std::vector<CurvePoint> points;
  double rate = model.rate;
  for (std::int32_t gpus = 1; gpus <= model.most_gpus; gpus *= 2, rate *= model.doubles)
    points.push_back({gpus, IterationRate{static_cast<std::int64_t>(rate * 1e6)}});
  return Curve{std::move(points), CurveOrigin::measured};
}

control::Submission submission_of(formats::JobDocument job) {
  control::Submission submission;
  submission.json = formats::write_job_json(job);
  submission.document = std::move(job);
  return submission;
}

Duration duration_of(double seconds) {
  return std::chrono::milliseconds{static_cast<std::int64_t>(std::max(seconds, 0.1) * 1000)};
}

}  // namespace

std::map<std::string, Curve> played_models() {
  std::map<std::string, Curve> models;
  for (const Model& model : kModels) models.emplace(model.name, curve_of(model));
  return models;
}

CurveBook played_curves() {
  CurveBook book;
  for (const Model& model : kModels)
    book.curves.emplace(CurveKey{model.name, kBatch}, curve_of(model));
  return book;
}

std::string PlayedWorkload::name_for(const std::string& what) {
  return fmt::format("{}-{}-{}-{}", kPeople[rng_.below(kPeople.size())], what,
                     kPurposes[rng_.below(kPurposes.size())], ++made_);
}

// A power of two; most jobs have the smallest that the mean allows, a few have up to eight times that.
std::int32_t PlayedWorkload::size_for(const WorkloadShape& shape) {
  constexpr double kMeanOfLarger = 3.2;  // of 2, 4 and 8 in the shares below
  const double least = std::exp2(std::floor(std::log2(std::max(shape.mean_gpus, 1.0))));
  const double larger = (shape.mean_gpus / least - 1) / (kMeanOfLarger - 1);
  auto size = static_cast<std::int32_t>(least);
  if (rng_.uniform() < larger) {
    const std::uint64_t draw = rng_.below(10);
    size *= draw < 6 ? 2 : draw < 9 ? 4 : 8;
  }
  return std::min(size, shape.most_gpus);
}

void PlayedWorkload::make_training(formats::JobDocument& job, double seconds) {
  const Model& model = kModels[rng_.below(kModels.size())];
  job.gpus = std::min(job.gpus, model.most_gpus);
  const Curve curve = curve_of(model);
  job.name = name_for(model.name);
  job.is_training = true;
  job.curve = {model.name, kBatch};
  const double rate = static_cast<double>(curve.rate_at(job.gpus).value) / 1e6;
  job.iterations = std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds * rate));
  job.is_rigid = rng_.below(5) < 2;
  job.launch.ranks = Ranks::per_gpu;
  job.launch.reports_progress = true;
  job.launch.command = {"train", model.name, fmt::format("{}", job.iterations)};
}

void PlayedWorkload::make_program(formats::JobDocument& job, double seconds) {
  job.name = name_for(kPrograms[rng_.below(kPrograms.size())]);
  job.duration = duration_of(seconds);
  job.launch.command = {"sleep", fmt::format("{:.1f}", seconds)};
}

void PlayedWorkload::set_deadline(formats::JobDocument& job, double seconds) {
  const std::uint64_t draw = rng_.below(10);
  if (draw >= 4) return;
  job.kind = draw == 3 ? DeadlineKind::soft : DeadlineKind::hard;
  job.deadline = duration_of(30 + seconds * (3 + 5 * rng_.uniform()));
}

control::Submission PlayedWorkload::next(const WorkloadShape& shape, double part) {
  formats::JobDocument job;
  job.gpus = size_for(shape);
  const double whole = shape.mean_seconds * (0.3 + 0.7 * std::min(rng_.exponential(), 4.0));
  const double seconds = std::max(0.5, whole * part);
  rng_.below(5) == 0 ? make_program(job, seconds) : make_training(job, seconds);
  set_deadline(job, seconds);
  return submission_of(std::move(job));
}

control::Submission PlayedWorkload::hopeless(const WorkloadShape& shape) {
  formats::JobDocument job;
  job.gpus = size_for(shape);
  make_program(job, 600);
  job.kind = DeadlineKind::hard;
  job.deadline = duration_of(60);
  return submission_of(std::move(job));
}

}  // namespace weir::bench
