"""ClimODE: transport of second order, in which the winds have a history of their own and are solved for in training."""
