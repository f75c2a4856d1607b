"""The one exception for input that a person can put right."""

MOST_CHARACTERS = 1200  # of a line, for two long paths and a command; what is longer loses its middle


class InputError(ValueError):
    """Bad input, told in one line: what is wrong, where, and what would be right.

    The command line prints the line and exits with status 2; it is never a scientific result. The line is one whatever
    names of files and tensors stand in it: control characters are escaped, and what is too long to read is cut.
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


def one_line(text: str) -> str:
    """The text with what does not print escaped, and its middle left out where it is longer than `MOST_CHARACTERS`."""
    kept = MOST_CHARACTERS * 2 // 3
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:kept]} … {text[kept - MOST_CHARACTERS :]}"
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)
