// SPDX-License-Identifier: Apache-2.0
//
// A double of the NVIDIA driver's library, for machines without a driver: as many GPUs as
// FAKE_NVML_GPUS says (2), unless FAKE_NVML_ERROR is the code that initialising gives.
#include <cstdio>
#include <cstdlib>

namespace {
int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}
}  // namespace

extern "C" {
struct nvmlDevice_st {
  unsigned index;
};
struct nvmlMemory_t {
  unsigned long long total, free, used;
};

int nvmlInit_v2() {
  return number("FAKE_NVML_ERROR", 0);
}
int nvmlShutdown() {
  return 0;
}
const char* nvmlErrorString(int) {
  return "Unknown Error";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(number("FAKE_NVML_GPUS", 2));
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_st** device) {
  static nvmlDevice_st devices[64];
  if (index >= 64) return 2;
  devices[index].index = index;
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetName(nvmlDevice_st*, char* name, unsigned size) {
  std::snprintf(name, size, "NVIDIA Fake 80GB");
  return 0;
}
int nvmlDeviceGetUUID(nvmlDevice_st* device, char* uuid, unsigned size) {
  std::snprintf(uuid, size, "GPU-0000-%u", device->index);
  return 0;
}
int nvmlDeviceGetMemoryInfo(nvmlDevice_st*, nvmlMemory_t* memory) {
  *memory = {80ULL << 30, 80ULL << 30, 0};
  return 0;
}
}
