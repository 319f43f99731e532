"""Run by insights_topics.py in a Python with scikit-learn and BERTopic: a folder with `vectors.npy` and
`labels.json` in; a JSON list of name, NMI, ARI and number of groups out.
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7)
LARGEST = 9_000


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    given = json.loads((folder / "labels.json").read_text())
    people, rows = given["people"], np.load(folder / "vectors.npy")
    told = [scored("Ammeter, in weekly slices", people, given["ours"])]
    grouped = [i for i, topic in enumerate(given["ours"]) if not topic.startswith("alone ")]
    told.append(
        scored(
            "Ammeter, only what is in a topic",
            [people[i] for i in grouped],
            [given["ours"][i] for i in grouped],
        )
    )
    few = rows[:LARGEST]
    distance = np.maximum(1 - few @ few.T, 0)
    average = [
        AgglomerativeClustering(
            n_clusters=None, distance_threshold=threshold, metric="precomputed", linkage="average"
        ).fit_predict(distance)
        for threshold in THRESHOLDS
    ]
    tried = [scored("agglomerative, average, best threshold", people[:LARGEST], one) for one in average]
    told.append(max(tried, key=lambda row: row[2]))
    ward = AgglomerativeClustering(n_clusters=len(set(people)), linkage="ward").fit_predict(few)
    told.append(scored("agglomerative, Ward, true number of groups", people[:LARGEST], ward))
    told += bertopic(people[:LARGEST], few)
    print(json.dumps(told))


def bertopic(people: list[str], rows: np.ndarray) -> list[list]:
    try:
        from bertopic import BERTopic
        from umap import UMAP
    except ImportError as error:
        print(f"BERTopic is left out: {error}", file=sys.stderr)
        return []
    reduced = UMAP(n_components=5, n_neighbors=15, min_dist=0.0, metric="cosine", random_state=1)
    model = BERTopic(umap_model=reduced, embedding_model=None, min_topic_size=10)
    found, _ = model.fit_transform([str(i) for i in range(len(rows))], rows)
    topics = [f"alone {i}" if one == -1 else str(one) for i, one in enumerate(found)]
    return [scored("BERTopic (UMAP, HDBSCAN), outliers alone", people, topics)]


def scored(name: str, people: list[str], found: list) -> list:
    found = [str(one) for one in found]
    nmi, ari = normalized_mutual_info_score(people, found), adjusted_rand_score(people, found)
    return [name, float(nmi), float(ari), len(set(found))]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
