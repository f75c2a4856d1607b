"""What is claimed: assumptions, inequalities, the theorems with their proofs, and the page that is made of them.

Uses the definitions (a setting's task) and, for the page alone, the lemmas.
"""
