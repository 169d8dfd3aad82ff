// SPDX-License-Identifier: Apache-2.0
//
// Keeps predictions honest. For each pod the first prediction is kept until it starts; where the start fell within
// the predicted band then tells whether bands are too narrow, too wide or off to one side, and later ones are moved
// and stretched so that eight of ten starts fall inside.
//
//   score = (log(wait + 1 s) - log(median + 1 s)) / half-width of that side, in logarithms
//
// -1 is the predicted low end, 0 the median, 1 the high end. The 10, 50 and 90 % points of the scores, counting pods
// that still wait as not yet decided (Kaplan-Meier), become the new low end, median and high end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "domain/result.h"
#include "domain/time.h"

namespace weir::observe {

// Seconds from the moment of the prediction.
struct WaitBand {
  double low = 0;
  double median = 0;
  double high = 0;
  friend bool operator==(const WaitBand&, const WaitBand&) = default;
};

class Calibration {
 public:
  static constexpr std::size_t kKeptScores = 300;
  static constexpr std::size_t kKeptOpen = 2000;

  // Only the first prediction for a pod is kept.
  void predicted(const std::string& pod, Time at, const WaitBand& raw);
  void started(const std::string& pod, Time at);
  // It was deleted before it started.
  void gone(const std::string& pod) { open_.erase(pod); }

  WaitBand adjusted(const WaitBand& raw, Time now) const;
  // The points that become low end, median and high end: -1, 0, 1 when nothing is known.
  struct Points {
    double low = -1;
    double median = 0;
    double high = 1;
  };
  Points points(Time now) const;
  std::size_t starts_seen() const { return seen_; }

  std::string to_json() const;
  static Result<Calibration> from_json(std::string_view text, const std::string& file);

 private:
  struct Open {
    Time at;
    WaitBand raw;
  };
  std::map<std::string, Open, std::less<>> open_;
  std::deque<double> scores_;
  std::size_t seen_ = 0;
};

double score_of(double wait_seconds, const WaitBand& raw);

}  // namespace weir::observe
