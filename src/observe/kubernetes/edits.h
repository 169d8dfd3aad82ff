// SPDX-License-Identifier: Apache-2.0
//
// Edits of Kubernetes objects as JSON Patch and as kubectl lines a person can paste.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "observe/kubernetes/explanation.h"
#include "observe/kubernetes/objects.h"

namespace weir::observe {

// One operation of a JSON Patch.
struct PatchStep {
  std::string op;  // "add" (sets, also what is there), "replace", "remove"
  std::string path;
  std::string value;  // JSON; empty for "remove"
};

// "a/b~c" as one step of a path: "a~1b~0c".
std::string path_step(std::string_view key);
std::string json_text(std::string_view text);

// Where a pod's spec is written by people: the pod itself, or the template of what made it.
struct SpecPlace {
  ObjectName object;
  std::string prefix;  // "/spec" or "/spec/template/spec"
  friend bool operator==(const SpecPlace&, const SpecPlace&) = default;
};
SpecPlace spec_place(const Pod& pod, const ClusterObjects& objects);
// Of all pods, each place once.
std::vector<SpecPlace> spec_places(const std::vector<PodPointer>& pods,
                                   const ClusterObjects& objects);

Edit patch_of(ObjectName object, const std::vector<PatchStep>& steps);
Edit removal_of(ObjectName object);
// Two patches of one object become one.
void append_edits(std::vector<Edit>& edits, const std::vector<Edit>& more);

// The kubectl line for an edit. A patch of a pod's spec or a job's template replaces the object.
std::string command_for(const Edit& edit);
// Of an object whose fields may change in place.
std::string command_in_place(const Edit& edit);

// A copy of a node under a new name, empty and without taints, as a manifest.
std::string node_manifest(const Node& node);
// A volume on the nodes' own disk, large enough for any claim, for people to adapt.
std::string volume_manifest(const std::string& name, const std::string& storage_class);
std::string volume_claim_manifest(const VolumeClaim& claim);
std::string tolerations_json(const std::vector<Toleration>& tolerations);
std::string resources_json(const Resources& resources);
std::string strings_json(const std::vector<std::string>& values);

}  // namespace weir::observe
