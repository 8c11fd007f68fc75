"""`python -m sojourn`."""

from .cli import main

main()
