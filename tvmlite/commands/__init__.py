"""The commands of ``tvmlite``, one module each."""
