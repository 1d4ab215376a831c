"""What the project audits of itself, all together: every mechanism and every service with its own
claim, each with a bug planted beside it, and the bugs that were published. Lists; owns no inputs.
"""

from contextlib import ExitStack

from discreet.audit.published import bugs
from discreet.audit.services.curator import curator_services
from discreet.audit.services.release import release_services
from discreet.audit.services.streams import stream_services
from discreet.audit.subject import Examined, Subject, examine, find
from discreet.audit.subjects.blocks import block_audits
from discreet.audit.subjects.local import local_audits
from discreet.audit.subjects.mechanisms import mechanism_audits
from discreet.audit.subjects.release import release_audits
from discreet.audit.subjects.robust import robust_audits
from discreet.audit.subjects.smooth import smooth_audits
from discreet.audit.subjects.streams import stream_audits

__all__ = ["Examined", "Subject", "bugs", "everything", "examine", "find", "mechanism_subjects"]


def mechanism_subjects() -> tuple[Subject, ...]:
    """Every mechanism of `discreet.mechanisms`, without the bugs beside them.

    >>> "NestedQuantiles" in [one.name for one in mechanism_subjects()]
    True
    """
    return tuple(one for one in mechanism_audits() if not one.bug)


def everything(stack: ExitStack) -> tuple[Subject, ...]:
    """All subjects. Vaults of services are made when first drawn from, and end with the stack.

    >>> with ExitStack() as stack:
    ...     everything(stack)[0].name
    'DiscreteLaplace'
    """
    return (
        *mechanism_audits(),
        *local_audits(),
        *stream_audits(),
        *smooth_audits(),
        *robust_audits(),
        *block_audits(),
        *release_audits(),
        *curator_services(stack),
        *stream_services(stack),
        *release_services(stack),
        *bugs(),
    )
