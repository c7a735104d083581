"""The process that measures ranking quality for the demo.

`python -m services.demo.data.quality_process SEED [FOLDER]` prints the report as JSON, or a line
that says why there is none.
"""

import asyncio
import sys
from pathlib import Path

from services.runtime.kernel_cache import use_kernel_cache

SEEDS = (1,)


def main(seed: int, folder: Path | None) -> None:
    """Measure the events that the demo shows, in one pass."""
    use_kernel_cache()
    from propagation.adapters.offline.embedder import HashedEmbedder
    from propagation.evaluation.protocols.prequential import evaluate_prequential
    from propagation.evaluation.stream import EvaluationSettings, stream_of
    from propagation.model import InvalidInput
    from services.demo.data.script import make_script

    try:
        stream = stream_of(make_script(folder, seed).dataset)
    except InvalidInput as error:
        print(error)
        return
    report = asyncio.run(
        evaluate_prequential(stream, HashedEmbedder(seed), EvaluationSettings(seeds=SEEDS))
    )
    print(report.model_dump_json())


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
