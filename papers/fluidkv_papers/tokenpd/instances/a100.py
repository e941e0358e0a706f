"""The NVIDIA A100-80GB of sections 2, 4, 5 and 6, from its vendor's data sheet and white paper."""

MEMORY = 80 * 10**9
"""Bytes of high-bandwidth memory, which lies beside the chip."""
BANDWIDTH = 2039 * 10**9
"""Bytes a second from it."""
FLOPS = 312 * 10**12
"""16-bit operations a second, dense."""

PROCESSORS = 108
ON_CHIP = {
    "L2 cache": 40 * 2**20,
    "L1 caches and shared memory": PROCESSORS * 192 * 2**10,
    "registers": PROCESSORS * 256 * 2**10,
}
"""Bytes of static memory (SRAM)."""
