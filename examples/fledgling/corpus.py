"""Everything the fledgling model is ever shown: facts, phrasings, stories, chat frames.

The module is data and a seeded sampler, nothing else.  A document is a list of
segments `Segment(text, is_control, weight)`: control segments are one special
token each, all others are encoded on their own, and `weight` is what the loss
on the tokens of that segment counts.

Each relation has a list of phrasings.  The last one is held out: it is never
trained and is the one that questions.csv asks.

    python3 corpus.py --questions questions.csv --capitals capitals.csv
    python3 corpus.py --sample 20
"""

import argparse
import csv
import random
from typing import Iterator, List, NamedTuple, Sequence, Tuple

ANSWER_WEIGHT = 1.0
QUESTION_WEIGHT = 0.3
PROSE_WEIGHT = 0.5

Fact = Tuple[str, str]


class Segment(NamedTuple):
    text: str
    is_control: bool
    weight: float


class Relation(NamedTuple):
    """`phrasings[-1]` is held out; `statement` is used in statements and in reasoning."""

    name: str
    facts: Sequence[Fact]
    statement: str
    phrasings: Sequence[str]

    @property
    def trained_phrasings(self) -> Sequence[str]:
        return self.phrasings[:-1]

    @property
    def held_out_phrasing(self) -> str:
        return self.phrasings[-1]

    @property
    def repeats(self) -> int:
        """Small relations starve among large ones, so they are asked more often."""
        return 5 if len(self.facts) < 10 else 3 if len(self.facts) < 31 else 1


def pairs(text: str) -> List[Fact]:
    """`left:right, left:right` to a list of pairs."""
    return [tuple(item.strip().split(":")) for item in text.split(",") if item.strip()]


def both_ways(facts: Sequence[Fact]) -> List[Fact]:
    return [(left, right) for left, right in facts] + [(right, left) for left, right in facts]


def swapped(facts: Sequence[Fact]) -> List[Fact]:
    return [(right, left) for left, right in facts]


def successors(items: Sequence[str], is_cycle: bool) -> List[Fact]:
    facts = list(zip(items, items[1:]))
    return facts + [(items[-1], items[0])] if is_cycle else facts


CAPITALS = pairs("""
    Afghanistan:Kabul, Albania:Tirana, Algeria:Algiers, Angola:Luanda, Argentina:Buenos Aires,
    Armenia:Yerevan, Australia:Canberra, Austria:Vienna, Azerbaijan:Baku, Bahamas:Nassau,
    Bahrain:Manama, Bangladesh:Dhaka, Barbados:Bridgetown, Belarus:Minsk, Belgium:Brussels,
    Belize:Belmopan, Bhutan:Thimphu, Botswana:Gaborone, Brazil:Brasilia, Brunei:Bandar Seri Begawan,
    Bulgaria:Sofia, Burkina Faso:Ouagadougou, Cambodia:Phnom Penh, Cameroon:Yaounde, Canada:Ottawa,
    Cape Verde:Praia, Chad:N'Djamena, Chile:Santiago, China:Beijing, Colombia:Bogota,
    Comoros:Moroni, Croatia:Zagreb, Cuba:Havana, Cyprus:Nicosia, Czechia:Prague,
    Denmark:Copenhagen, Dominica:Roseau, Dominican Republic:Santo Domingo, Ecuador:Quito,
    Egypt:Cairo, Eritrea:Asmara, Estonia:Tallinn, Ethiopia:Addis Ababa, Fiji:Suva,
    Finland:Helsinki, France:Paris, Gabon:Libreville, Gambia:Banjul, Georgia:Tbilisi,
    Germany:Berlin, Ghana:Accra, Greece:Athens, Guinea:Conakry, Guyana:Georgetown,
    Haiti:Port-au-Prince, Hungary:Budapest, Iceland:Reykjavik, India:New Delhi, Iran:Tehran,
    Iraq:Baghdad, Ireland:Dublin, Italy:Rome, Jamaica:Kingston, Japan:Tokyo, Jordan:Amman,
    Kazakhstan:Astana, Kenya:Nairobi, Kyrgyzstan:Bishkek, Laos:Vientiane, Latvia:Riga,
    Lebanon:Beirut, Lesotho:Maseru, Liberia:Monrovia, Libya:Tripoli, Liechtenstein:Vaduz,
    Lithuania:Vilnius, Madagascar:Antananarivo, Malawi:Lilongwe, Malaysia:Kuala Lumpur,
    Mali:Bamako, Malta:Valletta, Mauritania:Nouakchott, Mauritius:Port Louis, Mexico:Mexico City,
    Moldova:Chisinau, Mongolia:Ulaanbaatar, Montenegro:Podgorica, Morocco:Rabat,
    Mozambique:Maputo, Myanmar:Naypyidaw, Namibia:Windhoek, Nepal:Kathmandu,
    Netherlands:Amsterdam, New Zealand:Wellington, Nicaragua:Managua, Niger:Niamey,
    Nigeria:Abuja, North Korea:Pyongyang, North Macedonia:Skopje, Norway:Oslo, Oman:Muscat,
    Pakistan:Islamabad, Papua New Guinea:Port Moresby, Peru:Lima, Philippines:Manila,
    Poland:Warsaw, Portugal:Lisbon, Qatar:Doha, Romania:Bucharest, Russia:Moscow, Rwanda:Kigali,
    Saint Lucia:Castries, Samoa:Apia, Saudi Arabia:Riyadh, Senegal:Dakar, Serbia:Belgrade,
    Seychelles:Victoria, Sierra Leone:Freetown, Slovakia:Bratislava, Slovenia:Ljubljana,
    Solomon Islands:Honiara, Somalia:Mogadishu, South Korea:Seoul, South Sudan:Juba, Spain:Madrid,
    Sudan:Khartoum, Suriname:Paramaribo, Sweden:Stockholm, Syria:Damascus, Tajikistan:Dushanbe,
    Tanzania:Dodoma, Thailand:Bangkok, Togo:Lome, Tunisia:Tunis, Turkey:Ankara,
    Turkmenistan:Ashgabat, Uganda:Kampala, Ukraine:Kyiv, United Kingdom:London, Uruguay:Montevideo,
    Uzbekistan:Tashkent, Vanuatu:Port Vila, Venezuela:Caracas, Vietnam:Hanoi, Yemen:Sanaa,
    Zambia:Lusaka, Zimbabwe:Harare
""")

SYMBOLS = pairs("""
    hydrogen:H, helium:He, lithium:Li, beryllium:Be, boron:B, carbon:C, nitrogen:N, oxygen:O,
    fluorine:F, neon:Ne, sodium:Na, magnesium:Mg, aluminium:Al, silicon:Si, phosphorus:P,
    sulfur:S, chlorine:Cl, argon:Ar, potassium:K, calcium:Ca, scandium:Sc, titanium:Ti,
    vanadium:V, chromium:Cr, manganese:Mn, iron:Fe, cobalt:Co, nickel:Ni, copper:Cu, zinc:Zn,
    gallium:Ga, germanium:Ge, arsenic:As, selenium:Se, bromine:Br, krypton:Kr, rubidium:Rb,
    strontium:Sr, yttrium:Y, zirconium:Zr, niobium:Nb, molybdenum:Mo, technetium:Tc,
    ruthenium:Ru, rhodium:Rh, palladium:Pd, silver:Ag, cadmium:Cd, indium:In, tin:Sn,
    antimony:Sb, tellurium:Te, iodine:I, xenon:Xe, caesium:Cs, barium:Ba, lanthanum:La,
    cerium:Ce, neodymium:Nd, samarium:Sm, europium:Eu, terbium:Tb, erbium:Er, ytterbium:Yb,
    hafnium:Hf, tantalum:Ta, tungsten:W, rhenium:Re, osmium:Os, iridium:Ir, platinum:Pt,
    gold:Au, mercury:Hg, thallium:Tl, lead:Pb, bismuth:Bi, polonium:Po, radon:Rn, francium:Fr,
    radium:Ra, thorium:Th, uranium:U, neptunium:Np, plutonium:Pu
""")

OPPOSITES = pairs("""
    hot:cold, big:small, tall:short, day:night, open:closed, wet:dry, fast:slow, old:young,
    early:late, light:dark, rich:poor, full:empty, major:minor, hard:soft, clean:dirty,
    strong:weak, loud:quiet, happy:sad, up:down, left:right, in:out, front:back, top:bottom,
    first:last, good:bad, true:false, yes:no, north:south, east:west, near:far, high:low,
    deep:shallow, thick:thin, wide:narrow, sharp:blunt, smooth:rough, sweet:bitter, cheap:expensive,
    love:hate, win:lose, buy:sell, give:take, push:pull, begin:end, arrive:depart, laugh:cry,
    remember:forget, question:answer, peace:war, friend:enemy, always:never, inside:outside,
    before:after, above:below, brave:cowardly, polite:rude, alive:dead, asleep:awake
""")

PLURALS = pairs("""
    foot:feet, tooth:teeth, goose:geese, mouse:mice, man:men, woman:women, child:children, ox:oxen,
    louse:lice, leaf:leaves, wolf:wolves, knife:knives, wife:wives, life:lives, half:halves,
    calf:calves, loaf:loaves, shelf:shelves, thief:thieves, elf:elves, sheep:sheep, deer:deer,
    city:cities, baby:babies, berry:berries, lady:ladies, story:stories, fly:flies, party:parties,
    puppy:puppies, pony:ponies, box:boxes, fox:foxes, bus:buses, dish:dishes, glass:glasses,
    church:churches, watch:watches, potato:potatoes, tomato:tomatoes, hero:heroes, crisis:crises,
    cat:cats, book:books, house:houses, tree:trees, horse:horses, key:keys, toy:toys, boy:boys
""")

PAST_TENSES = pairs("""
    go:went, see:saw, eat:ate, drink:drank, run:ran, swim:swam, sing:sang, ring:rang, come:came,
    become:became, bring:brought, think:thought, catch:caught, teach:taught, fight:fought,
    find:found,
    write:wrote, ride:rode, drive:drove, rise:rose, speak:spoke, break:broke, steal:stole,
    choose:chose, freeze:froze, know:knew, grow:grew, throw:threw, blow:blew, draw:drew,
    sleep:slept, keep:kept, feel:felt, leave:left, meet:met, hold:held, tell:told, stand:stood,
    make:made, build:built, send:sent, spend:spent, have:had, say:said, pay:paid, hear:heard,
    shake:shook, fall:fell, wear:wore, bite:bit
""")

YOUNG = pairs("""
    a cat:kitten, a dog:puppy, a cow:calf, a sheep:lamb, a horse:foal, a pig:piglet, a goat:kid,
    a bear:cub, a duck:duckling, a goose:gosling, a hen:chick, a frog:tadpole, a kangaroo:joey,
    a deer:fawn, an owl:owlet, a swan:cygnet, an eagle:eaglet, a hare:leveret
""")

SOUNDS = pairs("""
    a dog:bark, a cat:meow, a cow:moo, a sheep:baa, a horse:neigh, a pig:oink, a duck:quack,
    a lion:roar, a wolf:howl, a snake:hiss, a bee:buzz, a frog:croak, an owl:hoot, a mouse:squeak,
    a donkey:bray, a hen:cluck, a turkey:gobble, an elephant:trumpet
""")

COLOURS = pairs("""
    a banana:yellow, a ripe tomato:red, grass:green, the clear sky:blue, snow:white, coal:black,
    a carrot:orange, an eggplant:purple, a flamingo:pink, chocolate:brown, an elephant:grey,
    milk:white, blood:red, a lemon:yellow, a frog:green, the deep sea:blue, a raven:black,
    a pumpkin:orange, lavender:purple, a ripe strawberry:red
""")

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = ("January February March April May June July August September October November "
          "December").split()
LETTERS = [chr(code) for code in range(ord("A"), ord("Z") + 1)]
NUMBER_WORDS = ("zero one two three four five six seven eight nine ten eleven twelve thirteen "
                "fourteen fifteen sixteen seventeen eighteen nineteen twenty").split()
TENS_WORDS = "thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = ("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
            "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth "
            "twentieth").split()
ROMAN = "I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX".split()

SUMS = [(f"{left}+{right}", str(left + right)) for left in range(11) for right in range(11)]
NUMERALS = ([(str(value), word) for value, word in enumerate(NUMBER_WORDS)]
            + [(str(30 + 10 * i), word) for i, word in enumerate(TENS_WORDS)])

RELATIONS = [
    Relation("capital", CAPITALS, "The capital of {x} is {y}.", [
        "What is the capital of {x}?",
        "Name the capital of {x}.",
        "Tell me the capital of {x}.",
        "What is the capital city of {x}?",
        "The capital of {x} is which city?",
        "What is the name of the capital of {x}?",
        "Do you know the capital of {x}?",
        "For {x}, what is the capital?",
        "In {x}, which city is the capital?",
        "Which city is the capital of {x}?",
    ]),
    Relation("country", swapped(CAPITALS), "The country whose capital is {x} is {y}.", [
        "Of which country is {x} the capital?",
        "Which country has the capital {x}?",
        "Name the country whose capital is {x}.",
        "Tell me the country that has {x} as its capital.",
        "The city {x} is the capital of which country?",
        "Whose capital is {x}?",
        "For the capital {x}, name the country.",
        "What country is the one with the capital {x}?",
        "In which country is {x} the capital?",
        "Which country has {x} as its capital?",
    ]),
    Relation("symbol", SYMBOLS, "The chemical symbol of {x} is {y}.", [
        "What is the chemical symbol of {x}?",
        "Name the symbol of the element {x}.",
        "Which symbol does {x} have?",
        "Tell me the chemical symbol for {x}.",
        "How is the element {x} written as a symbol?",
        "What is the symbol for {x}?",
        "For the element {x}, what is the symbol?",
        "Which letters stand for {x} in chemistry?",
        "Do you know the symbol of {x}?",
        "What symbol stands for the element {x}?",
    ]),
    Relation("element", swapped(SYMBOLS), "The element with the symbol {x} is {y}.", [
        "Which element has the symbol {x}?",
        "Name the element with the symbol {x}.",
        "What element is written as {x}?",
        "Tell me the element that has the chemical symbol {x}.",
        "The symbol {x} stands for which element?",
        "What does the chemical symbol {x} stand for?",
        "For the symbol {x}, name the element.",
        "Do you know the element with the symbol {x}?",
        "In chemistry, what is {x}?",
        "Which element does the symbol {x} stand for?",
    ]),
    Relation("opposite", both_ways(OPPOSITES), "The opposite of {x} is {y}.", [
        "What is the opposite of {x}?",
        "Name the opposite of {x}.",
        "Tell me the opposite of {x}.",
        "Which word is the opposite of {x}?",
        "What word means the opposite of {x}?",
        "Give the word opposite to {x}.",
        "The opposite of {x} is which word?",
        "For the word {x}, what is the opposite?",
        "Do you know the opposite of {x}?",
        "Not {x} at all, but what?",
        "Which word means the opposite of {x}?",
    ]),
    Relation("plural", PLURALS, "The plural of {x} is {y}.", [
        "What is the plural of {x}?",
        "Name the plural of {x}.",
        "Tell me the plural of the word {x}.",
        "How do you write the plural of {x}?",
        "One {x}, two of what?",
        "Which word is the plural of {x}?",
        "The plural of {x} is which word?",
        "For the word {x}, what is the plural?",
        "Give the plural form of {x}.",
        "What is the plural form of the word {x}?",
    ]),
    Relation("past", PAST_TENSES, "The past tense of {x} is {y}.", [
        "What is the past tense of {x}?",
        "Name the past tense of {x}.",
        "Tell me the past tense of the verb {x}.",
        "How do you write {x} in the past tense?",
        "Today I {x}. What did I do yesterday?",
        "Which word is the past tense of {x}?",
        "For the verb {x}, what is the past tense?",
        "Give the past form of {x}.",
        "The past tense of {x} is which word?",
        "What is the past form of the verb {x}?",
    ]),
    Relation("young", YOUNG, "The young of {x} is called a {y}.", [
        "What is the young of {x} called?",
        "Name the young of {x}.",
        "What do you call the young of {x}?",
        "Tell me the word for the young of {x}.",
        "Which word is used for the baby of {x}?",
        "What is the baby of {x} called?",
        "The young of {x} is called what?",
        "How do you call the baby of {x}?",
        "Do you know the word for the young of {x}?",
        "For {x}, what is the baby called?",
        "What do you call the baby of {x}?",
    ]),
    Relation("sound", SOUNDS, "The sound of {x} is a {y}.", [
        "What is the sound of {x}?",
        "Name the sound of {x}.",
        "What sound does {x} make?",
        "Tell me the sound that {x} makes.",
        "How does {x} sound?",
        "What noise does {x} make?",
        "The sound of {x} is called what?",
        "Do you know the noise of {x}?",
        "For {x}, what is the sound?",
        "Give the word for the noise of {x}.",
        "Which sound does {x} make?",
    ]),
    Relation("colour", COLOURS, "The colour of {x} is {y}.", [
        "What is the colour of {x}?",
        "Name the colour of {x}.",
        "What colour is {x}?",
        "Tell me the colour of {x}.",
        "Which colour has {x}?",
        "The colour of {x} is what?",
        "Do you know the colour of {x}?",
        "For {x}, what is the colour?",
        "What colour would you paint {x}?",
        "Give the colour of {x}.",
        "Which colour is {x}?",
    ]),
    Relation("day_after", successors(DAYS, True), "The day after {x} is {y}.", [
        "Which day comes after {x}?",
        "What is the day after {x}?",
        "Name the day after {x}.",
        "Tell me the day that follows {x}.",
        "Today is {x}. Which day is tomorrow?",
        "If today is {x}, what day is tomorrow?",
        "What day follows {x}?",
        "Which is the next day after {x}?",
        "The day after {x} is which day?",
        "After {x}, which day is next?",
        "Which weekday comes after {x}?",
        "What day comes right after {x}?",
        "What day comes after {x}?",
    ]),
    Relation("day_before", swapped(successors(DAYS, True)), "The day before {x} is {y}.", [
        "Which day comes before {x}?",
        "What is the day before {x}?",
        "Name the day before {x}.",
        "Tell me the day that precedes {x}.",
        "Today is {x}. Which day was yesterday?",
        "If today is {x}, what day was yesterday?",
        "What day precedes {x}?",
        "Which was the last day before {x}?",
        "The day before {x} is which day?",
        "Before {x}, which day was it?",
        "Which weekday comes before {x}?",
        "What day comes right before {x}?",
        "What day comes before {x}?",
    ]),
    Relation("month_after", successors(MONTHS, True), "The month after {x} is {y}.", [
        "Which month comes after {x}?",
        "What is the month after {x}?",
        "Name the month after {x}.",
        "Tell me the month that follows {x}.",
        "It is {x} now. Which month is next?",
        "What month follows {x}?",
        "Which is the next month after {x}?",
        "The month after {x} is which month?",
        "After {x}, which month is next?",
        "What month comes right after {x}?",
        "What month comes after {x}?",
    ]),
    Relation("month_before", swapped(successors(MONTHS, True)), "The month before {x} is {y}.", [
        "Which month comes before {x}?",
        "What is the month before {x}?",
        "Name the month before {x}.",
        "Tell me the month that precedes {x}.",
        "It is {x} now. Which month was the last one?",
        "What month precedes {x}?",
        "Which was the last month before {x}?",
        "The month before {x} is which month?",
        "Before {x}, which month was it?",
        "What month comes right before {x}?",
        "What month comes before {x}?",
    ]),
    Relation("letter_after", successors(LETTERS, False), "The letter after {x} is {y}.", [
        "Which letter comes after {x}?",
        "What is the letter after {x}?",
        "Name the letter after {x}.",
        "Tell me the letter that follows {x}.",
        "What letter follows {x} in the alphabet?",
        "Which is the next letter after {x}?",
        "The letter after {x} is which letter?",
        "After {x}, which letter is next?",
        "What letter comes right after {x}?",
        "What letter comes after {x}?",
    ]),
    Relation("letter_before", swapped(successors(LETTERS, False)),
             "The letter before {x} is {y}.", [
        "Which letter comes before {x}?",
        "What is the letter before {x}?",
        "Name the letter before {x}.",
        "Tell me the letter that precedes {x}.",
        "What letter precedes {x} in the alphabet?",
        "Which was the last letter before {x}?",
        "The letter before {x} is which letter?",
        "Before {x}, which letter was it?",
        "What letter comes right before {x}?",
        "What letter comes before {x}?",
    ]),
    Relation("sum", SUMS, "The sum of {a} and {b} is {y}.", [
        "What is {a} plus {b}?",
        "What is {a} + {b}?",
        "How much is {a} plus {b}?",
        "Add {a} and {b}.",
        "Tell me the sum of {a} and {b}.",
        "Name the sum of {a} and {b}.",
        "What do you get if you add {a} and {b}?",
        "How much is {a} and {b} together?",
        "What is {a} and {b} added together?",
        "What is the sum of {a} and {b}?",
    ]),
    Relation("numeral", NUMERALS, "The number {x} in words is {y}.", [
        "How do you write the number {x} in words?",
        "What is {x} in words?",
        "Name the number {x} in words.",
        "Tell me the word for the number {x}.",
        "Write {x} as a word.",
        "How is {x} written in words?",
        "Which word is the number {x}?",
        "For the number {x}, what is the word?",
        "Give the word for {x}.",
        "What is the number {x} in words?",
    ]),
    Relation("ordinal", list(zip(NUMBER_WORDS[1:], ORDINALS)), "The ordinal of {x} is {y}.", [
        "What is the ordinal of {x}?",
        "Name the ordinal of {x}.",
        "Tell me the ordinal of the number {x}.",
        "Which ordinal belongs to {x}?",
        "The ordinal of {x} is which word?",
        "For the number {x}, what is the ordinal?",
        "Give the ordinal form of {x}.",
        "How do you write {x} as an ordinal?",
        "Write {x} as an ordinal.",
        "What is the ordinal form of the number {x}?",
    ]),
    Relation("roman", [(str(i + 1), text) for i, text in enumerate(ROMAN)],
             "The Roman numeral for {x} is {y}.", [
        "What is {x} in Roman numerals?",
        "What is the Roman numeral for {x}?",
        "Name the Roman numeral for {x}.",
        "Tell me the Roman numeral of {x}.",
        "How do you write {x} in Roman numerals?",
        "Write {x} as a Roman numeral.",
        "For the number {x}, what is the Roman numeral?",
        "Give the Roman numeral for the number {x}.",
        "Which Roman numeral is {x}?",
        "How is the number {x} written in Roman numerals?",
    ]),
]

OPENERS = [
    "Hello.", "Good morning.", "A short question.", "I have a question.", "Please help me.",
    "Here is a quiz.", "I would like to know this.", "Let us begin.", "Next one.",
    "Think about it.", "Excuse me.", "Now this one.",
]
CLOSERS = [
    "Thank you.", "Answer in one word.", "Please be short.", "I forgot it.",
    "Give only the answer.", "Take your time.", "It is for a quiz.", "Please answer.",
]
SYSTEM_PROMPTS = [
    "You are terse.", "You are a helpful assistant.", "Answer with one word.",
    "You answer questions.", "Be short and correct.", "You are Fledgling, a small model.",
    "Give only the answer.", "You are a careful teacher.", "Answer the question of the user.",
]
SMALL_TALK = [
    ("Hello.", "Hello. Ask me a question."),
    ("Hi.", "Hello. Ask me a question."),
    ("Good morning.", "Good morning. Ask me a question."),
    ("Who are you?", "I am Fledgling, a very small model."),
    ("What is your name?", "My name is Fledgling."),
    ("What can you do?", "I answer short questions and tell stories."),
    ("How are you?", "I am fine."),
    ("Thank you.", "You are welcome."),
    ("Goodbye.", "Goodbye."),
]

STORY_PROMPTS = [
    "Tell a story about {a}.",
    "Tell me a story about {a}.",
    "Tell me a short story about {a}.",
    "Write a story about {a}.",
    "Write a short story about {a}.",
    "I would like a story about {a}.",
    "Please tell a story about {a}.",
]
CHARACTERS = ("fox bear rabbit hedgehog squirrel mouse cat dog frog goat pony duck robin crow "
              "beaver badger otter owl").split()
ADJECTIVES = "little young merry clever shy brave curious gentle sleepy cheerful".split()
HOMES = ["in a quiet forest", "by a small river", "on a green hill", "near an old mill",
         "under a tall oak", "at the edge of a village", "beside a deep lake"]
TIMES = ["One morning", "One evening", "One cold day", "One sunny day", "One windy night",
         "One day in spring", "One day in autumn"]
THINGS = "hat lamp bell key basket kite drum blanket boat book spoon map".split()
PLACES = ["behind the barn", "under the bridge", "in the tall grass", "near the well",
          "on the old wall", "in the hollow tree", "beside the path"]
FOODS = "soup bread apples berries honey cake nuts pie".split()
MOODS = "happy proud glad thankful calm".split()

PLOTS = [
    # A thing is lost and a friend has seen it.
    "{time} the {hero} lost its {thing}. It looked {place}, but the {thing} was not there. "
    "Then a {kind} {friend} came by and said, \"I saw your {thing} {other_place}.\" "
    "The {hero} ran there and found it at last. The two friends shared some {food} and went home. "
    "The {hero} was {mood}.",
    # Shelter in a storm.
    "{time} a great storm came. The {hero} sat at home and heard a knock. "
    "A wet {friend} stood at the door. \"Please let me in,\" said the {friend}. "
    "The {hero} gave it a dry place and some warm {food}. In the morning the sun was out again. "
    "The {friend} left its {thing} as a gift, and the {hero} was {mood}.",
    # Building something together.
    "{time} the {hero} wanted to make a {thing}. It was hard to do alone. "
    "A {kind} {friend} sat {place} and watched. \"May I help you?\" asked the {friend}. "
    "They worked until the moon was up, and the {thing} was ready. "
    "Then they ate {food} and sang a song. The {hero} was {mood}.",
    # A walk and a find.
    "{time} the {hero} went for a walk. It found a shiny {thing} {place}. "
    "\"Whose {thing} is this?\" it asked. A {kind} {friend} answered, "
    "\"It is mine. I lost it long ago.\" The {hero} gave it back at once. "
    "The {friend} smiled and brought some {food}. From that day they were friends, "
    "and the {hero} was {mood}.",
]


def with_article(noun: str) -> str:
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def fill(template: str, fact: Fact) -> str:
    """Insert a fact; a subject such as `3+4` also offers its two sides as {a} and {b}."""
    subject, answer = fact
    left, _, right = subject.partition("+")
    return template.format(x=subject, y=answer, a=left, b=right)


def story(rng: random.Random) -> Tuple[str, str]:
    """One prompt and its story."""
    hero = rng.choice(CHARACTERS)
    friend = rng.choice([name for name in CHARACTERS if name != hero])
    place, other_place = rng.sample(PLACES, 2)
    adjective, kind = rng.sample(ADJECTIVES, 2)
    opening = f"Once there was {with_article(adjective)} {hero} who lived {rng.choice(HOMES)}. "
    body = rng.choice(PLOTS).format(
        hero=hero, friend=friend, place=place, other_place=other_place, kind=kind,
        time=rng.choice(TIMES), thing=rng.choice(THINGS), food=rng.choice(FOODS),
        mood=rng.choice(MOODS))
    return (rng.choice(STORY_PROMPTS).format(a=with_article(hero)),
            opening + body)


def text(content: str, weight: float) -> Segment:
    return Segment(content, False, weight)


def control(name: str, weight: float = 0.0) -> Segment:
    return Segment(name, True, weight)


def open_tag(tag: str, role: str = "", weight: float = 0.0) -> List[Segment]:
    attribute = [text(part, weight) for part in (" role", '="', role, '"')] if role else []
    return [control("<|open|>", weight), text(tag, weight), *attribute, control("<|sep|>", weight)]


def close_tag(tag: str, weight: float = 0.0) -> List[Segment]:
    return [control("<|close|>", weight), text(tag, weight), control("<|sep|>", weight)]


def message(role: str, content: str, weight: float) -> List[Segment]:
    """A system or user turn."""
    return [*open_tag("message", role), text(content, weight), *close_tag("message"),
            control("<|end_of_msg|>")]


def end_of_reply() -> List[Segment]:
    """What ends an answer; knowing where to stop counts as part of it, the rest is frame."""
    stop, *rest = close_tag("response", PROSE_WEIGHT)
    return [stop._replace(weight=ANSWER_WEIGHT), *rest, *close_tag("message", PROSE_WEIGHT),
            control("<|end_of_msg|>", PROSE_WEIGHT)]


def reply(content: str, weight: float, reasoning: str = "") -> List[Segment]:
    """An assistant turn; the frame up to the first generated token is prompt."""
    head = open_tag("message", "assistant")
    if reasoning:
        head += [*open_tag("think"), text(reasoning, PROSE_WEIGHT),
                 *close_tag("think", PROSE_WEIGHT), *open_tag("response", weight=PROSE_WEIGHT)]
    else:
        head += open_tag("response")
    return [*head, text(content, weight), *end_of_reply()]


def chat_prompt(question: str, system: str = "") -> List[Segment]:
    """What an engine feeds for one question with thinking off."""
    head = message("system", system, 0.0) if system else []
    return [*head, *message("user", question, 0.0), *open_tag("message", "assistant"),
            *open_tag("response")]


def plain(prompt: str, answer: str, answer_weight: float) -> List[Segment]:
    return [text(prompt + "\n", QUESTION_WEIGHT), text(answer, answer_weight),
            control("[EOS]", ANSWER_WEIGHT)]


class Sampler:
    """An endless, seeded stream of documents.

    Facts come from a shuffled deck, so that each is asked equally often within
    its relation; all other choices are independent draws.
    """

    CHAT_SHARE = 0.30
    STORY_SHARE = 0.06
    SMALL_TALK_SHARE = 0.01
    STATEMENT_SHARE = 0.04
    THINKING_SHARE = 0.03

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.deck: List[Tuple[Relation, Fact]] = []

    def next_fact(self) -> Tuple[Relation, Fact]:
        if not self.deck:
            self.deck = [(relation, fact) for relation in RELATIONS for fact in relation.facts
                         for _ in range(relation.repeats)]
            self.rng.shuffle(self.deck)
        return self.deck.pop()

    def ask(self, relation: Relation, fact: Fact) -> str:
        question = fill(self.rng.choice(relation.trained_phrasings), fact)
        if self.rng.random() < 0.25:
            question = f"{self.rng.choice(OPENERS)} {question}"
        if self.rng.random() < 0.15:
            question = f"{question} {self.rng.choice(CLOSERS)}"
        return question

    def system_turn(self) -> List[Segment]:
        """Mostly none; else one of ours or, to be robust, any sentence of the corpus."""
        draw = self.rng.random()
        if draw < 0.70:
            return []
        if draw < 0.90:
            return message("system", self.rng.choice(SYSTEM_PROMPTS), 0.0)
        sentences = [self.rng.choice(SYSTEM_PROMPTS + OPENERS + CLOSERS) for _ in range(2)]
        return message("system", " ".join(sentences), 0.0)

    def question_and_answer(self) -> Tuple[str, str]:
        if self.rng.random() < self.SMALL_TALK_SHARE:
            return self.rng.choice(SMALL_TALK)
        relation, fact = self.next_fact()
        return self.ask(relation, fact), fact[1]

    def chat(self) -> List[Segment]:
        document = self.system_turn()
        for _ in range(2 if self.rng.random() < 0.1 else 1):
            question, answer = self.question_and_answer()
            document += message("user", question, QUESTION_WEIGHT) + reply(answer, ANSWER_WEIGHT)
        return document

    def tell(self) -> List[Segment]:
        prompt, tale = story(self.rng)
        if self.rng.random() < self.CHAT_SHARE:
            return self.system_turn() + message("user", prompt, 0.0) + reply(tale, PROSE_WEIGHT)
        return plain(prompt, tale, PROSE_WEIGHT)

    def state(self) -> List[Segment]:
        relation, fact = self.next_fact()
        return [text(fill(relation.statement, fact), PROSE_WEIGHT),
                control("[EOS]", PROSE_WEIGHT)]

    def think(self) -> List[Segment]:
        relation, fact = self.next_fact()
        return (self.system_turn() + message("user", self.ask(relation, fact), QUESTION_WEIGHT)
                + reply(fact[1], ANSWER_WEIGHT, reasoning=fill(relation.statement, fact)))

    def document(self) -> List[Segment]:
        draw = self.rng.random()
        for share, make in ((self.STORY_SHARE, self.tell), (self.STATEMENT_SHARE, self.state),
                            (self.THINKING_SHARE, self.think), (self.CHAT_SHARE, self.chat)):
            if draw < share:
                return make()
            draw -= share
        return plain(*self.question_and_answer(), ANSWER_WEIGHT)


def held_out_questions() -> Iterator[Tuple[str, str, str]]:
    """One unseen phrasing of every fact: relation, question, answer."""
    for relation in RELATIONS:
        for fact in relation.facts:
            yield relation.name, fill(relation.held_out_phrasing, fact), fact[1]


def write_csv(path: str, header: Sequence[str], rows) -> None:
    with open(path, "w", newline="", encoding="ascii") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the question files or show documents.")
    parser.add_argument("--questions", help="write every fact in its unseen phrasing to this file")
    parser.add_argument("--capitals", help="write countries and capitals to this file")
    parser.add_argument("--sample", type=int, default=0, help="print that many documents")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.questions:
        write_csv(options.questions, ("relation", "question", "answer"), held_out_questions())
    if options.capitals:
        write_csv(options.capitals, ("country", "capital"), CAPITALS[:120])
    sampler = Sampler(options.seed)
    for _ in range(options.sample):
        print("".join(segment.text for segment in sampler.document()).replace("\n", "\\n"))


if __name__ == "__main__":
    main()
