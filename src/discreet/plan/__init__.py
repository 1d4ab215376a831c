"""Plans: from a question to everything that will happen, before a row is read."""

from discreet.plan.draft import Draft, Plan, plan
from discreet.plan.explain import explained

__all__ = ["Draft", "Plan", "explained", "plan"]
