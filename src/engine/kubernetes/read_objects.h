// SPDX-License-Identifier: Apache-2.0
//
// From the JSON of an API server to the values that weir keeps. The whole text is checked (simdjson, with UTF-8);
// of an object only the fields that matter are kept. An object with a field of a wrong type is left out and
// counted: it must not hide the others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "engine/kubernetes/resource_kinds.h"

namespace weir::engine::kubernetes {

// One page of a list.
struct ObjectPage {
  std::vector<AnyObject> objects;
  std::string version;         // of the list
  std::string continue_token;  // empty: this is the last page
  std::uint64_t mistakes = 0;  // objects left out
  std::string mistake;         // the first of them: "pods team-a/x: spec.priority is a string, ..."
};

// What the server says about itself or a request of ours: its kind Status.
struct ServerStatus {
  int code = 0;  // as in HTTP; 0: it gave none
  std::string reason;
  std::string message;
};

enum class WatchEventType : std::uint8_t { added, modified, deleted, bookmark, error };
std::string_view to_string(WatchEventType type);

struct WatchEvent {
  WatchEventType type = WatchEventType::error;
  std::string key;      // "namespace/name"; of a bookmark and an error empty
  std::string version;  // to go on from
  AnyObject object;     // none: it could not be read, or the event carries none
  std::string mistake;  // why it could not be read
  ServerStatus status;  // of an error
};

template <class Value>
using JsonResult = tl::expected<Value, std::string>;  // the error: what is wrong with the text

class ObjectReader {
 public:
  explicit ObjectReader(ResourceKind kind);
  ~ObjectReader();
  ObjectReader(ObjectReader&&) noexcept;
  ObjectReader& operator=(ObjectReader&&) noexcept;

  JsonResult<ObjectPage> page(std::string_view json);
  JsonResult<WatchEvent> event(std::string_view json);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The resources of an APIResourceList: "jobsets", "jobsets/status", ...
JsonResult<std::vector<std::string>> read_resource_names(std::string_view json);

// The body of an answer that is no success. Whatever it is, `message` is one line that can be shown.
ServerStatus read_status(std::string_view json);

}  // namespace weir::engine::kubernetes
