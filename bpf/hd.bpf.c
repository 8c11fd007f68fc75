// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include "law/hd.h"
#define LAW hd
#define LEAST hamilton_least(params.reference)
#include "kit.h"
