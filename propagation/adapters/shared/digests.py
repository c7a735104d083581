"""Short digests, which show that stored bytes were changed."""

from zlib import crc32

DIGEST_BYTES = 4


def compute_digest(data: bytes | bytearray | memoryview, *belongs_to: object) -> bytes:
    """Return a digest of bytes and of the values they belong to."""
    return crc32(data, crc32(repr(belongs_to).encode())).to_bytes(DIGEST_BYTES)
