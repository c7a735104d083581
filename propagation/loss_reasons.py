"""Reasons why a part of a language model's answer cannot be used."""

from enum import StrEnum


class LossReason(StrEnum):
    """Names why a part of an answer was refused."""

    TOO_LONG = "too_long"
    UNANSWERED = "unanswered"
    REFUSAL = "refusal"
    CUT = "cut"
    NO_JSON = "no_json"
    MISSING = "missing"
    INVALID = "invalid"
    NO_WORDS = "no_words"
    FIELD_NAME = "field_name"
    ROLE_MARK = "role_mark"
    FORM = "form"
    CHATTER = "chatter"
    REPETITION = "repetition"
    ECHO = "echo"
    MARKER = "marker"
    STANDING_LINE = "standing_line"
    ABOUT_PROFILE = "about_profile"
    OTHER_ITEM = "other_item"
    UNNAMED_ITEM = "unnamed_item"
    BARE_TITLE = "bare_title"
    NO_ATTRIBUTE = "no_attribute"
    NAMES_NOTHING = "names_nothing"


SENTENCES = {
    LossReason.TOO_LONG: "The question does not fit into the model's context.",
    LossReason.UNANSWERED: "The endpoint gave no answer to the question.",
    LossReason.REFUSAL: "The model refused to answer.",
    LossReason.CUT: "The answer was cut off before the part was complete.",
    LossReason.NO_JSON: "The answer holds no JSON object that can be read.",
    LossReason.MISSING: "The answer leaves the part out.",
    LossReason.INVALID: "A field of the part has a value that cannot be used.",
    LossReason.NO_WORDS: "A text has no words.",
    LossReason.FIELD_NAME: "A text is the name of a field.",
    LossReason.ROLE_MARK: "A text holds a mark of roles, such as <user>.",
    LossReason.FORM: "A text holds JSON, or the form of an answer.",
    LossReason.CHATTER: "A text speaks to whoever asked, or only fills the place.",
    LossReason.REPETITION: "A text repeats itself.",
    LossReason.ECHO: "A text repeats the instructions, what they say of the interaction, or"
    " a message.",
    LossReason.MARKER: "A text names a part of the question.",
    LossReason.STANDING_LINE: "A line stands in the profile already.",
    LossReason.ABOUT_PROFILE: "A line or a router's text speaks of profiles, not of taste.",
    LossReason.OTHER_ITEM: "A text is about another item of the question, not its own.",
    LossReason.UNNAMED_ITEM: "A description does not name its item.",
    LossReason.BARE_TITLE: "A description says nothing but the title.",
    LossReason.NO_ATTRIBUTE: "A letter, a digit or the name of a field stands for an attribute.",
    LossReason.NAMES_NOTHING: "A text names no item, attribute or genre of the question.",
}


def describe_loss(reason: str) -> str:
    """Say in one sentence what a reason means.

    Returns:
        "" for a reason of another release.
    """
    return next((sentence for one, sentence in SENTENCES.items() if one == reason), "")
