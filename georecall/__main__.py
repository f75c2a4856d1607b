"""`python -m georecall` is the command `georecall`."""

from georecall import main

main()
