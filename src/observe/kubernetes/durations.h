// SPDX-License-Identifier: Apache-2.0
//
// How long pods run, learnt from those that ended: by likeness, the most specific kind of likeness first that has
// enough pods. And which pods came of late, since newcomers take room too. Bounded, updated pod by pod, kept as JSON
// between runs of the program.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "domain/result.h"
#include "domain/time.h"
#include "observe/kubernetes/objects.h"
#include "observe/kubernetes/survival.h"

namespace weir::observe {

using PodPointer = std::shared_ptr<const Pod>;

class LearnedDurations {
 public:
  static constexpr std::size_t kKeptPerLikeness = 500;
  static constexpr std::size_t kKeptLikenesses = 4000;
  static constexpr std::size_t kEnough =
      12;  // ended pods that make a kind of likeness worth asking
  static constexpr std::size_t kKeptArrivals = 400;

  // A pod that is over. Nothing is learnt from one that never ran.
  void learn(const Pod& pod);
  // A pod that was created. Only what a scheduler looks at is kept.
  void learn_arrival(const PodPointer& pod);

  std::size_t ended_pods() const { return ended_pods_; }
  const std::deque<PodPointer>& arrivals() const { return arrivals_; }

  // The seconds of pods like this one, most specific likeness first with enough of them; empty: nothing is known.
  // `likeness` says which it was.
  const std::deque<double>* like(const Pod& pod, std::string* likeness = nullptr) const;
  double mean_seconds() const;  // of all

  std::string to_json() const;
  static Result<LearnedDurations> from_json(std::string_view text, const std::string& file);

  // Kinds of likeness, most specific first.
  static std::vector<std::string> likenesses(const Pod& pod);
  // How long a pod has run: from its start (or when it was placed) to its end, or to `now`.
  static double seconds_run(const Pod& pod, Time now);

 private:
  struct Kept {
    std::deque<double> seconds;
    std::uint64_t last_learnt = 0;
  };
  void forget_the_oldest();

  std::map<std::string, Kept, std::less<>> kept_;
  std::deque<PodPointer> arrivals_;
  std::size_t ended_pods_ = 0;
};

// Survival curves for one look: what has been learnt, and the pods that run now as not yet ended.
class DurationModel {
 public:
  DurationModel(const LearnedDurations& learned, const ClusterObjects& objects);
  // Never null. Empty when nothing at all has ended.
  const Survival* of(const Pod& pod);
  bool knows_anything() const { return knows_anything_; }

 private:
  const LearnedDurations& learned_;
  std::map<std::string, std::vector<double>, std::less<>> running_;  // by likeness
  std::map<std::string, std::unique_ptr<Survival>, std::less<>> curves_;
  bool knows_anything_ = false;
};

}  // namespace weir::observe
