"""The transport model of weather, and the network without transport beside it."""
