"""The forms in which questions stand in durable identities: one line for each class, which never
changes, whatever the class and its fields are called later.
"""

from types import MappingProxyType

from discreet.encoding import LOSS_FORMS, Form, Forms
from discreet.query.algebra import (
    Join,
    Key,
    Options,
    Order,
    Output,
    PerUnit,
    Query,
    Rows,
    Scan,
    Window,
    Windowed,
)
from discreet.query.expression import (
    Aggregate,
    Arithmetic,
    Bucket,
    Case,
    Compare,
    DatePart,
    DateTrunc,
    Extreme,
    Field,
    Floor,
    IntervalEnd,
    IsNull,
    Junction,
    Literal,
    Member,
    Negation,
    Statistic,
)

__all__ = ["QUERY_FORMS"]

QUERY_FORMS: Forms = MappingProxyType(
    {
        **LOSS_FORMS,
        Aggregate: Form.of("Aggregate", "statistic", "argument", "second", "fraction"),
        Arithmetic: Form.of("Arithmetic", "operator", "left", "right"),
        Bucket: Form.of("Bucket", "operand", "lower", "upper", "count"),
        Case: Form.of("Case", "branches", "otherwise"),
        Compare: Form.of("Compare", "operator", "left", "right"),
        DatePart: Form.of("DatePart", "part", "operand"),
        DateTrunc: Form.of("DateTrunc", "unit", "operand"),
        Extreme: Form.of("Extreme", "side", "parts"),
        Field: Form.of("Field", "name"),
        Floor: Form.of("Floor", "operand"),
        IntervalEnd: Form.of("IntervalEnd", "side", "output"),
        IsNull: Form.of("IsNull", "operand"),
        Join: Form.of("Join", "kind", "left", "right", "on"),
        Junction: Form.of("Junction", "operator", "parts"),
        Key: Form.of("Key", "name", "expression"),
        Literal: Form.of("Literal", "value"),
        Member: Form.of("Member", "operand", "values"),
        Negation: Form.of("Negation", "operand"),
        Options: Form.of(
            "Options", "epsilon", "delta", "max_groups_contributed", "max_rows_contributed"
        ),
        Order: Form.of("Order", "expression", "direction"),
        Output: Form.of("Output", "name", "expression"),
        PerUnit: Form.of("PerUnit", "source", "where", "keys", "columns"),
        Query: Form.of(
            "Query",
            "source",
            "where",
            "keys",
            "outputs",
            "columns",
            "having",
            "order",
            "limit",
            "options",
        ),
        Rows: Form.of("Rows", "source", "where", "columns"),
        Scan: Form.of("Scan", "table", "names"),
        Window: Form.of("Window", "function", "argument", "partition", "order", "frame", "offset"),
        Windowed: Form.of("Windowed", "source", "where", "columns"),
        Statistic: MappingProxyType(
            {
                "count(*)": "<Statistic.ROWS: 'count(*)'>",
                "count": "<Statistic.VALUES: 'count'>",
                "count(distinct unit)": "<Statistic.UNITS: 'count(distinct unit)'>",
                "sum": "<Statistic.SUM: 'sum'>",
                "avg": "<Statistic.AVERAGE: 'avg'>",
                "var_samp": "<Statistic.VARIANCE_SAMPLE: 'var_samp'>",
                "var_pop": "<Statistic.VARIANCE_POPULATION: 'var_pop'>",
                "stddev_samp": "<Statistic.DEVIATION_SAMPLE: 'stddev_samp'>",
                "stddev_pop": "<Statistic.DEVIATION_POPULATION: 'stddev_pop'>",
                "covar_samp": "<Statistic.COVARIANCE_SAMPLE: 'covar_samp'>",
                "covar_pop": "<Statistic.COVARIANCE_POPULATION: 'covar_pop'>",
                "corr": "<Statistic.CORRELATION: 'corr'>",
                "regr_slope": "<Statistic.SLOPE: 'regr_slope'>",
                "regr_intercept": "<Statistic.INTERCEPT: 'regr_intercept'>",
                "quantile": "<Statistic.QUANTILE: 'quantile'>",
                "min": "<Statistic.MINIMUM: 'min'>",
                "max": "<Statistic.MAXIMUM: 'max'>",
                "mode": "<Statistic.MODE: 'mode'>",
            }
        ),
    }
)
"""The forms of everything that a question is made of, prices included."""
