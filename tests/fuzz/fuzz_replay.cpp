// SPDX-License-Identifier: Apache-2.0
//
// Plays the stored inputs of a fuzz target again, in any build, without libFuzzer:
//
//   fuzz_replay TARGET FOLDER
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#define WEIR_FUZZ_TARGET(name) extern "C" int replay_##name(const unsigned char*, std::size_t);
#include "fuzz_targets.inc"
#undef WEIR_FUZZ_TARGET

namespace {

struct Target {
  std::string_view name;
  int (*replay)(const unsigned char*, std::size_t);
};

constexpr Target kTargets[] = {
#define WEIR_FUZZ_TARGET(name) {#name, replay_##name},
#include "fuzz_targets.inc"
#undef WEIR_FUZZ_TARGET
};

int replay_all(const Target& target, const std::filesystem::path& folder) {
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    std::fprintf(stderr, "%s\n", entry.path().c_str());  // the last line names what crashes
    target.replay(reinterpret_cast<const unsigned char*>(input.data()), input.size());
    ++inputs;
  }
  std::printf("%zu inputs replayed\n", inputs);
  return inputs > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view name = argc == 3 ? argv[1] : "";
  for (const Target& target : kTargets)
    if (target.name == name) return replay_all(target, argv[2]);
  std::fprintf(stderr, "usage: fuzz_replay TARGET FOLDER\n");
  return 2;
}
