"""Labels of pictures."""


def cut_label(text: str, chars: int) -> str:
    """Cut a text to at most so many characters.

    A longer one ends in an ellipsis.
    """
    return text if len(text) <= chars else f"{text[: chars - 1].rstrip()}…"
