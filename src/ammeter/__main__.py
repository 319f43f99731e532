"""`python -m ammeter` and the `ammeter` command."""

import gc

# What imports make stays for as long as the process; looking for waste in it takes a tenth of a start.
gc.set_threshold(100_000, 50, 50)

from ammeter.cli.app import main  # noqa: E402

__all__ = ["main"]

if __name__ == "__main__":
    main()
