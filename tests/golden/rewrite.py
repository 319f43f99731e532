"""`python -m tests.golden.rewrite` writes the golden outputs anew; `git diff tests/golden` is the review."""

from __future__ import annotations

from tests.golden.outputs import FEATURES, FOLDER, outputs


def main() -> None:
    for feature in FEATURES:
        for name, text in outputs(feature).items():
            (FOLDER / feature / name).write_text(text, encoding="utf-8")
        print(feature)


if __name__ == "__main__":
    main()
