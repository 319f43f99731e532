"""Harbour Books in values: what it sells, to whom, and what may be sent to it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

GENRES = (
    *("adventure", "cooking", "crime", "fiction", "history", "nature", "poetry", "science", "travel"),
    "young-adult",
)
OrderStatus = Literal["placed", "shipped", "cancelled"]

Name = Annotated[str, Field(min_length=1, max_length=200)]
Email = Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=200)]
Genre = Annotated[str, Field(pattern=rf"^({'|'.join(GENRES)})$")]
Cents = Annotated[int, Field(ge=1, le=100_000)]
Stock = Annotated[int, Field(ge=0, le=10_000)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class Author(_Record):
    id: str
    name: str
    born_in: int
    country: str
    about: str


class Book(_Record):
    id: str
    title: str
    author_id: str
    isbn: str
    genre: str
    price_cents: int
    stock: int
    pages: int
    published_on: date


class Customer(_Record):
    id: str
    name: str
    email: str
    city: str | None
    loyalty_points: int
    joined_at: datetime


class OrderItem(_Record):
    book_id: str
    quantity: int
    unit_price_cents: int


class Order(_Record):
    id: str
    customer_id: str
    status: OrderStatus
    items: list[OrderItem]
    total_cents: int
    note: str | None
    placed_at: datetime
    updated_at: datetime


class Review(_Record):
    id: str
    book_id: str
    customer_id: str
    stars: int
    text: str
    written_at: datetime


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class NewBook(_Sent):
    title: Name
    author_id: str
    genre: Genre
    price_cents: Cents
    stock: Stock = 0
    pages: Annotated[int, Field(ge=1, le=5_000)]
    isbn: Annotated[str, Field(pattern=r"^\d{13}$")]
    published_on: Annotated[date, Field(strict=False)]


class BookChange(_Sent):
    title: Name | None = None
    price_cents: Cents | None = None
    stock: Stock | None = None


class NewCustomer(_Sent):
    name: Name
    email: Email
    city: Name | None = None


class CustomerChange(_Sent):
    name: Name | None = None
    email: Email | None = None
    city: Name | None = None


class NewItem(_Sent):
    book_id: str
    quantity: Annotated[int, Field(ge=1, le=20)] = 1


class NewOrder(_Sent):
    customer_id: str
    items: Annotated[list[NewItem], Field(min_length=1, max_length=20)]
    note: Annotated[str, Field(max_length=500)] | None = None


class OrderChange(_Sent):
    note: Annotated[str, Field(max_length=500)] | None


class NewReview(_Sent):
    customer_id: str
    stars: Annotated[int, Field(ge=1, le=5)]
    text: Annotated[str, Field(min_length=1, max_length=2000)]
