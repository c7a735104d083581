"""Data of the prompts, and the types of their answers."""

from propagation.adapters.openai.prompting.answer_schema import (
    NAME_CHARS,
    TEXT_CHARS,
    Choices,
    describe_schema,
    trim_to_word,
)
from propagation.adapters.openai.prompting.answer_types import (
    Answer,
    Names,
    Number,
    Several,
    Truth,
    Words,
    limit_chars,
    limit_length,
    to_list,
)
from propagation.adapters.openai.prompting.degenerate_text import (
    AskedTexts,
    DegenerateText,
    TextCheck,
    find_reason,
    is_like_title,
    is_same_text,
)
from propagation.adapters.openai.prompting.fitting import (
    COMPLAINT_CHARS,
    MESSAGE_TOKENS,
    count_data_tokens,
    count_tokens_needed,
    fits_easily,
    split_to_fit,
    write_fitting_document,
)
from propagation.adapters.openai.prompting.item_titles import (
    SHORTEST_TITLE,
    find_main_title,
    find_named_title,
    has_exactly,
    is_bare_title,
)
from propagation.adapters.openai.prompting.line_subject import (
    ANY_SUBJECT,
    LineSubject,
    build_subject,
    list_foreign_titles,
)
from propagation.adapters.openai.prompting.profile_edits import (
    HEARD_WEIGHT,
    LINE_CHARS,
    LONGEST_WORD,
    Edits,
    build_heard_edits,
    build_own_edits,
    limit_attributes,
    limit_words,
    list_line_choices,
    narrow_attributes,
    narrow_edits,
    read_word,
)
from propagation.adapters.openai.prompting.prompt import (
    RULES,
    USUAL_SHARE,
    DegenerateAnswer,
    DegeneratePart,
    ExpectedPart,
    Prompt,
    Question,
    UnusablePart,
    build_schema,
    check_part,
    list_answer_names,
    match_parts,
)
from propagation.adapters.openai.prompting.prompt_data import (
    AFTER,
    LETTER,
    MESSAGE_CHARS,
    TITLE_CHARS,
    Letters,
    count_tokens_in,
    describe_own_text,
    drop_none,
    find_letter_in,
    list_line_names,
    quote_as_data,
    show_candidate,
    show_counts,
    show_party,
    write_document,
)
from propagation.adapters.openai.prompting.question_form import (
    USUAL_FORM,
    QuestionForm,
    find_text_subjects,
    list_known_names,
    list_message_names,
    select_schema_names,
)
from propagation.adapters.openai.prompting.text_subjects import TextSubjects
