"""Shared by all tests: compiled kernels are kept between runs."""

from services.kernel_cache import use_kernel_cache

use_kernel_cache()
