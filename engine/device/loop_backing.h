// Loop devices give one image two names, which the kernel's claims do not connect: the file's lock says
// nothing to who opens the loop device, and the other way round. These find the other name.
#pragma once

#include <sys/stat.h>

#include <string>

namespace varve {

// "/dev/loop3" when the file is attached to it; empty when it is to none. Blocks: reads sysfs.
std::string LoopDeviceOver(const struct stat& file);

// The path of the file under the loop device; empty when it is no loop device, or sysfs does not tell.
std::string BackingFileOf(const struct stat& device);

}  // namespace varve
