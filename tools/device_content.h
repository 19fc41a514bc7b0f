// What would be lost if a device were formatted.
#pragma once

#include <string_view>

#include "engine/base/result.h"
#include "tools/device_store.h"

namespace varve {

// Success when nobody would miss what is on the device: no filesystem, no partition table and no store that
// anybody recognises, or one labelled `own_label` (empty: there is no such label). Otherwise
// kInvalidArgument, with a message that says what is there, or kDeviceError.
Status CheckHoldsNothing(OpenedDevice& opened, std::string_view own_label);

}  // namespace varve
