// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include "law/hldg.h"
#define LAW hldg
#define LEAST params.least
#include "kit.h"
