// SPDX-License-Identifier: Apache-2.0
//
// Names of kernels, then a table of timed ones, parted by a NUL byte. The table is read as each family, and its rows are given to what a
// fit sees of them.
#include <algorithm>
#include <cmath>

#include "formats/kernel_tables_csv.h"
#include "predict/kernels/kernel_features.h"
#include "predict/kernels/launch_sketch.h"
#include "round_trip_check.h"

namespace {

// A fit sorts and divides by them.
void check_features(const weir::KernelSample& sample) {
  using namespace weir;
  KernelModel model;
  model.device.sms = 100;
  const LaunchSketch sketch = predict::sketch_of(sample.call, sample.launch, model.device.sms);
  const auto work = predict::kernel_work(sample.call);
  const auto features = predict::kernel_features(
      sample.call, sketch, predict::launch_size(sketch, work, sample.launch), model);
  for (const double column : features.columns)
    fuzz::check(std::isfinite(column) && column >= 0, "columns of work are finite");
  for (const float feature :
       predict::tree_features(sample.call, sketch, features, sample.milliseconds * 1e-3, model))
    fuzz::check(std::isfinite(feature), "what trees see is finite");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  std::string_view text = fuzz::text_of(data, size);
  const std::string_view names_text = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(names_text.size() + 1, text.size()));
  auto input = formats::InputFile::from_memory("kernel_names.csv", names_text);
  if (!input) return 0;
  const auto names = formats::read_kernel_names(std::move(*input));
  fuzz::check_refusal(names);
  if (!names) return 0;
  for (std::size_t family = 0; family < kKernelFamilyNames.size(); ++family) {
    auto table = formats::InputFile::from_memory("table.csv", text);
    if (!table) return 0;
    std::vector<KernelTable> tables;
    const auto read = formats::read_kernel_table(std::move(*table),
                                                 static_cast<KernelFamily>(family), *names, tables);
    fuzz::check_refusal(read);
    if (!read) continue;
    for (const KernelTable& one : tables) {
      fuzz::check(!one.device.empty() && !one.samples.empty(), "a device has samples");
      for (const KernelSample& sample : one.samples) {
        fuzz::check(std::isfinite(sample.milliseconds) && sample.milliseconds > 0, "time passes");
        fuzz::check(sample.launch.kernels >= 1, "a call launches a kernel");
        check_features(sample);
      }
    }
  }
  return 0;
}
