"""Archives from the network: downloads that go on where they stopped, and are checked."""
