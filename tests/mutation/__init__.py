"""A mutation check of the parts on which privacy rests: `make mutants`."""
