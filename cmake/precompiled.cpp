// Holds nothing: the target that compiles cmake/precompiled*.h needs a file of its own.
