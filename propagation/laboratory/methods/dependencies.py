"""What results of methods depend on, and when they are stale.

A method says what its own scores depend on. All results also depend on the version of this program
and on its code, which rates the scores and computes many of them.
"""

from collections.abc import Mapping
from hashlib import blake2b
from importlib.metadata import version

import orjson

from propagation.laboratory.code_version import digest_code
from propagation.laboratory.methods.method import Dependencies, Method
from propagation.release import NAME, release

CODE = "code"
"""The name of a dependency: a digest of this program's sources. No commit changes the version."""


def list_dependencies(method: Method) -> Dependencies:
    """List what results depend on, this program's version and code included.

    Raises:
        MethodNotInstalled: The method's packages are missing.
    """
    return {NAME: release(), CODE: digest_code(), **method.depends_on}


def build_answers_version(method: Method) -> str:
    """Build the version of the answers that a model gives a method.

    It does not depend on this program's release and code: answers are kept beyond them.

    Raises:
        MethodNotInstalled: The method's packages are missing.
    """
    return build_version(method.depends_on)


def build_version(depends_on: Dependencies) -> str:
    """Build the version of results: they are stale if it differs."""
    return digest(orjson.dumps(dict(depends_on), option=orjson.OPT_SORT_KEYS))


def digest(content: str | bytes) -> str:
    """Digest a file, a prompt or settings, which are long."""
    data = content.encode() if isinstance(content, str) else content
    return blake2b(data, digest_size=16).hexdigest()


def list_own_packages(*names: str) -> Mapping[str, str]:
    """List the versions of packages that this process computes with."""
    return {name: version(name) for name in names}
