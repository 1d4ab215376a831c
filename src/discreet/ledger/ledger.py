"""The durable filter: both accounts are read, checked and charged in one transaction.
When `charge` returns, the entry is on the disk; when it raises, nothing was charged.
"""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

from discreet.accounting.conversion import zcdp_epsilon
from discreet.errors import BudgetExceeded, InvalidValue
from discreet.ledger.account import (
    Account,
    Holder,
    Remaining,
    round_up,
    share_remaining,
    takes_nothing,
)
from discreet.ledger.entry import Act, Entry, Receipt, describe_account, describe_loss, memo_text
from discreet.ledger.floor import NO_FLOOR, PriceFloor
from discreet.ledger.quota import NO_QUOTA
from discreet.ledger.requests import Request, bind, check_unbound
from discreet.ledger.states import Change, check_name, move
from discreet.ledger.store.book import (
    Book,
    Sealed,
    accounts_after,
    find_account,
    newest_charges,
    newest_entries,
    read_accounts,
    read_entries,
    require_account,
)
from discreet.ledger.store.store import Store
from discreet.ledger.verification import Verification, replay
from discreet.loss import Loss
from discreet.rationals import ceil_decimal
from discreet.schema.table import Budget

__all__ = ["Ledger", "open_account"]

_DIGITS = 8  # of an epsilon in advice


class Ledger:
    """Accounts and the append-only record of every charge to them, in a file or on a server.

    Several processes and threads may use one. `floor` is the least price of a charge, `quota` the
    most bytes that may be stored for one analyst. A charge is admitted only within both budgets,
    whatever was asked before (see `Account`); the entry is durable before anything is run.
    >>> import tempfile
    >>> from discreet.loss import Pure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger.open(f"{folder}/vault/vault.db")
    ...     ledger.add_account("population", "patients", Budget(epsilon=1))
    ...     ledger.add_account("analyst", "ana", Budget(epsilon=1))
    ...     receipt = ledger.charge(population="patients", analyst="ana", loss=Pure(epsilon=0.1))
    ...     print(receipt.sequence, ledger.remaining("analyst", "ana").epsilon)
    ...     ledger.close()
    3 9/10
    """

    __slots__ = ("_store", "floor", "quota")

    def __init__(self, store: Store, floor: PriceFloor = NO_FLOOR) -> None:
        self._store = store
        self.floor = floor
        self.quota = NO_QUOTA

    @classmethod
    def open(cls, path: str | Path) -> "Ledger":
        """Open the file, or make it.

        >>> Ledger.open("")
        Traceback (most recent call last):
        discreet.errors.InvalidValue: the ledger's path is empty; name a file.
        """
        if not str(path):
            raise InvalidValue("the ledger's path is empty; name a file.")
        return cls(Store.file(Path(path).absolute()))

    def close(self) -> None:
        """Close the file; what was charged stays."""
        self._store.close()

    def add_account(self, holder: Holder | str, name: str, budget: Budget) -> None:
        """Open an account; once more with the same budget changes nothing, with another is refused.

        Nothing opens a second budget for the same people.
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault/vault.db")
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=1))
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=2))
        Traceback (most recent call last):
        discreet.errors.InvalidValue: analyst 'ana' has a budget of epsilon=1, delta=0 already. \
To make it epsilon=2, delta=0, run `discreet ledger amend analyst ana --epsilon 2 --why TEXT`. \
Nothing was changed.
        """
        account = Account.open(_holder(holder), name, budget)
        self._store.share(lambda book: open_account(book, account))

    def amend(
        self, holder: Holder | str, name: str, budget: Budget, memo: Mapping[str, str]
    ) -> None:
        """Give an account another budget, as a recorded act; what was spent is priced again.

        The guarantee from now on is that of the new budget, for all charges so far too.
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault/vault.db")
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=1))
        ...     ledger.amend("analyst", "ana", Budget(epsilon=2), {"why": "second year"})
        ...     ledger.remaining("analyst", "ana").epsilon
        Fraction(2, 1)
        """
        fresh = Account.open(_holder(holder), name, budget)
        text = memo_text(memo)

        def amend(book: Book) -> None:
            known = book.account(fresh.holder, name)  # must be there
            try:
                amended = replay(read_entries(book.connection), fresh)
            except BudgetExceeded:
                raise BudgetExceeded(_refusal_of_amount(known, fresh)) from None
            book.append(Act.AMEND, (fresh,), describe_account(fresh), text)
            book.put(amended)

        self._store.share(amend)

    def charge(
        self,
        *,
        population: str,
        analyst: str,
        loss: Loss,
        memo: Mapping[str, str] | None = None,
        request: Request | None = None,
        state: Change | None = None,
    ) -> Receipt:
        """Charge both accounts and record it, or raise and change nothing.

        The memo says what was asked, in public terms; its `label` begins a refusal. A request is
        tied to the charge and is refused if it is tied to one already. A `state` is moved on in the
        same transaction, or nothing is charged. Refusals depend on budgets and prices only, never
        on data.
        >>> import tempfile
        >>> from discreet.loss import Pure
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault/vault.db")
        ...     ledger.add_account("population", "patients", Budget(epsilon=1))
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=5))
        ...     memo = {"label": "COUNT(*) by city"}
        ...     ledger.charge(population="patients", analyst="ana", loss=Pure(epsilon=2), memo=memo)
        Traceback (most recent call last):
        discreet.errors.BudgetExceeded: COUNT(*) by city would bring the epsilon of population \
'patients' to 2; the budget is 1. Ask at a lower price, or ask the custodian for a larger budget. \
Nothing was run or charged.
        """
        text, loss = memo_text(memo or {}), round_up(loss)
        label = (memo or {}).get("label") or "This charge"
        event = describe_loss(loss)
        self.check_quota(analyst)

        def charge(book: Book) -> Sealed:
            accounts = (
                book.account(Holder.POPULATION, population),
                book.account(Holder.ANALYST, analyst),
            )
            charged = tuple(account.admit(loss, label=label) for account in accounts)
            if not takes_nothing(loss):
                self.floor.check(accounts, loss, label=label)
            if request is not None:
                check_unbound(book, analyst, request)
            for account in charged:
                book.put(account)
            written = book.append(Act.CHARGE, charged, event, text)
            if request is not None:
                bind(book, analyst, request, written[0].sequence)
            if state is not None:
                move(book, state)
            return written

        entry, seal = self._store.share(charge)
        return entry.receipt_for(seal, loss, dict(memo or {}))

    def check_quota(self, analyst: str) -> None:
        """Refuse an analyst for whom as much is stored as an account may fill."""
        self.quota.check(analyst, self._store.reading)

    def payers(self, *, population: str, analyst: str) -> tuple[Account, Account]:
        """The two accounts that a charge is taken from."""
        with self._store.reading() as connection:
            return (
                require_account(connection, Holder.POPULATION, population),
                require_account(connection, Holder.ANALYST, analyst),
            )

    def account(self, holder: Holder | str, name: str) -> Account:
        """An account as it stands now."""
        with self._store.reading() as connection:
            return require_account(connection, _holder(holder), name)

    def find(self, holder: Holder | str, name: str) -> Account | None:
        """An account as it stands now, or None if there is none of this name."""
        with self._store.reading() as connection:
            return find_account(connection, _holder(holder), name)

    def accounts(self) -> tuple[Account, ...]:
        """All accounts, populations first, by name."""
        with self._store.reading() as connection:
            return tuple(read_accounts(connection))

    def analysts(self) -> tuple[Account, ...]:
        """The accounts of analysts, by name."""
        return tuple(account for account in self.accounts() if account.holder is Holder.ANALYST)

    def accounts_after(self, holder: Holder | str, name: str, *, limit: int) -> tuple[Account, ...]:
        """The first so many accounts after one, populations first, by name."""
        with self._store.reading() as connection:
            return tuple(accounts_after(connection, _holder(holder), name, limit=limit))

    def remaining(self, holder: Holder | str, name: str) -> Remaining:
        """What an account can still admit, rounded down."""
        return self.account(holder, name).remaining

    def available(self, *, population: str, analyst: str) -> Remaining:
        """What both accounts together can still admit from one query, rounded down.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger.open(f"{folder}/vault/vault.db")
        ...     ledger.add_account("population", "patients", Budget(epsilon=1))
        ...     ledger.add_account("analyst", "ana", Budget(epsilon=2))
        ...     ledger.available(population="patients", analyst="ana").epsilon
        Fraction(1, 1)
        """
        return share_remaining(*self.payers(population=population, analyst=analyst))

    def entries(self) -> tuple[Entry, ...]:
        """Everything that was recorded, in order."""
        with self._store.reading() as connection:
            return tuple(read_entries(connection))

    def entries_after(self, sequence: int, *, limit: int) -> tuple[Entry, ...]:
        """The first so many entries after one, oldest first."""
        with self._store.reading() as connection:
            return tuple(read_entries(connection, after=sequence, limit=limit))

    def entries_before(self, sequence: int | None, *, limit: int) -> tuple[Entry, ...]:
        """The last so many entries before one, or of all, newest first."""
        with self._store.reading() as connection:
            return tuple(newest_entries(connection, before=sequence, limit=limit))

    def count(self) -> int:
        """How many entries there are: the number of the newest."""
        with self._store.reading() as connection:
            row = connection.execute("SELECT coalesce(max(sequence), 0) FROM entries").fetchone()
        return int(row[0])

    def charges_to(self, account: Account, *, limit: int) -> tuple[Entry, ...]:
        """The last so many charges to an account, newest first."""
        with self._store.reading() as connection:
            return tuple(newest_charges(connection, account, limit=limit))

    def verify(self) -> Verification:
        """Check the chain of hashes and recompute every account's totals from the entries."""
        return self._store.verify()

    def check(self) -> None:
        """Refuse to go on with a ledger that was tampered with; cheap after the first time.

        The refusal is one fixed sentence.
        """
        self._store.check()

    def adopt(self, memo: Mapping[str, str]) -> None:
        """Go on with the ledger as it stands, as a recorded act of the custodian.

        Whatever was charged and is no longer in the ledger is forgotten: this is a decision, not a
        repair. Of two totals the larger is kept.
        """
        self._store.adopt(memo)


def open_account(book: Book, account: Account) -> None:
    """Inside a transaction: open the account unless it is there with the same budget."""
    known = book.find(account.holder, account.name)
    if known is None:
        if account.holder is Holder.ANALYST:
            check_name(book, account.name)
        book.append(Act.OPEN, (account,), describe_account(account), "{}")
        book.put(account)
        return
    if known.budget != account.budget:
        raise InvalidValue(
            f"{known.holder} {known.name!r} has a budget of {_terms_of(known)} already. To make it "
            f"{_terms_of(account)}, run `{_amend_command(account)}`. Nothing was changed."
        )


def _refusal_of_amount(known: Account, fresh: Account) -> str:
    """That a budget is below what was spent, and the least that is not, to the custodian."""
    said = f"{fresh.holder} {fresh.name!r} has spent more than {_terms_of(fresh)} admits"
    room = known.spent_delta <= fresh.delta - fresh.conversion_delta
    if known.pure != fresh.pure or not room:
        return f"{said}; keep its delta, {float(known.delta):.12g}. Nothing was changed."
    least = known.spent
    if not fresh.pure:  # and a little, for the digits of the conversion
        least = zcdp_epsilon(rho=least, delta=fresh.conversion_delta) * Fraction(10**6 + 1, 10**6)
    shown = f"{float(ceil_decimal(least, _DIGITS)):.{_DIGITS}g}"
    return f"{said}; give it at least epsilon {shown}. Nothing was changed."


def _amend_command(account: Account) -> str:
    """The command that gives an account this budget."""
    words = ["discreet", "ledger", "amend", account.holder.value, account.name]
    words += ["--epsilon", f"{float(account.epsilon):.12g}"]
    if not account.pure:
        words += ["--delta", f"{float(account.delta):.12g}"]
        if account.budget.delta_for_conversion != Fraction(1, 2):
            share = float(account.budget.delta_for_conversion)
            words += ["--delta-for-conversion", f"{share:.12g}"]
    return " ".join([*words, "--why", "TEXT"])


def _terms_of(account: Account) -> str:
    text = f"epsilon={float(account.epsilon):.12g}, delta={float(account.delta):.12g}"
    share = account.budget.delta_for_conversion
    return text if account.pure else f"{text}, delta_for_conversion={float(share):.12g}"


def _holder(holder: Holder | str) -> Holder:
    try:
        return Holder(holder)
    except ValueError:
        raise InvalidValue(
            f"{holder!r:.80} holds no account; write population or analyst."
        ) from None
