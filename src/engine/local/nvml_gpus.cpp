// SPDX-License-Identifier: Apache-2.0
#include "engine/local/nvml_gpus.h"

#include <dlfcn.h>

#include <utility>

namespace weir::engine {
namespace {

// As NVML's documentation gives them.
using NvmlHandle = struct nvmlDevice_st*;
constexpr int kNvmlSuccess = 0;
constexpr int kSmClock = 1;
constexpr double kMillijoules = 1000;

template <class Function>
void find_function(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

class NvmlGpus final : public GpuControl {
 public:
  explicit NvmlGpus(const std::string& name)
      : library_{dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)} {
    if (library_ == nullptr) {
      problem_ = "there is no NVIDIA driver";
      return;
    }
    int (*init)() = nullptr;
    find_function(library_, "nvmlInit_v2", init);
    find_function(library_, "nvmlShutdown", shutdown_);
    find_function(library_, "nvmlErrorString", error_string_);
    find_function(library_, "nvmlDeviceGetHandleByIndex_v2", by_index_);
    find_function(library_, "nvmlDeviceGetMaxClockInfo", max_clock_);
    find_function(library_, "nvmlDeviceSetGpuLockedClocks", lock_clocks_);
    find_function(library_, "nvmlDeviceResetGpuLockedClocks", reset_clocks_);
    find_function(library_, "nvmlDeviceGetTotalEnergyConsumption", energy_);
    if (init == nullptr || error_string_ == nullptr || by_index_ == nullptr) {
      problem_ = "the NVIDIA driver is too old";
      return;
    }
    if (const int code = init(); code != kNvmlSuccess) {
      problem_ = error_string_(code);
      return;
    }
    is_open_ = true;
  }
  ~NvmlGpus() override {
    if (is_open_ && shutdown_ != nullptr) shutdown_();
    if (library_ != nullptr) dlclose(library_);
  }
  NvmlGpus(const NvmlGpus&) = delete;
  NvmlGpus& operator=(const NvmlGpus&) = delete;

  std::string set_clock(const GpuAddress& gpu, std::int32_t permille) override {
    if (!is_open_) return problem_;
    if (max_clock_ == nullptr || lock_clocks_ == nullptr || reset_clocks_ == nullptr)
      return "the NVIDIA driver is too old";
    NvmlHandle device = nullptr;
    int code = by_index_(static_cast<unsigned>(gpu.gpu), &device);
    if (code == kNvmlSuccess && permille >= 1000) {
      code = reset_clocks_(device);
    } else if (code == kNvmlSuccess) {
      unsigned highest = 0;
      code = max_clock_(device, kSmClock, &highest);
      const auto limit = static_cast<unsigned>(std::uint64_t{highest} *
                                               static_cast<std::uint64_t>(permille) / 1000);
      if (code == kNvmlSuccess) code = lock_clocks_(device, 0, limit);
    }
    return code == kNvmlSuccess ? std::string{} : std::string{error_string_(code)};
  }

  std::optional<double> joules(const GpuAddress& gpu) override {
    if (!is_open_ || energy_ == nullptr) return std::nullopt;
    NvmlHandle device = nullptr;
    unsigned long long millijoules = 0;
    if (by_index_(static_cast<unsigned>(gpu.gpu), &device) != kNvmlSuccess ||
        energy_(device, &millijoules) != kNvmlSuccess)
      return std::nullopt;
    return static_cast<double>(millijoules) / kMillijoules;
  }

 private:
  void* library_;
  bool is_open_ = false;
  std::string problem_;
  int (*shutdown_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*by_index_)(unsigned, NvmlHandle*) = nullptr;
  int (*max_clock_)(NvmlHandle, int, unsigned*) = nullptr;
  int (*lock_clocks_)(NvmlHandle, unsigned, unsigned) = nullptr;
  int (*reset_clocks_)(NvmlHandle) = nullptr;
  int (*energy_)(NvmlHandle, unsigned long long*) = nullptr;
};

}  // namespace

std::unique_ptr<GpuControl> nvml_gpus(const std::string& library) {
  return std::make_unique<NvmlGpus>(library);
}

}  // namespace weir::engine
