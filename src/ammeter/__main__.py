"""`python -m ammeter` and the `ammeter` command."""

from ammeter.cli.app import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
