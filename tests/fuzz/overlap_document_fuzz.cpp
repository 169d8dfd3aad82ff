// SPDX-License-Identifier: Apache-2.0
//
// A backward pass that sends its gradients: the document, its kernels (k.csv) and its curves (c.csv), parted by NUL bytes.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "formats/overlap_document.h"
#include "round_trip_check.h"

namespace {

namespace fs = std::filesystem;

// One for the program, gone with it.
class Folder {
 public:
  Folder()
      : path_{fs::temp_directory_path() / ("weir-fuzz-overlap-" + std::to_string(::getpid()))} {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  fs::path write(const char* name, std::string_view content) const {
    std::ofstream{path_ / name, std::ios::binary} << content;
    return path_ / name;
  }

 private:
  fs::path path_;
};

std::string_view next_part(std::string_view& text) {
  const std::string_view part = text.substr(0, text.find('\0'));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  static const Folder kFolder;
  std::string_view text = fuzz::text_of(data, size);
  const fs::path file = kFolder.write("step.yaml", next_part(text));
  kFolder.write("k.csv", next_part(text));
  kFolder.write("c.csv", text);
  const auto document = formats::read_overlap_document(file);
  fuzz::check_refusal(document);
  if (!document) return 0;
  fuzz::check(!document->kernels.empty() && !document->ctas.empty(), "there is something to plan");
  fuzz::check(document->ranks >= 2 && document->nodes.value_or(1) >= 1, "gradients go somewhere");
  for (const formats::OverlapKernelRow& kernel : document->kernels)
    fuzz::check(std::isfinite(kernel.us) && kernel.us >= 0, "a time is a number");
  return 0;
}
