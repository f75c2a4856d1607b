"""Counts and lower bounds: how many fact systems there are, and how many bits a model that knows one must hold.

`counting`, `matchings`, `simple_graphs` and `answer_vectors` count exactly, `kinds` names them all, `brute_force`
counts the same things by listing them, and `logarithms` encloses the logarithms of counts too large to write.
"""
