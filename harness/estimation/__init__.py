"""From a judge to a number: means over items that nobody rated."""
