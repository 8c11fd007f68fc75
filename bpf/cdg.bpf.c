// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include "law/cdg.h"
#define LAW cdg
#include "kit.h"
