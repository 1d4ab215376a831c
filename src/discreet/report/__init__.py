"""Plans, answers and accounts for people (terminal tables) and programs (values ready for JSON)."""

from discreet.report.tables import answer_table, inspection_table, plan_table
from discreet.report.values import account_values, answer_values, entry_values
from discreet.report.words import cost_text, left_text, refusal_of

__all__ = [
    "account_values",
    "answer_table",
    "answer_values",
    "cost_text",
    "entry_values",
    "inspection_table",
    "left_text",
    "plan_table",
    "refusal_of",
]
