"""The one exception for input that a person can put right."""


class InputError(ValueError):
    """Bad input, told in one line: what is wrong, where, and what would be right.

    The command line prints the line and exits with status 2; it is never a scientific result.
    """
