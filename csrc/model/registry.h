#pragma once

#include <memory>
#include <string>

#include "model/architecture.h"
#include "model/hparams.h"
#include "model/weights.h"

namespace bactrian {

/// Loads the weights of one architecture.
using ArchitectureFactory = std::unique_ptr<Architecture> (*)(const Hparams& hparams,
                                                              WeightLoader& loader);

/// The factory for general.architecture = `name`; throws Error(unsupported) naming `path`, the
/// architecture and the known ones.
ArchitectureFactory find_architecture(const std::string& name, const std::string& path);

}  // namespace bactrian
