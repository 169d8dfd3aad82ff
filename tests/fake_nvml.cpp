// SPDX-License-Identifier: Apache-2.0
//
// A double of the NVIDIA driver's library, for machines without a driver: as many GPUs as
// FAKE_NVML_GPUS says (2), unless FAKE_NVML_ERROR is the code that initialising gives. Clocks are noted
// in the file FAKE_NVML_CALLS, or refused with FAKE_NVML_CLOCK_ERROR; each question about energy finds
// 100 J more, unless FAKE_NVML_NO_COUNTER.
#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {
int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// 0, or the code with which clocks are refused.
int note(const char* format, unsigned a, unsigned b, unsigned c) {
  const int refused = number("FAKE_NVML_CLOCK_ERROR", 0);
  const char* file = std::getenv("FAKE_NVML_CALLS");
  std::FILE* out = refused != 0 || file == nullptr ? nullptr : std::fopen(file, "a");
  if (out == nullptr) return refused;
  char line[64];
  std::snprintf(line, sizeof line, format, a, b, c);
  std::fputs(line, out);
  std::fclose(out);
  return 0;
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
const char* nvmlErrorString(int code) {
  return code == 4 ? "Insufficient Permissions" : "Unknown Error";
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
int nvmlDeviceGetMaxClockInfo(nvmlDevice_st*, int, unsigned* clock) {
  *clock = 2000;
  return 0;
}
int nvmlDeviceSetGpuLockedClocks(nvmlDevice_st* device, unsigned least, unsigned most) {
  return note("lock %u %u %u\n", device->index, least, most);
}
int nvmlDeviceResetGpuLockedClocks(nvmlDevice_st* device) {
  return note("reset %u\n", device->index, 0, 0);
}
int nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_st* device, unsigned long long* millijoules) {
  static std::atomic<unsigned long long> used[64];
  if (number("FAKE_NVML_NO_COUNTER", 0) != 0) return 3;
  *millijoules = used[device->index] += 100'000;
  return 0;
}
}
