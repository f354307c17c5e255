"""Passes that change operators' layouts: TVM's ``ConvertLayout`` and ``AlterOpLayout``."""
