"""Passes that give operators other layouts: TVM's ``ConvertLayout`` and ``AlterOpLayout``."""
