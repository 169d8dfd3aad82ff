// SPDX-License-Identifier: Apache-2.0
//
// Reads how far a job is from what it prints, for scripts that know nothing of weir. The pattern is a
// piece of a line with {step}, and perhaps {loss}, where the numbers stand: "step {step} loss {loss}".
// A space stands for any number of them. A carriage return ends a line too, as progress bars have it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::engine {

struct ProgressReading {
  std::int64_t step = 0;
  std::optional<double> loss;
  friend bool operator==(const ProgressReading&, const ProgressReading&) = default;
};

class ProgressLine {
 public:
  explicit ProgressLine(std::string_view pattern);

  // The first place in the line that fits.
  std::optional<ProgressReading> find_in(std::string_view line) const;

  // Output as it comes, in portions cut anywhere. The last line that fits in what is complete now.
  std::optional<ProgressReading> append(std::string_view portion);

 private:
  struct Piece {
    enum class Kind : std::uint8_t { text, space, step, loss };
    Kind kind = Kind::text;
    std::string text;
  };
  std::optional<ProgressReading> match_at(std::string_view line, std::size_t start) const;

  std::vector<Piece> pieces_;
  std::string line_;          // begun
  bool is_too_long_ = false;  // it is, and will not be looked at
};

}  // namespace weir::engine
