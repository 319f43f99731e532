"""Which categories a list is asked for: two parameters that lists of sources and of workflows share."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

# A tuple, for a default that may be shared: pydantic reads the signature of a `default_factory` anew for each
# request, and that was two fifths of its time.
Categories = Annotated[
    tuple[str, ...], Query(description="Category slugs, repeated or comma-separated; any matches.")
]
CategorySlug = Annotated[str | None, Query(alias="categorySlug", description="One category slug.")]


def slugs_of(categories: tuple[str, ...]) -> set[str] | None:
    """Slugs that were repeated or separated by commas; None where none were asked for."""
    if not categories:
        return None
    return {word.strip() for words in categories for word in words.split(",") if word.strip()}
