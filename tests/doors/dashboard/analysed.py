"""An organization with insights to look at: a bookshop that is served, sessions at it, and their refresh."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from ammeter.features.insights import cluster_store, topic_store
from ammeter.features.insights.refresh import refresh
from ammeter.features.insights.topic_model import Cluster, Topic
from ammeter.features.orgs import service
from tests.features.insights.stories import Teller, bookshop, script, search, serve, teller
from tests.household import OPERATOR, Household

REFUNDS = (
    "Refund order 4411",
    "refund order 52 for the customer",
    "Give the customer a refund for order 7",
    "issue a refund for an order",
    "Refund a customer order",
)
TURNOVER = ("turnover", "turnover figures", "quarterly turnover")


@dataclass(frozen=True, slots=True)
class Analysed:
    """A household with MCP Analytics, and who tells what happens there."""

    household: Household
    told: Teller

    def refresh(self) -> None:
        house = self.household.house
        refresh(house.db, house.blobs, self.household.org.id)

    def topics(self, *, archived: bool = False) -> list[Topic]:
        since = self.told.at - timedelta(days=30)
        with self.household.house.db.read() as tx:
            return topic_store.list_topics(tx, self.household.org.id, since=since, archived=archived)

    def clusters(self) -> list[Cluster]:
        since = self.told.at - timedelta(days=30)
        with self.household.house.db.read() as tx:
            return cluster_store.list_clusters(tx, self.household.org.id, since=since)


def switched_on(household: Household) -> Household:
    with household.house.db.write() as tx:
        org = service.set_features(tx, OPERATOR, household.org, mcp_analytics=True)
    return replace(household, org=org)


def analysed(household: Household) -> Analysed:
    """Nothing has happened yet."""
    on = switched_on(household)
    source_id = serve(on.house.db, on.house.blobs, on.org.id, bookshop())
    return Analysed(on, teller(on.house.db, on.org.id, source_id))


def with_refunds(household: Household) -> Analysed:
    """Agents wanted refunds and did not find them; they found the sales under another word."""
    made = analysed(household)
    for intent in REFUNDS:
        made.told.session(search("refund an order"), script(intent, "getOrder", frustration=8))
    for query in TURNOVER:
        made.told.session(
            search(query),
            search("sales", "getSalesReport"),
            script("Tell the sales of a quarter", "getSalesReport", code="return await shop.reports.x();"),
        )
    made.refresh()
    return made
