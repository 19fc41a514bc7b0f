// The one inclusion of libfuse's and the kernel's FUSE headers, with the version of the interface we use.
#pragma once

#define FUSE_USE_VERSION 314

// The library's flag macros and the kernel's have different prefixes: both fit in one file.
#include <fuse_lowlevel.h>
#include <linux/fuse.h>
