"""Texts that say nothing are refused, asked for once more, and then left out; good ones never."""

import pytest

from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.openai.answer_json import ParsedAnswer
from propagation.adapters.openai.answers.questions import Exchange
from propagation.adapters.openai.prompting import (
    AskedTexts,
    DegeneratePart,
    TextCheck,
    check_part,
    find_reason,
    is_like_title,
)
from propagation.adapters.openai.prompting.text_subjects import TextSubjects
from propagation.adapters.openai.prompts import (
    backward,
    extract,
    forward,
    gradient,
    merge,
    summarize,
)
from propagation.adapters.openai.prompts.gradient import OUTCOMES
from propagation.model import (
    AddLine,
    Author,
    Client,
    ClientKey,
    ClientKind,
    LossReason,
    ReasonerFailed,
    ReplaceLine,
)
from propagation.ports import Integration, MergeAnswer
from services.fake_llm import server
from tests.unit.parties import item, line, message, party, user, work

ASKED = AskedTexts(merge.PROMPT.instructions, OUTCOMES[1])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("soul soul soul soul and more", LossReason.REPETITION),
        ("It likes jazz and it likes jazz and it likes jazz and so on", LossReason.REPETITION),
        ("aaaaaaaaaaaaaaaa", LossReason.REPETITION),
        (
            "The user chose the item `chosen` and passed over `passed`, so it likes films of war",
            LossReason.ECHO,
        ),
        ("好听好听好听好听好听好听", LossReason.REPETITION),
        ("a b a c a b a c b a c a b b a c a b", LossReason.REPETITION),
        ("The user chose the item `chosen` and passed over `passed`.", LossReason.ECHO),
        ("This was foreseen.", LossReason.ECHO),
        ("Answer for each client that has messages: jazz", LossReason.ECHO),
        ("client_2 likes films", LossReason.MARKER),
        (
            "This is new, I am not sure about it, and I am not sure about my role, and I am not"
            " sure about films",
            LossReason.REPETITION,
        ),
        (
            "The user chose the item 'Heat (1995)' and passed over 'passed' to the profile",
            LossReason.ECHO,
        ),
        ("Gradient.", LossReason.FIELD_NAME),
        ("white_white_white_white", LossReason.REPETITION),
        ("<user>Drama", LossReason.ROLE_MARK),
        ("Likes films.<|im_end|>", LossReason.ROLE_MARK),
        ("", LossReason.NO_WORDS),
        ("1.", LossReason.NO_WORDS),
        ("M1", LossReason.NO_WORDS),
        ("b", LossReason.NO_WORDS),
        ("A1", LossReason.NO_WORDS),
        ('{"text": "x"}', LossReason.FORM),
        ('A film. ["soul", "funk"]', LossReason.FORM),
        ("I am sorry, but as an AI language model I cannot do that.", LossReason.CHATTER),
        ("Sure, here is the JSON you asked for", LossReason.CHATTER),
        ("I'm sorry, this is your request,", LossReason.CHATTER),
        ("This is a JSON object", LossReason.CHATTER),
        ("My client's name is 'A' and I am a member of the", LossReason.CHATTER),
        ("Lorem ipsum dolor sit amet", LossReason.CHATTER),
        ("string", LossReason.FIELD_NAME),
        ("Answer:", LossReason.FIELD_NAME),
        ("asdf asdf asdf qwer qwer qwer", LossReason.REPETITION),
        ("film film film", LossReason.REPETITION),
        ("好看好看好看好看", LossReason.REPETITION),
        ("的的的的的的", LossReason.REPETITION),
        ("M1 M2 M3", LossReason.NO_WORDS),
        ("M3 is a good message", LossReason.MARKER),
        ("The user would choose candidate 1", LossReason.MARKER),
        ("chosen item was foreseen by the user", LossReason.ECHO),
        ("passed.This was foreseen.", LossReason.ECHO),
        ("This was the data. Answer in JSON. You can use it for films", LossReason.ECHO),
        ("It tells as told before it, whatever it says", LossReason.ECHO),
        ("user.profile.passed", LossReason.FIELD_NAME),
        ("England (1996) (1996, 2) (1996, 3) (1996, 5) (1996, 10) (1996, 12)", LossReason.NO_WORDS),
        ("Dances with Wolves (1990)", LossReason.BARE_TITLE),
        (
            "A tale of crime, a reminder of the past and a reminder of the past.",
            LossReason.REPETITION,
        ),
        ("We like stories of the sea. We like stories of the sea", LossReason.REPETITION),
        (
            "Sci-Fi is a genre of science fiction that has become a film. It is a genre of science"
            " fiction that has become a film",
            LossReason.REPETITION,
        ),
    ],
)
def test_texts_that_say_nothing(text, reason):
    assert find_reason(text, ASKED) == reason


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "7",
        "m1",
        "M12",
        "edits",
        "client_2",
        "Candidate 1",
        "line 3",
        "da da da da da",
        "style",
        "M1, M2",
        "choice_1",
        "short name",
        "user",
    ],
)
def test_names_that_are_no_attributes(name):
    check = TextCheck(ASKED)
    assert check.keep_names([name, "soul"]) == ["soul"]
    assert len(check.refused) == 1


@pytest.mark.parametrize(
    "name", ["3d", "tv", "1984", "爱", "film noir", "rock & roll", "u2", "new york, new york"]
)
def test_names_that_may_be_attributes(name):
    assert TextCheck(ASKED).keep_names([name]) == [name]


def test_a_name_of_a_field_may_be_an_attribute_where_the_data_says_it():
    asked = AskedTexts.of(
        "", {"messages": {"M1": {"says": "A band, M83"}}, "listed": ["R", "wifi router"]}
    )
    for name in ("m83", "R", "router"):
        assert TextCheck(asked).keep_names([name]) == [name]
    heard = AskedTexts.of(
        "", {"outcome": OUTCOMES[1], "user": {"messages": ["M1"], "title": "Line in context"}}
    )
    for name in ("m1", "text", "chosen", "passed", "c"):
        assert TextCheck(heard).keep_names([name]) == []
    assert TextCheck(heard).keep_names(["line"]) == ["line"]


def ask(parts, name, value):
    return check_part(ParsedAnswer({name: value}), name, parts[name], TextCheck(ASKED))


def test_a_line_that_stands_there_already_is_refused_and_the_other_edit_stays():
    reader = party(user(), line(1, "jazz", text="Likes jazz."), line(2, "soul", text="Soul, too."))
    parts = backward.build_question(work(), 1, {"user": reader}).parts
    edits = [
        {"op": "add", "line": 0, "text": "likes JAZZ", "attributes": ["jazz"]},
        {"op": "add", "line": 0, "text": "Likes dub.", "attributes": ["dub", "m1"]},
    ]
    found = ask(parts, "user", {"helped": True, "gradient": "Say more of dub.", "edits": edits})
    assert isinstance(found, DegeneratePart)
    assert "stands there already" in str(found)
    assert "'m1' is no attribute" in str(found)
    [edit] = found.usable.optimized.edits
    assert (type(edit), edit.line.text, edit.line.attributes) == (AddLine, "Likes dub.", ("dub",))
    again = ask(parts, "user", {"edits": [{**edits[0], "op": "replace", "line": 1}]})
    [edit] = again.optimized.edits
    assert isinstance(edit, ReplaceLine), "its own text again adds a source"
    other = ask(parts, "user", {"edits": [{**edits[0], "op": "replace", "line": 2}]})
    assert isinstance(other, DegeneratePart)
    assert other.usable.optimized.edits == []


@pytest.mark.parametrize(
    "text",
    [
        "The user chose the item for its music",
        "The user chose the item with the darker mood",
        "Say why the user chose the item, and speak of jazz.",
        "The user passed over the item for its length",
    ],
)
def test_a_gradient_may_say_that_the_user_chose_the_item(text):
    assert find_reason(text, ASKED) is None


@pytest.mark.parametrize(
    "text",
    [
        "The user chose the item",
        "So the user chose the item",
        "The user chose the item `chosen` for its music, which is new to it",
        "It is said that the item `chosen` and passed over things are what it likes",
    ],
)
def test_the_outcome_s_own_words_are_an_echo(text):
    assert find_reason(text, ASKED) is LossReason.ECHO


RINGS = ("The Fellowship of the Ring", "The Two Towers", "The Return of the King")


@pytest.mark.parametrize(
    "text",
    [
        "Enjoys " + ", ".join(f"The Lord of the Rings: {part}" for part in RINGS) + ".",
        "Enjoys Once Upon a Time in America, Once Upon a Time in the West and Once Upon a Time in"
        " Hollywood.",
        "Mag „Die Unendliche Geschichte vom Mond“, „Die Unendliche Geschichte vom Meer“ und"
        " „Die Unendliche Geschichte vom Wald“.",
        "Любит «Сказки Старого Северного Города: Зима», «Сказки Старого Северного Города: Весна» и"
        " «Сказки Старого Северного Города: Лето».",
    ],
)
def test_titles_of_a_series_may_begin_alike(text):
    assert find_reason(text, ASKED) is None
    assert find_reason(text.lower(), ASKED) is LossReason.REPETITION
    assert find_reason(text.upper(), ASKED) is LossReason.REPETITION


def test_a_title_of_the_data_may_have_its_article_last():
    text = "enjoys " + ", ".join(f"the lord of the rings: {part}".lower() for part in RINGS)
    listed = [f"Lord of the Rings: {part}, The (2001)" for part in RINGS[:2]]
    assert find_reason(text, AskedTexts.of("", {"titles": listed})) is None
    assert find_reason(text, AskedTexts.of("", {"titles": ["Rings"]})) is LossReason.REPETITION


@pytest.mark.parametrize(
    "text",
    [
        "hört die Musik der Stadt, mag die Musik der Stadt und liebt die Musik der Stadt sehr",
        "It likes jazz and blues. It likes jazz and soul. It likes jazz and funk.",
        "aime les films de guerre, puis les films de guerre longs, et les films de guerre vieux",
    ],
)
def test_a_refrain_that_is_no_title_is_refused(text):
    assert find_reason(text, ASKED) is LossReason.REPETITION


def test_words_said_twice_may_go_on_otherwise():
    for text in (
        "For those who like folk, for those who like jazz.",
        "Prefers films about the sea and films about the war at sea.",
        "Enjoys Once Upon a Time in America, Once Upon a Time in Rome.",
        "Songs of 1965, 1966, 1967, 1968 and 1969 from London and Paris.",
        "Tales from the north, with wolves (1990)",
        "The answer to the data of the charts: pop that was the talk of the year.",
    ):
        assert find_reason(text, ASKED) is None, text


def test_the_judgement_of_the_outcome_is_an_echo_in_any_text():
    text = "This is the user's edit of a movie. This was not foreseen:"
    assert find_reason(text, AskedTexts("", OUTCOMES[0])) is LossReason.ECHO
    for text in ("A twist that was not foreseen.", "This was not expected of a western."):
        assert find_reason(text, AskedTexts("", OUTCOMES[0])) is None, text


def test_no_text_is_about_edits_unless_the_data_is():
    text = "This is the user's edit to choose a movie."
    assert find_reason(text) is LossReason.ABOUT_PROFILE
    assert find_reason(text, AskedTexts(data=("the user's edit, a film",))) is None
    assert find_reason("Keep what the user's lines say of edited films.") is None


@pytest.mark.parametrize("outcome", [OUTCOMES[0], OUTCOMES[1]])
def test_an_outcome_is_no_text_where_none_was_shown(outcome):
    assert find_reason(outcome) is LossReason.ECHO
    assert find_reason("Seldom passed over, often chosen: films for the family") is None


def test_a_line_s_end_that_was_escaped_twice_is_a_space():
    parts = extract.build_question([film("Heat", 1)]).parts
    for text, kept in ((r"Heat\n", None), (r"Heat\n A long chase.", "Heat A long chase.")):
        found = ask(parts, "client_1", {"lines": [{"text": text, "attributes": []}]})
        assert isinstance(found, DegeneratePart) == (kept is None)
        assert kept is None or [edit.line.text for edit in found] == [kept]
    [path] = ask(parts, "client_1", {"lines": [{"text": r"Heat of \night", "attributes": []}]})
    assert path.line.text == r"Heat of \night"


def test_the_year_behind_a_title_is_no_text():
    asked = AskedTexts.of("", {"title": "True Lies (1994)"})
    assert find_reason("1994", asked) is LossReason.NO_WORDS
    assert find_reason("1994", AskedTexts.of("", {"line": "Pop of 1994."})) is None


@pytest.mark.parametrize("text", ["1984", "C++", "8½", "R", "“R”", "《1984》", "1917."])
def test_a_text_of_one_name_is_kept_where_the_data_says_it(text):
    titles = ["1984", "C++", "8½ (1963)", "R", "爱 1917"]
    asked = AskedTexts.of("", {"messages": {"M1": {"says": "C"}}, "titles": titles})
    assert find_reason(text, asked) is None
    assert find_reason(text, ASKED) is LossReason.NO_WORDS


def test_a_message_s_name_is_no_name_of_the_data():
    heard = {"messages": ["M1"], "rules": ["M1 (more): trust it"], "title": "M83"}
    for asked in (
        AskedTexts.of("", {"user": heard}),
        AskedTexts.of("", {"messages": {"M1": {"says": "M83"}}, "user": heard}),
    ):
        assert find_reason("M1", asked) is LossReason.NO_WORDS
        assert TextCheck(asked).keep_names(["m1", "M83"]) == ["M83"]
        assert find_reason("M83", asked) is None


def test_html_strikes_through_and_models_mark_whole_texts():
    assert find_reason("Likes <s>folk</s> jazz.", ASKED) is None
    for text in ("<s>Likes jazz.</s>", "<s> Likes jazz.", "Likes jazz.</s>", "<s><user></s> jazz"):
        assert find_reason(text, ASKED) is LossReason.ROLE_MARK, text


@pytest.mark.parametrize(
    "text",
    [
        "A password manager for client profiles",
        "An app in which users' profiles show playlists",
        "Eine App für das Nutzerprofil",
        "Une application pour le profil de l'utilisateur",
        "Una app para el perfil del usuario",
        "Приложение для профиля пользователя",
        "一款管理用户画像的应用",
        "ユーザーのプロフィールを管理するアプリ",
    ],
)
def test_an_item_about_profiles_may_say_so(text):
    listed = AskedTexts.of("", {"client_1": {"description": f"New: {text}."}})
    check = TextCheck(listed)
    assert check.keep_line(text) == check.require_text(text) == text
    assert check.refused == []
    silent = TextCheck(ASKED)
    assert silent.keep_line(text) == ""
    assert silent.reasons == [LossReason.ABOUT_PROFILE]
    with pytest.raises(ValueError, match="is about a profile"):
        silent.require_text(text)


def test_a_gradient_may_speak_of_the_profile():
    reader = party(user(), line(1, "jazz"))
    parts = backward.build_question(work(), 1, {"user": reader}).parts
    gradient = "The user's profile should say more of dub."
    found = ask(parts, "user", {"helped": False, "gradient": gradient, "edits": []})
    assert [one.text for one in found.gradients] == [gradient]


def test_a_description_about_profiles_is_refused():
    parts = extract.build_question([film("Heat", 1), film("Up", 2)]).parts
    lines = [{"text": "Heat, an item of the user's profile."}]
    assert "about a profile" in str(ask(parts, "client_1", {"lines": lines}))


def test_a_line_about_profiles_is_refused():
    parts = backward.build_question(work(), 1, {"user": party(user())}).parts
    for text, kept in (
        ("A change to the items that are the client's profiles, not the user's profile.", 0),
        ("A user of high-profile thrillers.", 1),
        ("This was the result of the user's actions, a tale of action.", 0),
        ("The user's taste is action, and actions that count.", 1),
        ("Suits the user's action side, more than a tale of crime.", 1),
    ):
        edits = [{"op": "add", "line": 0, "text": text, "attributes": []}]
        found = ask(parts, "user", {"edits": edits})
        assert isinstance(found, DegeneratePart) == (not kept)
        answer = found if kept else found.usable
        assert len(answer.optimized.edits) == kept


def film(title, number):
    return Client(2 * number + 1, ClientKey(ClientKind.ITEM, f"i{number}"), title=title)


def test_a_description_of_another_item_of_the_call_is_refused():
    films = [film("Heat", 1), film("Toy Story", 2), film("Up", 3)]
    parts = extract.build_question(films).parts

    def read(name, *texts):
        return ask(parts, name, {"lines": [{"text": text, "attributes": []} for text in texts]})

    found = read("client_1", "Toy Story, a tale of toys.", "Heat of the night, for many.")
    assert "about 'Toy Story'" in str(found)
    assert [edit.line.text for edit in found.usable] == ["Heat of the night, for many."]
    assert read("client_2", "Heat and nothing else.").usable == []
    assert len(read("client_2", "Toy Story, warmer than Heat.")) == 1, "it names itself, too"
    up = "Heat, up and away with the robbers."
    assert len(read("client_1", up)) == 1, "short titles are words"
    found = read("client_3", "For all who like balloons.")
    assert "no line names the item" in str(found)
    assert found.usable == []
    fan = Client(9, ClientKey(ClientKind.USER, "u"), description="I love Heat.")
    parts = extract.build_question([fan, film("Heat", 1), film("Heat (Deluxe)", 2)]).parts
    assert len(read("client_1", "Loves Heat.")) == 1, "a user may name any item"
    assert len(read("client_3", "Heat is for many.")) == 1, "its own title, without brackets"


def test_a_description_given_to_several_clients_of_a_call_is_refused():
    def read(parts, name, text):
        return ask(parts, name, {"lines": [{"text": text, "attributes": []}]})

    users = [
        Client(2 * n, ClientKey(ClientKind.USER, f"u{n}"), description=text)
        for n, text in enumerate(("I love jazz.", "I love opera.", "I love jazz."))
    ]
    parts = extract.build_question(users).parts
    assert len(read(parts, "client_1", "Loves music.")) == 1
    found = read(parts, "client_2", "loves music.")
    assert "several clients have the same description" in str(found)
    assert found.reasons == (LossReason.REPETITION,)
    assert len(read(parts, "client_3", "Loves music.")) == 1, "its own text is the same"
    assert len(read(parts, "client_1", "Loves music.")) == 1, "asked for again, it may be the same"
    twins = [film("Greatest Hits", 1), film("Greatest Hits", 2)]
    parts = extract.build_question(twins).parts
    for name in parts:
        assert len(read(parts, name, "Greatest Hits, for many.")) == 1


def named(title, ref, *lines, **fields):
    client = Client(ref, ClientKey(ClientKind.ITEM, f"i{ref}"), title=title)
    return party(client, *lines, **fields)


def read_lines(parts, name, text):
    """Return the lines that are kept of an edit, and the reasons of its refusal."""
    edit = {"op": "add", "line": 0, "text": text, "attributes": ["crime"]}
    found = ask(parts, name, {"helped": True, "gradient": "", "used": [], "edits": [edit]})
    if isinstance(found, DegeneratePart):
        return list(found.reasons)
    edits = found.edits if isinstance(found, MergeAnswer) else found.optimized.edits
    return [edit.line.text for edit in edits]


def test_a_line_about_another_item_of_the_interaction_is_refused():
    reader = party(user(), line(1, "crime", text="Likes tales of crime at night."))
    told = line(
        1, "crime", text="Heat (1995), a thriller of two men at night", author=Author.CATALOGUE
    )
    heat, toys = named("Heat (1995)", 3, told), named("Toy Story (1995)", 5)
    parts = backward.build_question(
        work(), 1, {"user": reader, "chosen": heat, "passed": toys}
    ).parts
    other, bare = [LossReason.OTHER_ITEM], [LossReason.BARE_TITLE]
    assert read_lines(parts, "chosen", "Toy Story is a film about toys.") == other
    assert read_lines(parts, "passed", "Pleases those who love Heat.") == other
    assert read_lines(parts, "passed", "A thriller of two men at night") == other
    assert read_lines(parts, "passed", "Toy Story") == bare
    assert read_lines(parts, "chosen", "Toy Story (1995)") == bare
    assert read_lines(parts, "chosen", "Toy Story") == other
    assert read_lines(parts, "user", "Heat (1995)") == bare
    assert read_lines(parts, "user", "Heat") == other
    assert read_lines(parts, "user", "Heat (1995), a thriller of two men at night.") == other
    for name, text in (
        ("chosen", "Heat pleases those who find Toy Story too light."),
        ("chosen", "Pleases friends of long nights, in the heat of crime."),
        ("passed", "Too light for those who like the heat of the night."),
        ("user", "Chose Heat over Toy Story: likes crime more than toys."),
        ("user", "Likes thrillers such as Heat."),
    ):
        assert read_lines(parts, name, text) == [text], text


@pytest.mark.parametrize(
    ("text", "is_title"),
    [
        ("The Dark Knight (1989)", True),
        ("Get Shorty (1995)", True),
        ("Mr. Holland's Opus (1995)", True),
        ("Face/Off (1997)", True),
        ("Kind of Blue", True),
        ("Heat", False),
        ("Kind of Blue, for quiet nights", False),
        ("A thriller of two men (1995)", False),
        ("More like Heat (1995)", False),
        ("Best seen with Alien (1979)", False),
        ("From Dusk Till Dawn with Salma (1996)", True),
        ("Pleases many", False),
        ("Loves Paris, London and old New York at night in the rain", False),
        ("Well Well Well.", False),
        ("爱情 电影", False),
        ("!?", False),
    ],
)
def test_texts_that_look_like_a_title(text, is_title):
    assert is_like_title(text) == is_title


def test_a_message_or_a_line_that_is_only_a_title_is_refused():
    """Small models answer so, and the title would travel from router to router."""
    listener = named("Taxi Driver (1976)", 3, messages=(message(3, "crime"),))
    parts = merge.build_question(listener).parts
    assert read_lines(parts, "client", "The Dark Knight (1989)") == [LossReason.BARE_TITLE]
    assert read_lines(parts, "client", "The Dark Knight") == [LossReason.OTHER_ITEM]
    assert read_lines(parts, "client", "Taxi Driver") == [LossReason.BARE_TITLE]
    kept = "Others around it turn to crime"
    assert read_lines(parts, "client", kept) == [kept]
    parts = merge.build_question(party(user(), messages=(message(3, "crime"),))).parts
    assert read_lines(parts, "client", "The Dark Knight (1989)") == [LossReason.BARE_TITLE]
    assert read_lines(parts, "client", "Loves Film Noir") == ["Loves Film Noir"]
    router = Integration(1, None, {"crime": 2}, {"crime": 1.0}, {}, ("Heat (1995)",))
    parts = summarize.build_question([router]).parts
    found = ask(parts, "router_1", {"name": "Crime", "text": "The Dark Knight (1989)"})
    assert "is nothing but a title" in str(found)
    found = ask(parts, "router_1", {"name": "Crime", "text": "Helpful"})
    assert "text has few words" in str(found)
    found = ask(parts, "router_1", {"name": "assistant", "text": "We share a love of crime."})
    assert "name of a field" in str(found)


def test_words_of_the_outcome_alone_are_an_echo():
    asked = AskedTexts(backward.PROMPT.instructions, OUTCOMES[0])
    assert find_reason("This was not expected:", asked) == LossReason.ECHO
    for text in ("The item was expected to please friends of jazz", "This was not jazz"):
        assert find_reason(text, asked) is None


@pytest.mark.parametrize(
    "text", ["gradient(h{12})", "gradient-none", "Gradient: none", "text, name"]
)
def test_a_text_of_field_names_alone_says_nothing(text):
    assert find_reason(text, ASKED) == LossReason.FIELD_NAME


def test_an_item_s_line_may_name_another_item_that_its_own_data_names():
    heard = message(3, "crime", text="We love Heat and all that is dark.")
    toys = named("Toy Story (1995)", 5, messages=(heard,))
    rest = (party(user()), named("Heat (1995)", 3))
    parts = forward.build_question(rest[0], [toys, rest[1]]).parts
    assert read_lines(parts, "candidate_1", "Others turn to Heat.") == ["Others turn to Heat."]
    assert read_lines(parts, "candidate_1", "Heat") == [LossReason.OTHER_ITEM]
    toys = named("Toy Story (1995)", 5, messages=(message(3, "crime"),))
    parts = forward.build_question(rest[0], [toys, rest[1]]).parts
    assert read_lines(parts, "candidate_1", "Others turn to Heat.") == [LossReason.OTHER_ITEM]


def test_a_router_s_text_about_another_router_s_items_is_refused():
    def community(router, *examples):
        return Integration(router, None, {"crime": 2}, {"crime": 1.0}, {}, examples)

    routers = [community(1, "Heat (1995)", "Toy Story (1995)"), community(2, "The Rock (1996)")]
    parts = summarize.build_question(routers).parts

    def read(name, text):
        return ask(parts, name, {"name": "crime", "text": text})

    assert "not in its data" in str(read("router_1", "We share a love of The Rock, at night."))
    assert "not in its data" in str(read("router_2", "Toy Story is what we share."))
    for name, text in (
        ("router_1", "We share Toy Story and other tales, which all rock."),
        ("router_2", "The Rock is what we share in the heat of the night: crime and Heat."),
    ):
        assert read(name, text).text == text


@pytest.mark.parametrize(
    "text",
    [
        "They share a love of noir, and what is new among them is jazz.",
        "Keep it: it spoke of what was chosen.",
        "Trust less how far it trusts what it hears of horror.",
        "爵士",
        "爱情片的爱好者",
        "哈哈哈哈哈哈，喜剧迷的最爱",
        "هههههههه كوميديا",
        "مرحبـــــــا",
        "Fill in the ________: a quiz for many.",
        'Loves "Heat": a thriller of two men who know each other well',
        "I'm Sorry I Haven't a Clue, a radio show",
        "The Candidate, a film about an election",
        "Of machines that speak as people do",
        "Style over substance",
        "R&B of the 80s",
    ],
)
def test_natural_texts_are_kept(text):
    for prompt in (merge.PROMPT, backward.PROMPT, summarize.PROMPT):
        assert find_reason(text, AskedTexts(prompt.instructions, OUTCOMES[1])) is None


def test_a_title_that_repeats_a_word_may_be_named():
    title = "It's a Mad, Mad, Mad, Mad World (1963)"
    asked = AskedTexts.of("", {"client_1": {"title": title}})
    assert find_reason(f"{title}, a chase for many.", asked) is None
    assert find_reason(f"{title}, a chase for many.") == LossReason.REPETITION
    assert find_reason("Mad fun, mad fun, mad fun, mad fun.", asked) == LossReason.REPETITION


def test_what_stands_for_nothing_is_no_fault():
    check = TextCheck(ASKED)
    assert check.keep_text("N/A") == check.keep_text("-") == ""
    assert check.keep_names(["none", "soul"]) == ["soul"]
    assert check.refused == []


def test_edits_that_swap_two_lines_are_carried_out():
    reader = party(user(), line(1, "jazz", text="Likes jazz."), line(2, "dub", text="Likes dub."))
    parts = backward.build_question(work(), 1, {"user": reader}).parts
    edits = [
        {"op": "replace", "line": 1, "text": "Likes dub.", "attributes": ["dub"]},
        {"op": "replace", "line": 2, "text": "Likes jazz.", "attributes": ["jazz"]},
    ]
    assert len(ask(parts, "user", {"edits": edits}).optimized.edits) == 2
    edits = [
        {"op": "drop", "line": 1, "text": "n/a", "attributes": ["m1"]},
        {"op": "add", "line": 0, "text": "Likes jazz.", "attributes": ["jazz"]},
    ]
    assert len(ask(parts, "user", {"edits": edits}).optimized.edits) == 2


def test_a_second_answer_that_is_worse_does_not_replace_the_first():
    exchange = Exchange(None, missing={}, tokens=0)
    echo, loop = LossReason.ECHO, LossReason.REPETITION
    first, worse = DegeneratePart("a", "line", echo), DegeneratePart("b", "", echo, loop)
    for found in (first, worse, ReasonerFailed("c")):
        exchange.note("client", found)
    assert exchange.parts["client"] is first
    better = DegeneratePart("d", "lines")
    exchange.note("client", better)
    assert exchange.parts["client"] is better


def test_the_description_of_an_item_alone_names_it():
    def read(title, *texts):
        parts = extract.build_question([film(title, 1)]).parts
        lines = [{"text": text, "attributes": []} for text in texts]
        return ask(parts, "client_1", {"lines": lines})

    refused = read("Rock, The (1996)", "The (1996)", "For all who like boxes.")
    assert "no line names the item" in str(refused)
    assert refused.usable == []
    for title, text in (
        ("Rock, The (1996)", "The Rock of 1996, loud and long."),
        ("Star Wars: A New Hope (1977)", "Star Wars, a tale of space."),
        ("Amélie", "AMÉLIE wanders about."),
        ("爱情", "电影爱情，温柔的故事"),
        ("???", "A riddle for many."),
    ):
        assert len(read(title, text)) == 1, title
    assert len(read("Heat", "Heat, at night.", "For fans of robbers.")) == 2, "one line names it"
    assert len(read("Heat", "Heat, at night.", "heat at night")) == 1, "the same line twice"
    fan = Client(8, ClientKey(ClientKind.USER, "u"), description="I love films.")
    parts = extract.build_question([fan]).parts
    assert len(ask(parts, "client_1", {"lines": [{"text": "Loves films."}]})) == 1


def test_a_description_may_write_its_title_as_people_do():
    def read(films, text):
        parts = extract.build_question(films).parts
        return ask(parts, "client_1", {"lines": [{"text": text, "attributes": []}]})

    seven = film("Seven (Se7en) (1995)", 1)
    assert len(read([seven], "Se7en, a dark thriller.")) == 1
    father, scarface = film("Godfather, The (1972)", 1), film("Scarface (1983)", 2)
    line = "The Godfather, a mafia epic for those who like Scarface."
    assert len(read([father, scarface], line)) == 1
    assert "about 'Scarface'" in str(read([father, scarface], "Scarface, a mafia epic."))
    assert "no line names" in str(read([film("It (2017)", 1)], "With wit and style."))
    summer = film("(500) Days of Summer (2009)", 1)
    assert "no line names" in str(read([summer], "A romance told backwards."))


@pytest.mark.parametrize("fault", ["truncated", "malformed", "not_json", "refusal"])
async def test_a_description_that_fails_twice_is_the_catalogue_s(open_reasoner, fault):
    films = [film("Heat", 1), film("Toy Story", 2)]
    async with open_reasoner(faults={fault: 1.0}, clients_a_call=1) as asked:
        answer = await asked.reasoner.extract(films)
        assert asked.calls == 4
    assert list(answer.edits) == [extract_lines(one) for one in films]
    assert answer.from_catalogue == {one.ref for one in films}
    assert answer.usage.total.calls == 4
    assert answer.usage.prompts == (), "no answer of the prompt was used"


async def test_degenerate_answers_are_asked_for_once_more_and_then_left_out(
    open_reasoner, monkeypatch
):
    asked_with = []

    def loop(messages, response_format, *, obeying):
        if "data" not in str(messages):
            return {"word": "harbour"}
        asked_with.append(messages)
        return {"client_1": {"lines": [{"text": "good good good good", "attributes": ["a"]}]}}

    monkeypatch.setattr(server, "write_scripted_answer", loop)
    client = Client(7, ClientKey(ClientKind.ITEM, "i"), title="Aida", categories=("opera", "Verdi"))
    async with open_reasoner() as asked:
        answer = await asked.reasoner.extract([client])
        again = await asked.reasoner.extract([client])
    assert list(answer.edits) == [extract_lines(client)], "the catalogue's own lines"
    assert list(again.edits) == list(answer.edits)
    [(_, cost)] = answer.usage.by_prompt
    assert (cost.calls, cost.lost) == (2, 1)
    assert len(asked_with) == 4, "an answer with lost parts is not kept"
    *_, told = asked_with[1]
    assert "repeats itself" in told["content"]
    assert {one["role"] for one in asked_with[1]} == {"system", "user"}, "it is not shown again"


def test_no_good_text_is_refused():
    """What the offline reasoner says of a catalogue, and sentences of people."""
    names = ("film noir", "comedy", "drama", "thriller", "musical", "western")
    for number, name in enumerate(names):
        client = Client(
            number,
            ClientKey(ClientKind.ITEM, f"i{number}"),
            title=f"{name.title()}, {name.title()}!",
            categories=names[: number + 1],
            description=f"A {name} of 1942 that people come back to, year after year.",
        )
        for edit in extract_lines(client):
            assert find_reason(edit.line.text, ASKED) is None
            assert TextCheck(ASKED).keep_names(edit.line.attributes) == [*edit.line.attributes]
    for text in (
        "Drawn to slow, slow burning thrillers and to the cities they are set in.",
        "Likes what soul and funk says, not opera at home.",
        "Well well well: jazz.",
        "Pleases many.",
        "Trust soul and funk as before.",
        "New York, New York and other songs of Sinatra.",
        "10000000 records sold: pop for millions.",
        "Ha ha ha, comedies of all kinds.",
    ):
        assert find_reason(text, ASKED) is None, text


def test_a_router_s_text_that_says_nothing_is_a_lost_part():
    answer = {"name": "soul", "text": "We love soul we love soul we love soul we love soul"}
    part = summarize.build_question([]).parts
    assert part == {}
    found = check_part(
        ParsedAnswer({"router_1": answer}),
        "router_1",
        summarize.ExpectedPart(summarize.Router, summarize.read_summary),
        TextCheck(ASKED),
    )
    assert "repeats itself" in str(found)


def test_messages_judged_without_words_bring_no_gradient():
    reader = party(user(), line(1, "jazz"), messages=(message(3, "soul"),))
    parts = backward.build_question(work(), 1, {"user": reader, "chosen": party(item())}).parts
    found = ask(
        parts,
        "messages",
        {"heard": [{"message": "M1", "helped": True, "gradient": "This was foreseen."}]},
    )
    assert isinstance(found, DegeneratePart)
    assert found.usable == []


MESSAGE = 'a community drawn to soul and funk. seen around "night train". lately heard more of it.'
# What SmolLM2 wrote in place of gradients over cds-dense.
SMALL = TextSubjects(["Greatest Hits: Boston"], ["classic rock"], ["Seen around soul"])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Greatest Hits", LossReason.BARE_TITLE),
        ("Roxette's Greatest Hits", LossReason.BARE_TITLE),
        ("A Love Song Collection", LossReason.BARE_TITLE),
        ("Yes I Am", LossReason.BARE_TITLE),
        ("gradient(256px 2px 2px 2px, rgb(255,255,255))", LossReason.FORM),
        ("gradient(from left, top)',", LossReason.FORM),
        (
            "The user chose the item 'passed', which was a favor for which it wasn't chosen",
            LossReason.ECHO,
        ),
        ("A community drawn to soul and funk. Seen around", LossReason.ECHO),
        ("A community drawn to soul and funk.", LossReason.ECHO),
        ("no data available", None),
        ("No data.", None),
    ],
)
def test_gradients_that_say_nothing_are_left_out(text, reason):
    asked = AskedTexts(gradient.PROMPT.instructions, OUTCOMES[0], (MESSAGE,), subjects=SMALL)
    check = TextCheck(asked)
    assert check.keep_gradient(text) == ""
    assert check.reasons == ([reason] if reason else [])


@pytest.mark.parametrize(
    "text",
    [
        "Say more of classic rock and of Boston",
        "Keep Rock",
        "A community drawn to more than soul",
        "Speak less of Greatest Hits.",
        "Trust gradients of mood (1970s) less",
    ],
)
def test_gradients_that_say_something_are_kept(text):
    asked = AskedTexts(gradient.PROMPT.instructions, OUTCOMES[0], (MESSAGE,), subjects=SMALL)
    check = TextCheck(asked)
    assert check.keep_gradient(text) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "A community drawn to soul and funk. Seen around",
            "A community drawn to soul and funk.",
        ),
        ("A community drawn to soul and funk. ", "A community drawn to soul and funk. "),
        ("A community drawn to soul", "A community drawn to soul"),
        ("Likes soul and funk. Seen around jazz", "Likes soul and funk. Seen around jazz"),
        (
            'A community drawn to soul and funk. Seen around "Night Train". Lately heard',
            'A community drawn to soul and funk. Seen around "Night Train".',
        ),
    ],
)
def test_a_copy_of_a_message_ends_with_its_last_whole_sentence(text, kept):
    """Small models end their text where the message has a mark of quotation."""
    check = TextCheck(AskedTexts(data=(MESSAGE,)))
    assert check.keep_line(text) == kept
    assert not check.reasons
