// SPDX-License-Identifier: Apache-2.0
//
// What an API server sends, read as every kind: a page of a list, an event, a status, what a group has.
#include "engine/kubernetes/read_objects.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  using namespace weir::engine::kubernetes;
  const std::string_view text = fuzz::text_of(data, size);
  for (const ResourceKindInfo& info : resource_kinds()) {
    ObjectReader reader{info.kind};
    if (const auto page = reader.page(text)) {
      fuzz::check(!page->version.empty(), "a list has a version");
      fuzz::check((page->mistakes == 0) == page->mistake.empty(), "what is left out has a reason");
      for (const AnyObject& object : page->objects) {
        fuzz::check(meta_of(object) != nullptr && !meta_of(object)->name.empty(),
                    "an object has a name");
      }
    } else {
      fuzz::check(!page.error().empty(), "a refusal has a reason");
    }
    if (const auto event = reader.event(text)) {
      const bool is_object =
          event->type != WatchEventType::error && event->type != WatchEventType::bookmark;
      fuzz::check(!is_object || (meta_of(event->object) == nullptr) == !event->mistake.empty(),
                  "an event has an object or a reason");
      fuzz::check(
          meta_of(event->object) == nullptr || meta_of(event->object)->full_name() == event->key,
          "the key is the object's");
    }
  }
  static_cast<void>(read_resource_names(text));
  fuzz::check(read_status(text).message.find('\n') == std::string::npos, "a status is one line");
  return 0;
}
