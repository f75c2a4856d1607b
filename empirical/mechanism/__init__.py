"""Mechanism: is a subject's embedding a superposition, is the MLP a selector, does it transfer (E3, E4, E5)?"""
