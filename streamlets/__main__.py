"""`python -m streamlets`: the command `flow`."""

from _streamlets_flow import main

main()
