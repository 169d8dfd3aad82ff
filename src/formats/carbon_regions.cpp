// SPDX-License-Identifier: Apache-2.0
#include "formats/carbon_regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <system_error>

#include "domain/nearest_name.h"
#include "formats/data_dir.h"
#include "formats/file_title.h"

namespace weir::formats {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> no_regions(const std::string& field, std::string found) {
  return bad_input(Diagnostic{{},
                              0,
                              field,
                              std::move(found),
                              "the public data: set WEIR_DATA to the folder that has "
                              "carbon/intensity, or name files of your own"});
}

std::string in_small_letters(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

Result<std::vector<CarbonRegion>> carbon_regions_in(const fs::path& folder,
                                                    const std::string& field) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator at{folder, error};
  for (; !error && at != fs::directory_iterator{}; at.increment(error)) {
    if (is_csv_name(at->path().filename().string())) files.push_back(at->path());
  }
  if (error) return no_regions(field, fmt::format("{} ({})", folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  std::map<std::string, CarbonRegion> regions;
  Diagnostics mistakes;
  for (const fs::path& file : files) {
    const std::string title = file_title(file.string());
    const std::string name = title.substr(0, title.find('_'));
    CarbonRegion& region = regions[name];
    region.name = name;
    const bool is_forecast = title.starts_with(name + "_forecast");
    const bool is_second = is_forecast ? region.forecast.has_value() : !region.series.empty();
    if (is_second) {
      mistakes.add(
          {file.string(), 0, "region", name,
           fmt::format("one {} of it in the folder", is_forecast ? "forecast" : "series")});
    } else if (is_forecast) {
      region.forecast = file;
    } else {
      region.series = file;
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  std::vector<CarbonRegion> known;
  for (auto& [name, region] : regions) {
    if (!region.series.empty()) known.push_back(std::move(region));
  }
  if (known.empty()) return no_regions(field, fmt::format("{} (no series in it)", folder.string()));
  return known;
}

Result<std::vector<CarbonRegion>> carbon_regions(const std::string& field) {
  const auto data = data_dir();
  if (!data) return no_regions(field, "");
  return carbon_regions_in(*data / "carbon" / "intensity", field);
}

Result<std::vector<CarbonRegion>> choose_regions(const std::vector<CarbonRegion>& known,
                                                 const std::vector<std::string>& names,
                                                 const std::string& field) {
  std::vector<std::string> all;
  for (const CarbonRegion& region : known) all.push_back(region.name);
  std::vector<CarbonRegion> chosen;
  std::set<std::string> taken;
  Diagnostics mistakes;
  for (const std::string& given : names) {
    const std::string name = in_small_letters(given);
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end()) {
      mistakes.add({{},
                    0,
                    field,
                    given,
                    fmt::format("one of {}{}", fmt::join(all, ", "), did_you_mean(name, all))});
    } else if (!taken.insert(name).second) {
      mistakes.add({{}, 0, field, given, "each region once"});
    } else {
      chosen.push_back(known[static_cast<std::size_t>(found - all.begin())]);
    }
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  return chosen;
}

}  // namespace weir::formats
