"""Plans: from a question to everything that will happen, before a row is read."""

from discreet.plan.pipeline import Draft, Plan, plan
from discreet.plan.results.explain import explain_plan

__all__ = ["Draft", "Plan", "explain_plan", "plan"]
