"""How much a question asks for, and how it shows items."""

from collections.abc import Iterable
from dataclasses import dataclass

from propagation.adapters.openai.prompting.answer_schema import NAME_CHARS
from propagation.adapters.openai.prompting.prompt_data import find_item_title, quote_as_data
from propagation.adapters.openai.prompting.text_subjects import ANYTHING, TextSubjects
from propagation.model import Client, RouterVersion, normalize_name
from propagation.ports import Party

MOST_EDITS = 2
MOST_NAMES, NAMES_A_MESSAGE, NAME_WORDS = 24, 4, 5


@dataclass(frozen=True)
class QuestionForm:
    """What the settings say of all questions.

    Attributes:
        edits: The most edits of a profile, and the most filter rules.
        known_attributes: Whether attributes are chosen from those that the question's clients have.
        titles: Whether items are shown by title and genres in place of the catalogue's lines.
    """

    edits: int = MOST_EDITS
    known_attributes: bool = False
    titles: bool = False


USUAL_FORM = QuestionForm()


def list_known_names(
    form: QuestionForm,
    clients: Iterable[Client],
    messages: Iterable[RouterVersion] = (),
    parties: Iterable[Party] = (),
) -> list[str]:
    """List the attributes from which a model chooses.

    If there are none, it may give any. First come those of the catalogue, then those of messages, then those of profiles' lines, but
    for lines that rest on too few users.
    """
    if not form.known_attributes:
        return []
    names = [name for client in clients for name in (*client.attributes, *client.categories)]
    names += list_message_names(messages)
    names += [
        name
        for party in parties
        for line in party.profile.lines
        if line.id not in party.unshared
        for name in line.attributes
    ]
    return select_schema_names(names, MOST_NAMES)


def find_text_subjects(
    form: QuestionForm,
    clients: Iterable[Client],
    messages: Iterable[RouterVersion] = (),
    parties: Iterable[Party] = (),
) -> TextSubjects:
    """Find what each text must name something of.

    If attributes are not chosen from known ones, a text may speak of what only a large model knows of the items.
    """
    if not form.known_attributes:
        return ANYTHING
    clients, messages, parties = [*clients], [*messages], [*parties]
    return TextSubjects(
        [title for client in clients if (title := find_item_title(client))],
        list_known_names(form, clients, messages, parties),
        [
            *(text for message in messages for text in (message.name, message.text)),
            *(
                line.text
                for party in parties
                for line in party.profile.lines
                if line.id not in party.unshared
            ),
        ],
    )


def list_message_names(messages: Iterable[RouterVersion]) -> list[str]:
    """List the attributes that set messages apart, a few of each."""
    return [name for message in messages for name in message.attributes[:NAMES_A_MESSAGE]]


def select_schema_names(names: Iterable[str], most: int) -> list[str]:
    """Normalise names for a schema's enumeration, each once.

    Names that are long, or have marks that data may not have, are left out.
    """
    plain = (normalize_name(name) for name in names)
    return list(
        dict.fromkeys(
            name
            for name in plain
            if name and len(name.split()) <= NAME_WORDS and quote_as_data(name, NAME_CHARS) == name
        )
    )[:most]
