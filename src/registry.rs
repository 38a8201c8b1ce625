//! Every store: one row each. A row names the type; [`visit`] hands it to generic code, so that timed loops are monomorphised.
