"""The playground: type a rule, read the story, and see what the tracker changes at every step."""

from reproduction.playground.story import Candidate, Story, read, tell

__all__ = ["Candidate", "Story", "read", "tell"]
