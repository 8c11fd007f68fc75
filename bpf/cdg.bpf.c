// SPDX-License-Identifier: GPL-2.0
#include "vmlinux.h"
#include "law/cdg.h"
#define LAW cdg
#define LEAST cdg_least(&params)
#include "kit.h"
