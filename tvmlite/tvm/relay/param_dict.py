"""TVM's old name of the functions that write and read parameters."""

from tvmlite.tvm.runtime_params import load_param_dict, save_param_dict

__all__ = ["load_param_dict", "save_param_dict"]
