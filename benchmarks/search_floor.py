"""What the relevance floor costs and finds: real questions against their own API, and the same questions
against others' (some of which really can answer them, so that all found is no goal), and made-up words.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from ammeter.engines.compiler.model import Card
from ammeter.engines.search.floor import FLOOR, relevance, without_values
from ammeter.engines.search.index import SearchIndex, build_index
from ammeter.engines.search.words import content_words, words

FLOORS = (0.30, 0.32, 0.34, 0.36, 0.40, 0.45)
OTHERS = 3
CERTAIN = 9.0


def report_floor(
    cards: Mapping[str, Sequence[Card]],
    queries: Sequence[tuple[str, str, str]],
    split_of: Callable[[str], str],
) -> None:
    """Queries are (description, kind, text)."""
    indexes = {spec: SearchIndex.load(build_index(own)) for spec, own in cards.items()}
    chance = random.Random(7)
    real: dict[str, list[tuple[str, float]]] = {"dev": [], "test": []}
    foreign: dict[str, list[float]] = {"dev": [], "test": []}
    for spec, kind, text in queries:
        split = split_of(spec)
        real[split].append((kind, heard(indexes[spec], text)))
        # A field's name may well be another API's too.
        if kind != "field":
            others = [s for s in indexes if split_of(s) == split and domain(s) != domain(spec)]
            chosen = chance.sample(others, min(OTHERS, len(others)))
            foreign[split] += [heard(indexes[s], text) for s in chosen]
    senseless = [heard(chance.choice(list(indexes.values())), made_up(chance)) for _ in range(500)]
    print("\nrelevance floor: real queries wrongly called a miss (without paraphrases) | misses told")
    print(
        f"{'floor':>8} {'dev lost':>18} {'test lost':>18} |"
        f" {'dev foreign':>12} {'test foreign':>13} {'made-up':>8}"
    )
    for floor in sorted({*FLOORS, FLOOR}):
        lost = [_lost(real[split], floor) for split in ("dev", "test")]
        found = [_share([v < floor for v in values]) for values in (*foreign.values(), senseless)]
        mark = "*" if floor == FLOOR else " "
        print(
            f"{floor:7.2f}{mark} {lost[0]:>18} {lost[1]:>18} |"
            f" {found[0]:12.1%} {found[1]:13.1%} {found[2]:8.1%}"
        )


def heard(index: SearchIndex, text: str) -> float:
    """The relevance that the floor is compared with, at whichever of its two hearings was kinder."""
    ranker = index._ranker
    ranked = ranker.rank(text)
    if ranked.certain:
        return CERTAIN
    first = relevance(ranked, ranker.lexicon)
    bare = without_values(text[:1000], ranker.lexicon)
    if bare == text or not content_words(words(bare)):
        return first
    return max(first, relevance(ranker.rank(bare), ranker.lexicon))


def domain(spec: str) -> str:
    """SOCBench has three APIs of each trade: socbench_1_04, socbench_2_04, socbench_3_04."""
    return spec.rpartition("_")[2] if spec.startswith("socbench_") else spec


def made_up(chance: random.Random) -> str:
    def word() -> str:
        return "".join(
            chance.choice("bcdfghjklmnpqrstvwxz") + chance.choice("aeiou")
            for _ in range(chance.randint(2, 4))
        )

    return " ".join(word() for _ in range(chance.randint(1, 4)))


def _lost(values: Sequence[tuple[str, float]], floor: float) -> str:
    natural = [v < floor for kind, v in values if kind != "paraphrase"]
    return f"{_share([v < floor for _, v in values]):.1%} ({_share(natural):.1%})"


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values) if values else 0.0
