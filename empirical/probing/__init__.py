"""Probing: do the subject states of a language model carry linear relational structure (E7)?"""
