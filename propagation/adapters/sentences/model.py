"""A sentence model: an ONNX file with its tokenizer."""

from hashlib import blake2b
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from propagation.adapters.sentences.options import SentenceOptions
from propagation.model import F32, IncompatibleSettings

MODEL_FILES = ("model.onnx", "onnx/model.onnx")
TOKENIZER_FILE = "tokenizer.json"
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
SENTENCE_OUTPUT = "sentence_embedding"
ERRORS_ONLY = 3


class SentenceModel:
    """Maps a text to one vector.

    A text is a run of its own, because in a batch its vector would depend on the other texts.

    Attributes:
        digest: Of the files and of what else the vectors depend on.
        dimension: Length of the vectors.
    """

    def __init__(self, options: SentenceOptions) -> None:
        """Load the model.

        Raises:
            IncompatibleSettings: The folder holds no model that can be used.
        """
        model, tokenizer = _find_files(options.folder)
        self.digest = _digest(options, tokenizer, model)
        try:
            self._tokenizer = Tokenizer.from_file(str(tokenizer))
            self._session = onnxruntime.InferenceSession(
                str(model), _build_session_options(), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise errors without a common type
            raise IncompatibleSettings(
                f"sentences.folder: {options.folder} holds no usable model: {error}"
            ) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(options.max_tokens)
        self._pooling = options.pooling
        self._inputs = [one.name for one in self._session.get_inputs()]
        names = [one.name for one in self._session.get_outputs()]
        self._output = SENTENCE_OUTPUT if SENTENCE_OUTPUT in names else names[0]
        if unknown := sorted(set(self._inputs) - INPUTS):
            raise IncompatibleSettings(
                f"sentences.folder: {model.name} asks for {', '.join(unknown)}; a sentence model"
                f" asks for {', '.join(sorted(INPUTS))}, or some of them"
            )
        self.dimension = self._probe(options)

    def compute_vector(self, text: str) -> F32 | None:
        """Return the vector of a text, or None for one without words."""
        # The tokenizer takes UTF-8, which cannot hold lone surrogates.
        tokens = self._tokenizer.encode(text.encode("utf-8", "replace").decode())
        if all(tokens.special_tokens_mask):
            return None
        fed = {
            "input_ids": tokens.ids,
            "attention_mask": tokens.attention_mask,
            "token_type_ids": tokens.type_ids,
        }
        found = self._session.run(
            [self._output], {name: np.array([fed[name]], np.int64) for name in self._inputs}
        )
        return self._pool(np.asarray(found[0][0], np.float32))

    def _pool(self, vectors: F32) -> F32:
        """Return the vector of an output [D] or, by token, [T, D]."""
        if vectors.ndim == 1:
            return vectors
        pooled: F32 = vectors.mean(axis=0) if self._pooling == "mean" else vectors[0]
        return pooled

    def _probe(self, options: SentenceOptions) -> int:
        """Embed a word, and return the length of its vector."""
        try:
            vector = self.compute_vector("word")
            if vector is None or vector.ndim != 1 or not np.isfinite(vector).all():
                raise ValueError("its output is no vector of finite numbers")
        except Exception as error:  # as above
            raise IncompatibleSettings(
                f"sentences.folder: the model in {options.folder} embeds no text: {error}"
            ) from error
        if options.dimension > len(vector):
            raise IncompatibleSettings(
                f"sentences.dimension: {options.dimension} is more than the {len(vector)} numbers"
                f" of this model's vectors; set at most {len(vector)}"
            )
        return len(vector)


def _find_files(folder: Path | None) -> tuple[Path, Path]:
    if folder is None:
        raise IncompatibleSettings(
            "embedder=sentences needs sentences.folder: set it to a folder with model.onnx and"
            " tokenizer.json"
        )
    models = [path for name in MODEL_FILES if (path := folder / name).is_file()]
    tokenizer = folder / TOKENIZER_FILE
    absent = [
        name
        for name, found in ((MODEL_FILES[0], bool(models)), (TOKENIZER_FILE, tokenizer.is_file()))
        if not found
    ]
    if absent:
        raise IncompatibleSettings(
            f"sentences.folder: {folder} has no {' and no '.join(absent)}; name the folder of a"
            " sentence model in ONNX, with its tokenizer"
        )
    return models[0], tokenizer


def _digest(options: SentenceOptions, *files: Path) -> str:
    state = blake2b(f"{options.pooling} {options.max_tokens}".encode(), digest_size=4)
    for path in files:
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                state.update(piece)
    return state.hexdigest()


def _build_session_options() -> onnxruntime.SessionOptions:
    """Return the options of a session that uses one core.

    So a vector does not depend on the number of cores, and the service keeps the others.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = ERRORS_ONLY
    return options
