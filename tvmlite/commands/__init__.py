"""The commands of ``tvmlite``, one file each."""
