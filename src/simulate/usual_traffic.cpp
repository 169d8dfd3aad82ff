// SPDX-License-Identifier: Apache-2.0
#include "simulate/usual_traffic.h"

#include <algorithm>
#include <utility>

namespace weir::simulate {

std::vector<KindTraffic> usual_traffic() {
  constexpr std::int32_t kVgg = 160'000;
  constexpr std::int32_t kResnet = 50'000;
  constexpr std::int32_t kBert = 120'000;
  const KindTraffic pangu{"pangu", 73'700, 258'000, 15'800, true};
  std::vector<KindTraffic> kinds{{"vgg16", kVgg, 0, 0, true},
                                 {"resnet50", kResnet, 0, 0, true},
                                 {"resnet101", kResnet, 0, 0, true},
                                 {"bert", kBert, 0, 0, true},
                                 pangu,
                                 // Like ResNet.
                                 {"resnet18", kResnet, 0, 0, true},
                                 {"resnet50_cifar10", kResnet, 0, 0, true},
                                 {"inception3", kResnet, 0, 0, true},
                                 {"imagenet", kResnet, 0, 0, true},
                                 {"cifar10", kResnet, 0, 0, true},
                                 {"yolov3", kResnet, 0, 0, true},
                                 // Like BERT.
                                 {"gpt2", kBert, 0, 0, true},
                                 {"speech", kBert, 0, 0, true},
                                 {"deepspeech2", kBert, 0, 0, true},
                                 {"ncf", kBert, 0, 0, true},
                                 {"", kBert, 0, 0, true}};
  // Experts, and tables of recommenders, go all to all.
  for (const char* model : {"moe", "recommendation"}) {
    kinds.push_back(pangu);
    kinds.back().model = model;
  }
  return kinds;
}

std::vector<KindTraffic> usual_traffic_but(std::vector<KindTraffic> given) {
  for (KindTraffic& usual : usual_traffic()) {
    const bool is_given = std::any_of(given.begin(), given.end(), [&](const KindTraffic& kind) {
      return kind.model == usual.model;
    });
    if (!is_given) given.push_back(std::move(usual));
  }
  return given;
}

}  // namespace weir::simulate
