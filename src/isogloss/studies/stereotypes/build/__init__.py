"""From "there is no stereotype set for my country" to a data set with its card: one module a step."""
