"""The settings of a sentence model."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from propagation.model import Term


class SentenceOptions(Term):
    """Where a sentence model is, and how its vectors are made."""

    folder: Path | None = Field(
        None,
        description="Folder with `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json`.",
    )
    pooling: Literal["mean", "first"] = Field(
        "mean",
        description=(
            "What a text's vector is, as the model's makers say: the mean of its tokens' vectors, "
            "or that of the first token (CLS)."
        ),
    )
    max_tokens: int = Field(
        256, ge=8, le=512, description="How many tokens of a text are read; the rest is cut off."
    )
    dimension: int = Field(
        48,
        ge=2,
        le=4_096,
        description=(
            "How many numbers a vector has: the model's vectors are projected onto this many main "
            "directions of the catalogue."
        ),
    )
