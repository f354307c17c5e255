"""Fixtures that tests of techniques share with those of relay."""

from same_meaning import assert_same_meaning  # noqa: F401  (a fixture)
