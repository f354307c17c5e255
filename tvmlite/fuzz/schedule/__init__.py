"""Random schedules, legal and illegal."""
