"""`python -m portaria` is the command `portaria`."""

from portaria.cli import main

main()
