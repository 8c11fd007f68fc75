// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include "law/chd.h"
#define LAW chd
#define LEAST hamilton_least(params.reference)
#include "kit.h"
