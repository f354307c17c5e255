"""TVM's algebraic data types and pattern matching, which are not here."""

from tvmlite.tvm.absent import missing

_TUPLES = "there are tensors and tuples: relay.Tuple and relay.If"

Match = missing("relay.Match", _TUPLES)
Clause = missing("relay.Clause", _TUPLES)
Constructor = missing("relay.Constructor", _TUPLES)
TypeData = missing("relay.TypeData", _TUPLES)
PatternConstructor = missing("relay.PatternConstructor", _TUPLES)
PatternTuple = missing("relay.PatternTuple", _TUPLES)
PatternVar = missing("relay.PatternVar", _TUPLES)
PatternWildcard = missing("relay.PatternWildcard", _TUPLES)
Prelude = missing("relay.Prelude", _TUPLES)
