"""The vocabulary: immutable types of clients, routers, interactions and errors."""

from propagation.arrays import F32, F64, I32, I64, U16, U32, Array, Bools
from propagation.errors import (
    BrokenData,
    DamagedNumbers,
    DamagedText,
    EndpointUnavailable,
    IncompatibleSettings,
    IndexUnavailable,
    InvalidInput,
    LeaseHeld,
    LeaseLost,
    NotFound,
    NotReached,
    PropagationError,
    ReasonerFailed,
    ReasonerGaveUp,
    ReasonerStopping,
    ReasonerUnavailable,
    RoundAbandoned,
    SchemaTooNew,
    StoreBusy,
    StoreCorrupt,
    StoreForeign,
    StoreFull,
    StoreRefused,
    StoreUnreachable,
    StoreUnsupported,
    TooNew,
    TooOld,
    VersionTooOld,
    WrongEndpoint,
)
from propagation.grouping import group_pairs, keep_first, split_into_batches, sum_pairs
from propagation.loss_reasons import LossReason, describe_loss
from propagation.model.backup import Backup
from propagation.model.base import Term, value
from propagation.model.clients.attribute import (
    TITLE,
    Attribute,
    find_names_in_text,
    normalize_name,
    rank_by_distinctiveness,
)
from propagation.model.clients.client import (
    ID_MAX_BYTES,
    LIST_MAX,
    TEXT_MAX_CHARS,
    Client,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientOutcome,
    compute_ref,
    get_kind,
    index_of,
)
from propagation.model.clients.filter_memory import DROP_BELOW, MAX_RULES, FilterMemory, FilterRule
from propagation.model.clients.gradient import Gradient, Module
from propagation.model.clients.profile import (
    LINE_MAX_WORDS,
    MERGED_OUTCOME,
    WEIGHT_KEPT,
    AddLine,
    Author,
    ClientText,
    DatedText,
    DropLine,
    Edit,
    EditClash,
    Line,
    MessageMerge,
    NumberedMerge,
    NumberedText,
    Profile,
    ReplaceLine,
    Source,
)
from propagation.model.factor_settings import NO_FACTORS, FactorSettings
from propagation.model.gauge import Gauge, GaugePoint
from propagation.model.interactions.interaction import (
    ClientEvent,
    InteractionRow,
    NewInteraction,
    RecordOutcome,
    RecordStatus,
    derive_seed,
)
from propagation.model.interactions.learned_block import (
    NEGATIVES,
    WRITTEN,
    Checkpoint,
    LearnedBlock,
    StagedCheckpoint,
    name_damage,
)
from propagation.model.interactions.log import (
    EntryKind,
    Interactions,
    LogEntry,
    LogSlice,
    to_seconds,
)
from propagation.model.interactions.reasoning import (
    ANSWERED_CHARS,
    ASKED_CHARS,
    NO_EXCHANGE,
    DeadLetter,
    FailedReasoning,
    ModelExchange,
    ReasonClaim,
    ReasonedInteraction,
    ReasonedSummary,
    ReasoningBacklog,
    ReasonWork,
    count_outcomes,
    summarize_reasoned,
)
from propagation.model.interactions.withdrawal import (
    AffectedMessage,
    Citations,
    CitationSearch,
    EventState,
    EventStatus,
    LearnedWeights,
    PromotedRepeat,
    StoredText,
    UserChoices,
    Withdrawal,
    WithdrawalResult,
)
from propagation.model.measurements import (
    DAY_MS,
    HOUR_MS,
    GaugeMeasurement,
    Measurements,
    SpendingMeasurement,
)
from propagation.model.routers.evolution import (
    EvolutionChange,
    EvolutionKind,
    EvolutionRun,
    LineageStep,
    RouterCase,
    RouterDecision,
    RouterHalf,
)
from propagation.model.routers.router import (
    SENDERS_KEPT,
    BankName,
    Epoch,
    IntegratedAttribute,
    MessageFate,
    MessageReach,
    Round,
    RouterVersion,
    RoutingEdge,
    find_lone_sender,
    is_since_bootstrap,
)
from propagation.model.routers.router_maps import (
    Halves,
    RouterMap,
    RouterMapChain,
    RouterMaps,
)
from propagation.model.routers.router_succession import (
    PublishedRun,
    RouterEnd,
    RouterSuccession,
    drop_undone_runs,
    find_undoing_runs,
)
from propagation.model.validation import (
    LAST_SECOND,
    check_client,
    check_entry,
    check_id,
    check_list,
    check_metadata,
    check_negative,
    check_seconds,
    check_text,
    check_weight,
    describe_problem,
)
from propagation.plurals import join_names, pluralize
from propagation.usage import NO_EXPENSES, NO_USAGE, BudgetState, Expenses, PromptCost, Usage
