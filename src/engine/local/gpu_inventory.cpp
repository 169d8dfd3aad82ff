// SPDX-License-Identifier: Apache-2.0
#include "engine/local/gpu_inventory.h"

#include <dlfcn.h>

#include <memory>
#include <utility>

namespace weir::engine {
namespace {

// The few functions of NVML that are needed, as its documentation gives them.
using Device = struct nvmlDevice_st*;
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
constexpr int kSuccess = 0;
constexpr int kDriverNotLoaded = 9;
constexpr unsigned kNameBytes = 96;

struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*by_index)(unsigned, Device*) = nullptr;
  int (*name)(Device, char*, unsigned) = nullptr;
  int (*uuid)(Device, char*, unsigned) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Nvml& nvml) {
  return find(library, "nvmlInit_v2", nvml.init) && find(library, "nvmlShutdown", nvml.shutdown) &&
         find(library, "nvmlErrorString", nvml.error_string) &&
         find(library, "nvmlDeviceGetCount_v2", nvml.count) &&
         find(library, "nvmlDeviceGetHandleByIndex_v2", nvml.by_index) &&
         find(library, "nvmlDeviceGetName", nvml.name) &&
         find(library, "nvmlDeviceGetUUID", nvml.uuid) &&
         find(library, "nvmlDeviceGetMemoryInfo", nvml.memory);
}

tl::unexpected<Error> no_answer(std::string question, std::string answer) {
  Error error{ErrorCode::unavailable, {}};
  error.details.add({"", 0, "NVIDIA driver, " + std::move(question), std::move(answer),
                     "a driver that works, or declared slots instead"});
  return tl::unexpected<Error>(std::move(error));
}

Result<std::vector<GpuDevice>> ask(const Nvml& nvml) {
  unsigned count = 0;
  if (const int code = nvml.count(&count); code != kSuccess)
    return no_answer("number of GPUs", nvml.error_string(code));
  std::vector<GpuDevice> devices;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    char name[kNameBytes] = "";
    char uuid[kNameBytes] = "";
    Memory memory{};
    int code = nvml.by_index(i, &device);
    if (code == kSuccess) code = nvml.name(device, name, sizeof name);
    if (code == kSuccess) code = nvml.uuid(device, uuid, sizeof uuid);
    if (code == kSuccess) code = nvml.memory(device, &memory);
    if (code != kSuccess) return no_answer("GPU " + std::to_string(i), nvml.error_string(code));
    devices.push_back({name, uuid, static_cast<std::int64_t>(memory.total)});
  }
  return devices;
}

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

}  // namespace

Result<std::vector<GpuDevice>> find_gpus(const std::string& library_name) {
  const std::unique_ptr<void, CloseLibrary> library{
      dlopen(library_name.c_str(), RTLD_NOW | RTLD_LOCAL)};
  if (library == nullptr) return std::vector<GpuDevice>{};
  Nvml nvml;
  if (!find_all(library.get(), nvml)) return no_answer("library " + library_name, "too old");
  const int code = nvml.init();
  if (code == kDriverNotLoaded) return std::vector<GpuDevice>{};
  if (code != kSuccess) return no_answer("start", nvml.error_string(code));
  auto devices = ask(nvml);
  nvml.shutdown();
  return devices;
}

}  // namespace weir::engine
