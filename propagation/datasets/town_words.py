"""The invented words of the generated town.

They are quarters, kinds of items, and parts of titles.
"""

from typing import NamedTuple


class Kind(NamedTuple):
    """A kind of item: its category, styles, and patterns of texts.

    `title` has {adjective}, {name} or {noun} to fill in, `description` has {style}.
    """

    category: str
    styles: tuple[str, ...]
    nouns: tuple[str, ...]
    title: str
    description: str


class Fashion(NamedTuple):
    """A wave's new attribute, and the kind of item with it."""

    attribute: str
    kind: int
    nouns: tuple[str, ...]


QUARTERS = (
    "Harbour",
    "Station Hill",
    "Old Mill",
    "Lime Market",
    "University",
    "Riverside",
    "North Gate",
    "Orchard",
)

KINDS = (
    Kind(
        "Books",
        (
            "crime fiction",
            "sea stories",
            "garden writing",
            "space opera",
            "folk tales",
            "travel diaries",
        ),
        ("Ledger", "Lantern", "Almanac", "Testament", "Notebook", "Atlas", "Winter", "Inheritance"),
        "The {adjective} {noun}",
        "A book of {style}, lent out more often than it is returned.",
    ),
    Kind(
        "Food stalls",
        ("dumplings", "smoked fish", "flat bread", "hot soup", "sweet pastry", "grilled corn"),
        ("Kitchen", "Counter", "Cart", "Oven", "Table", "Window", "Griddle", "Pot"),
        "{name}'s {adjective} {noun}",
        "A stall that sells {style} until the pans are empty.",
    ),
    Kind(
        "Music venues",
        (
            "brass bands",
            "string quartets",
            "slow blues",
            "choir evenings",
            "dance bands",
            "solo piano",
        ),
        ("Room", "Cellar", "Loft", "Hall", "Stage", "Balcony", "Barn", "Parlour"),
        "The {adjective} {noun}",
        "A small venue for {style}, standing room at the back.",
    ),
    Kind(
        "Workshops",
        ("pottery", "bicycle repair", "weaving", "wood turning", "bookbinding", "clock mending"),
        ("Bench", "Workshop", "Shed", "Studio", "Guild", "Yard", "Table", "Circle"),
        "{name}'s {adjective} {noun}",
        "An evening workshop in {style}, tools provided.",
    ),
    Kind(
        "Outings",
        (
            "bird watching",
            "river swimming",
            "hill walks",
            "night skies",
            "mushroom picking",
            "rowing",
        ),
        ("Path", "Round", "Crossing", "Ramble", "Morning", "Loop", "Landing", "Ridge"),
        "{adjective} {noun} with {name}",
        "An outing for {style}, in all weathers.",
    ),
)

FASHIONS = (
    Fashion("letterpress", 3, ("Press", "Type Room", "Ink Club")),
    Fashion("cold-brew tea", 1, ("Tea Cart", "Tea Bar", "Ice House")),
    Fashion("harp nights", 2, ("Harp Room", "Long Evening", "Quiet Stage")),
    Fashion("kite flying", 4, ("Kite Field", "Wind Meet", "Line and Tail")),
    Fashion("map novels", 0, ("Folded Map", "Contour", "Legend")),
    Fashion("seaweed snacks", 1, ("Tide Stall", "Green Counter", "Salt Box")),
    Fashion("shadow theatre", 2, ("Screen", "Lamp House", "Paper Stage")),
    Fashion("beekeeping", 4, ("Hive Walk", "Smoke and Honey", "Bee Yard")),
)

ADJECTIVES = (
    "Amber",
    "Borrowed",
    "Crooked",
    "Distant",
    "Early",
    "Faded",
    "Gentle",
    "Hidden",
    "Idle",
    "Jolly",
    "Kindly",
    "Little",
    "Mellow",
    "Narrow",
    "Open",
    "Patient",
    "Quiet",
    "Rusty",
    "Salted",
    "Tall",
    "Upper",
    "Velvet",
    "Wandering",
    "Yellow",
    "Ashen",
    "Brave",
    "Copper",
    "Dusty",
    "Evening",
    "Frosted",
    "Golden",
    "Humble",
)
NAMES = (
    "Ada",
    "Bruno",
    "Clara",
    "Dov",
    "Edda",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kaya",
    "Leo",
    "Mira",
    "Nils",
    "Olga",
    "Pavel",
    "Rosa",
    "Sami",
    "Tilda",
    "Ugo",
    "Vera",
    "Wim",
    "Xenia",
    "Yusuf",
    "Zora",
    "Anton",
    "Bela",
    "Cleo",
    "Dina",
    "Emil",
)
