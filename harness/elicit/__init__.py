"""From a task to a judge to a verdict: everything that meets a model."""
