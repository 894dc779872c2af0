"""Faults around a running bridge, and what must hold all the same."""
