"""A router map as stored bytes.

The bytes are the header's length, a JSON header, the centres as f32, and for each split router one
bit for each user: whether the user goes to the second half.
"""

import numpy as np
import orjson

from propagation.model import Halves, RouterMap

LENGTH_BYTES = 4


def pack_map(one: RouterMap) -> bytes:
    """Return the map as bytes."""
    header = orjson.dumps(
        {
            "through": one.through,
            "home": one.home.tolist(),
            "routers": one.routers,
            "undoes": one.undoes,
            "retired": sorted(one.retired),
            "versions": sorted(one.versions.items()),
            "centres": list(one.centres.shape),
            "start_shares": sorted(one.start_shares.items()),
            "halves": [
                (
                    router,
                    halves.first,
                    halves.second,
                    halves.larger_is_second,
                    halves.share,
                    len(halves.in_second),
                )
                for router, halves in one.halves.items()
            ],
        }
    )
    return b"".join(
        (
            len(header).to_bytes(LENGTH_BYTES),
            header,
            one.centres.astype(np.float32).tobytes(),
            *(np.packbits(halves.in_second).tobytes() for halves in one.halves.values()),
        )
    )


def unpack_map(run: int, from_epoch: int, to_epoch: int, body: bytes) -> RouterMap:
    """Return the map that `pack_map` stored as bytes."""
    start = LENGTH_BYTES + int.from_bytes(body[:LENGTH_BYTES])
    header = orjson.loads(body[LENGTH_BYTES:start])
    shape = header["centres"]
    centres = np.frombuffer(body, np.float32, shape[0] * shape[1], start).reshape(shape).copy()
    start += centres.nbytes
    halves = {}
    for router, first, second, larger_is_second, share, users in header["halves"]:
        packed = np.frombuffer(body, np.uint8, -(-users // 8), start)
        in_second = np.unpackbits(packed, count=users).astype(np.bool_)
        halves[router] = Halves(first, second, in_second, larger_is_second, share)
        start += packed.nbytes
    return RouterMap(
        run=run,
        through=header["through"],
        from_epoch=from_epoch,
        to_epoch=to_epoch,
        home=np.array(header["home"], np.int64),
        routers=header["routers"],
        centres=centres,
        retired=frozenset(header["retired"]),
        halves=halves,
        start_shares=dict(header["start_shares"]),
        versions=dict(header["versions"]),
        undoes=header["undoes"],
    )
